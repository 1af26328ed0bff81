//! GUANO: "Key: value" lines in a `guan` chunk.

use std::collections::BTreeMap;

use crate::error::MetaError;

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Guano {
    fields: BTreeMap<String, String>,
}

impl Guano {
    pub fn parse(bytes: &[u8]) -> Result<Self, MetaError> {
        let text = std::str::from_utf8(bytes).map_err(|e| MetaError::NotUtf8 { at: e.valid_up_to() })?;
        let mut fields = BTreeMap::new();
        for (n, line) in text.trim_end_matches('\0').lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let (key, value) = line.split_once(':').ok_or(MetaError::NoColon { line: n + 1 })?;
            fields.insert(key.trim().to_owned(), value.trim().replace("\\n", "\n"));
        }
        Ok(Self { fields })
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.fields.get(key).map(String::as_str)
    }

    pub fn make(&self) -> &str {
        self.get("Make").unwrap_or("")
    }

    pub fn model(&self) -> &str {
        self.get("Model").unwrap_or("")
    }

    /// Degrees, or none when the recorder had no fix.
    pub fn position(&self) -> Option<(f64, f64)> {
        let (lat, lon) = self.get("Loc Position")?.split_once(' ')?;
        Some((lat.parse().ok()?, lon.trim().parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_fields_and_trims_zeroes() {
        let guano = Guano::parse(b"GUANO|Version: 1.0\nMake: Wildlife Acoustics\nModel: SM4\0\0").unwrap();
        assert_eq!((guano.make(), guano.model()), ("Wildlife Acoustics", "SM4"));
    }

    #[test]
    fn line_without_colon_is_an_error() {
        assert_eq!(Guano::parse(b"Make: x\nnothing"), Err(MetaError::NoColon { line: 2 }));
    }

    #[test]
    fn latin1_is_an_error_with_its_place() {
        assert_eq!(Guano::parse(b"Note: ca\xf1a"), Err(MetaError::NotUtf8 { at: 8 }));
    }

    #[test]
    fn position_without_fix_is_none() {
        let guano = Guano::parse(b"Loc Position:").unwrap();
        assert_eq!(guano.position(), None);
    }
}

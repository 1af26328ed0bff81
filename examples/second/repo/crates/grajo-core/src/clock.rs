//! From what a recorder wrote to an instant.

use time::format_description::FormatItem;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime};

use crate::error::MetaError;

const GUANO: &[FormatItem<'_>] = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
const NAME: &[FormatItem<'_>] = format_description!("[year][month][day]_[hour][minute][second]");

/// The instant of a GUANO timestamp, with or without an offset.
pub fn from_guano(text: &str) -> Result<OffsetDateTime, MetaError> {
    let bad = || MetaError::Timestamp(text.to_owned());
    if let Ok(moment) = OffsetDateTime::parse(text, &time::format_description::well_known::Rfc3339) {
        return Ok(moment);
    }
    let local = PrimitiveDateTime::parse(text.get(..19).ok_or_else(bad)?, GUANO).map_err(|_| bad())?;
    Ok(local.assume_utc())
}

/// The instant in a file name such as `DELTA03_20250611_043000.WAV`.
pub fn from_name(name: &str) -> Result<OffsetDateTime, MetaError> {
    let bad = || MetaError::Timestamp(name.to_owned());
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let tail = stem.get(stem.len().checked_sub(15).ok_or_else(bad)?..).ok_or_else(bad)?;
    let local = PrimitiveDateTime::parse(tail, NAME).map_err(|_| bad())?;
    Ok(local.assume_utc())
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    #[test]
    fn offset_is_honoured() {
        assert_eq!(from_guano("2025-06-11T04:30:00+02:00").unwrap(), datetime!(2025-06-11 02:30 UTC));
    }

    #[test]
    fn without_offset_it_is_utc() {
        assert_eq!(from_guano("2025-06-11T04:30:00").unwrap(), datetime!(2025-06-11 04:30 UTC));
    }

    #[test]
    fn name_with_prefix() {
        assert_eq!(from_name("DELTA03_20250611_043000.WAV").unwrap(), datetime!(2025-06-11 04:30 UTC));
    }

    #[test]
    fn short_name_is_an_error() {
        assert!(from_name("A.WAV").is_err());
    }
}

//! The digest by which a recording is known everywhere.

use std::fmt;
use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

/// SHA-256 of a whole file, header included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    pub fn of_reader(src: &mut impl Read) -> io::Result<Self> {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0u8; 8 * 1024];
        loop {
            let n = src.read(&mut buffer)?;
            if n == 0 {
                return Ok(Self(hasher.finalize().into()));
            }
            hasher.update(&buffer[..n]);
        }
    }

    pub fn from_hex(text: &str) -> Option<Self> {
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        let mut out = [0u8; 32];
        for (n, slot) in out.iter_mut().enumerate() {
            *slot = u8::from_str_radix(&text[2 * n..2 * n + 2], 16).ok()?;
        }
        Some(Self(out))
    }

    /// Where the recording lies in the bucket: two levels of fan-out.
    pub fn key(&self) -> String {
        let hex = self.to_string();
        format!("{}/{}/{hex}.wav", &hex[..2], &hex[2..4])
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({:.12})", self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_round_trip() {
        let digest = Digest::of_reader(&mut &b"rook"[..]).unwrap();
        assert_eq!(Digest::from_hex(&digest.to_string()), Some(digest));
    }

    #[test]
    fn hex_of_wrong_length_is_none() {
        assert_eq!(Digest::from_hex("abc"), None);
    }

    #[test]
    fn key_fans_out_twice() {
        let digest = Digest::of_reader(&mut &b""[..]).unwrap();
        assert!(digest.key().starts_with("e3/b0/e3b0c442"));
    }
}

//! The archive: multipart uploads that can stop anywhere and go on later.

use std::io::{Read, Seek, SeekFrom};

use grajo_core::hash::Digest;

use crate::catalog::Catalog;
use crate::error::StoreError;

/// S3 takes nothing smaller, except the last one.
pub const SMALLEST_PART: u64 = 5 * 1024 * 1024;

#[derive(Debug, Clone)]
pub struct BucketConfig {
    pub endpoint: String,
    pub name: String,
    pub part_bytes: u64,
    pub parallel: usize,
    pub attempts: u32,
}

impl Default for BucketConfig {
    fn default() -> Self {
        Self {
            endpoint: "https://s3.marjal.example".into(),
            name: String::new(),
            part_bytes: 32 * 1024 * 1024,
            parallel: 4,
            attempts: 5,
        }
    }
}

/// What the uploader needs of the other side; the tests bring their own.
pub trait Remote {
    fn begin(&self, key: &str) -> Result<String, StoreError>;
    fn put(&self, key: &str, upload: &str, number: u32, bytes: &[u8]) -> Result<String, StoreError>;
    fn complete(&self, key: &str, upload: &str, parts: &[(u32, String)]) -> Result<(), StoreError>;
}

/// Which parts a file of this size has: (number, offset, length).
pub fn plan(bytes: u64, part_bytes: u64) -> Vec<(u32, u64, u64)> {
    let part_bytes = part_bytes.max(SMALLEST_PART);
    let count = bytes.div_ceil(part_bytes).max(1);
    (0..count)
        .map(|n| (n as u32 + 1, n * part_bytes, part_bytes.min(bytes - n * part_bytes)))
        .collect()
}

pub struct Uploader<'a, R: Remote> {
    pub remote: &'a R,
    pub config: &'a BucketConfig,
}

impl<R: Remote> Uploader<'_, R> {
    /// Sends what is missing. Returns how many bytes went out.
    pub fn push<S: Read + Seek>(
        &self,
        catalog: &mut Catalog,
        digest: &Digest,
        src: &mut S,
        bytes: u64,
    ) -> Result<u64, StoreError> {
        let key = digest.key();
        let upload = self.remote.begin(&key)?;
        let have = catalog.parts(digest)?;
        let mut sent = 0;
        for (number, offset, length) in plan(bytes, self.config.part_bytes) {
            if have.iter().any(|(n, _)| *n == number) {
                continue;
            }
            let mut part = vec![0u8; length as usize];
            src.seek(SeekFrom::Start(offset))?;
            src.read_exact(&mut part)?;
            let etag = self.with_retries(|| self.remote.put(&key, &upload, number, &part))?;
            catalog.add_part(digest, number, &etag)?;
            sent += length;
        }
        self.remote.complete(&key, &upload, &catalog.parts(digest)?)?;
        catalog.set_state(digest, "pushed")?;
        Ok(sent)
    }

    fn with_retries<T>(&self, mut action: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut attempt = 1;
        loop {
            match action() {
                Err(error) if error.is_transient() && attempt < self.config.attempts => {
                    tracing::warn!(%error, attempt, "part failed");
                    std::thread::sleep(std::time::Duration::from_millis(250 << attempt));
                    attempt += 1;
                }
                other => return other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_covers_the_file() {
        let parts = plan(100 * 1024 * 1024 + 1, 32 * 1024 * 1024);
        assert_eq!(parts.iter().map(|(_, _, n)| n).sum::<u64>(), 100 * 1024 * 1024 + 1);
        assert_eq!(parts.last(), Some(&(4, 96 * 1024 * 1024, 4 * 1024 * 1024 + 1)));
    }

    #[test]
    fn parts_are_never_below_the_minimum() {
        assert_eq!(plan(12 * 1024 * 1024, 1024).len(), 3);
    }

    #[test]
    fn empty_file_is_one_empty_part() {
        assert_eq!(plan(0, SMALLEST_PART), [(1, 0, 0)]);
    }
}

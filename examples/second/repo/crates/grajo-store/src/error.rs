//! Errors of the catalogue and the bucket.

use grajo_core::hash::Digest;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum StoreError {
    #[error("catalogue: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("recording {0} is not in the catalogue")]
    Unknown(Digest),
    #[error("bucket answered {status}: {body}")]
    Bucket { status: u16, body: String },
    #[error("bucket: {0}")]
    Transport(String),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl StoreError {
    /// Worth another try.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Bucket { status, .. } => *status == 429 || *status >= 500,
            Self::Transport(_) => true,
            _ => false,
        }
    }
}

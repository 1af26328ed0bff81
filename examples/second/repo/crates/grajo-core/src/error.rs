//! Errors of this crate. The program adds which file and which card.

use thiserror::Error;

#[derive(Debug, Error)]
pub enum WavError {
    #[error("{len} bytes are too few for a WAV file")]
    TooShort { len: u64 },
    #[error("not a RIFF/WAVE file, starts with {found:?}")]
    NotRiff { found: [u8; 4] },
    #[error("chunk '{}' at {at:#x} runs past end of file (need {need}, have {have})", String::from_utf8_lossy(.id))]
    PastEnd { id: [u8; 4], at: u64, need: u64, have: u64 },
    #[error("chunk '{}' has {size} bytes, at most {limit} are expected", String::from_utf8_lossy(.id))]
    ChunkTooLarge { id: [u8; 4], size: u32, limit: u32 },
    #[error("format tag {0:#06x} is not PCM")]
    NotPcm(u16),
    #[error("no '{0}' chunk")]
    Missing(&'static str),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum MetaError {
    #[error("GUANO line {line} has no colon")]
    NoColon { line: usize },
    #[error("GUANO is not UTF-8 at byte {at}")]
    NotUtf8 { at: usize },
    #[error("timestamp {0:?} cannot be read")]
    Timestamp(String),
    #[error("recorder {make:?} {model:?} is not known")]
    UnknownRecorder { make: String, model: String },
    #[error("serial {serial:?} does not belong to station {station:?}")]
    WrongStation { serial: String, station: String },
}

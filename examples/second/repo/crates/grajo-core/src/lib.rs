//! What grajo knows about recordings, without files, network or database.

#![forbid(unsafe_code)]

pub mod clock;
pub mod detect;
pub mod devices;
pub mod error;
pub mod guano;
pub mod hash;
pub mod riff;

//! Walks the chunks of a RIFF file without loading it.

use std::io::{Read, Seek, SeekFrom};

use crate::error::WavError;

/// A chunk: `offset` is where its body starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    pub id: [u8; 4],
    pub offset: u64,
    pub size: u32,
}

impl Chunk {
    pub fn name(&self) -> String {
        String::from_utf8_lossy(&self.id).into_owned()
    }

    pub fn is(&self, id: &[u8; 4]) -> bool {
        &self.id == id
    }
}

/// All chunks in file order. `len` is the size of the file.
pub fn chunks<R: Read + Seek>(src: &mut R, len: u64) -> Result<Vec<Chunk>, WavError> {
    let mut head = [0u8; 12];
    src.seek(SeekFrom::Start(0))?;
    src.read_exact(&mut head).map_err(|_| WavError::TooShort { len })?;
    if &head[..4] != b"RIFF" || &head[8..] != b"WAVE" {
        return Err(WavError::NotRiff { found: head[..4].try_into().unwrap() });
    }
    let mut at = 12u64;
    let mut found = Vec::with_capacity(6);
    while at + 8 <= len {
        let mut eight = [0u8; 8];
        src.seek(SeekFrom::Start(at))?;
        src.read_exact(&mut eight)?;
        let id: [u8; 4] = eight[..4].try_into().unwrap();
        let size = u32::from_le_bytes(eight[4..].try_into().unwrap());
        let padded = u64::from(size) + u64::from(size & 1);
        let have = len - at - 8;
        if padded > have {
            return Err(WavError::PastEnd { id, at: at + 8, need: padded, have });
        }
        found.push(Chunk { id, offset: at + 8, size });
        at += 8 + padded;
    }
    Ok(found)
}

/// The body of a chunk as bytes; only for small ones.
pub fn body<R: Read + Seek>(src: &mut R, chunk: &Chunk, limit: u32) -> Result<Vec<u8>, WavError> {
    if chunk.size > limit {
        return Err(WavError::ChunkTooLarge { id: chunk.id, size: chunk.size, limit });
    }
    let mut bytes = vec![0u8; chunk.size as usize];
    src.seek(SeekFrom::Start(chunk.offset))?;
    src.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn wav(parts: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
        let mut out = b"RIFF\0\0\0\0WAVE".to_vec();
        for (id, bytes) in parts {
            out.extend_from_slice(*id);
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
            if bytes.len() % 2 == 1 {
                out.push(0);
            }
        }
        let size = (out.len() - 8) as u32;
        out[4..8].copy_from_slice(&size.to_le_bytes());
        out
    }

    #[test]
    fn finds_chunks_in_file_order() {
        let bytes = wav(&[(b"fmt ", &[0; 16]), (b"data", &[0; 64]), (b"guan", b"a: b")]);
        let found = chunks(&mut Cursor::new(&bytes), bytes.len() as u64).unwrap();
        let names: Vec<_> = found.iter().map(Chunk::name).collect();
        assert_eq!(names, ["fmt ", "data", "guan"]);
    }

    #[test]
    fn odd_chunks_are_padded() {
        let bytes = wav(&[(b"wamd", &[7; 5]), (b"data", &[1; 4])]);
        let found = chunks(&mut Cursor::new(&bytes), bytes.len() as u64).unwrap();
        assert_eq!(found[1].offset, 12 + 8 + 6 + 8);
    }

    #[test]
    fn chunk_past_the_end_is_an_error() {
        let mut bytes = wav(&[(b"data", &[0; 64])]);
        bytes.truncate(40);
        let error = chunks(&mut Cursor::new(&bytes), 40).unwrap_err();
        assert_eq!(error.to_string(), "chunk 'data' at 0x14 runs past end of file (need 64, have 20)");
    }

    #[test]
    fn not_riff_is_an_error() {
        let error = chunks(&mut Cursor::new(b"fLaC00000000"), 12).unwrap_err();
        assert!(matches!(error, WavError::NotRiff { .. }));
    }
}

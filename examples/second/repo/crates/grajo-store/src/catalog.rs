//! What is known about each recording. One SQLite file beside the recordings.

use std::path::Path;

use grajo_core::hash::Digest;
use rusqlite::{params, Connection, OptionalExtension};

use crate::error::StoreError;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS recordings (
  digest   TEXT PRIMARY KEY,
  station  TEXT NOT NULL,
  serial   TEXT NOT NULL,
  name     TEXT NOT NULL,
  bytes    INTEGER NOT NULL,
  started  TEXT NOT NULL,
  state    TEXT NOT NULL DEFAULT 'local' CHECK (state IN ('local', 'pushing', 'pushed', 'refused')),
  card     TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS recordings_by_start ON recordings (station, started);
CREATE TABLE IF NOT EXISTS calls (
  digest   TEXT NOT NULL REFERENCES recordings (digest),
  species  TEXT NOT NULL,
  start_ms INTEGER NOT NULL,
  end_ms   INTEGER NOT NULL,
  score    REAL NOT NULL,
  PRIMARY KEY (digest, species, start_ms)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS parts (
  digest   TEXT NOT NULL REFERENCES recordings (digest),
  number   INTEGER NOT NULL,
  etag     TEXT NOT NULL,
  PRIMARY KEY (digest, number)
) WITHOUT ROWID;
";

pub struct Catalog {
    db: Connection,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    pub digest: Digest,
    pub station: String,
    pub serial: String,
    pub name: String,
    pub bytes: u64,
    pub started: String,
}

impl Catalog {
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let db = Connection::open(path)?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        db.pragma_update(None, "foreign_keys", true)?;
        db.execute_batch(SCHEMA)?;
        Ok(Self { db })
    }

    /// False when it was there already.
    pub fn add(&mut self, r: &Recording, card: Option<&str>) -> Result<bool, StoreError> {
        let added = self.db.execute(
            "INSERT INTO recordings (digest, station, serial, name, bytes, started, card)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
            params![r.digest.to_string(), r.station, r.serial, r.name, r.bytes as i64, r.started, card],
        )?;
        Ok(added == 1)
    }

    pub fn state(&self, digest: &Digest) -> Result<Option<String>, StoreError> {
        let found = self
            .db
            .query_row("SELECT state FROM recordings WHERE digest = ?1", [digest.to_string()], |row| row.get(0))
            .optional()?;
        Ok(found)
    }

    pub fn set_state(&mut self, digest: &Digest, state: &str) -> Result<(), StoreError> {
        let done = self
            .db
            .execute("UPDATE recordings SET state = ?2 WHERE digest = ?1", [&digest.to_string(), state])?;
        if done == 0 {
            return Err(StoreError::Unknown(*digest));
        }
        Ok(())
    }

    /// Parts that the bucket has acknowledged, by number.
    pub fn parts(&self, digest: &Digest) -> Result<Vec<(u32, String)>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT number, etag FROM parts WHERE digest = ?1 ORDER BY number")?;
        let rows = query.query_map([digest.to_string()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<Result<_, _>>().map_err(StoreError::from)
    }

    pub fn add_part(&mut self, digest: &Digest, number: u32, etag: &str) -> Result<(), StoreError> {
        self.db.execute(
            "INSERT OR REPLACE INTO parts (digest, number, etag) VALUES (?1, ?2, ?3)",
            params![digest.to_string(), number, etag],
        )?;
        Ok(())
    }

    pub fn waiting(&self, station: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT digest FROM recordings WHERE station = ?1 AND state IN ('local', 'pushing')
             ORDER BY started LIMIT ?2",
        )?;
        let rows = query.query_map(params![station, limit], |row| row.get(0))?;
        rows.collect::<Result<_, _>>().map_err(StoreError::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(name: &str) -> Recording {
        Recording {
            digest: Digest::of_reader(&mut name.as_bytes()).unwrap(),
            station: "delta-03".into(),
            serial: "SMM08812".into(),
            name: name.into(),
            bytes: 32_768_466,
            started: "2025-06-11T03:30:00Z".into(),
        }
    }

    #[test]
    fn adding_twice_is_one_row() {
        let dir = tempfile::tempdir().unwrap();
        let mut catalog = Catalog::open(&dir.path().join("c.sqlite")).unwrap();
        assert!(catalog.add(&recording("a"), None).unwrap());
        assert!(!catalog.add(&recording("a"), None).unwrap());
    }

    #[test]
    fn unknown_digest_cannot_change_state() {
        let dir = tempfile::tempdir().unwrap();
        let mut catalog = Catalog::open(&dir.path().join("c.sqlite")).unwrap();
        assert!(matches!(catalog.set_state(&recording("b").digest, "pushed"), Err(StoreError::Unknown(_))));
    }

    #[test]
    fn parts_come_back_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let mut catalog = Catalog::open(&dir.path().join("c.sqlite")).unwrap();
        let r = recording("c");
        catalog.add(&r, None).unwrap();
        for n in [3, 1, 2] {
            catalog.add_part(&r.digest, n, &format!("etag{n}")).unwrap();
        }
        let numbers: Vec<_> = catalog.parts(&r.digest).unwrap().into_iter().map(|(n, _)| n).collect();
        assert_eq!(numbers, [1, 2, 3]);
    }
}

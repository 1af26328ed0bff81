//! Card to local disk.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use grajo_core::devices::Recorder;
use grajo_core::guano::Guano;
use grajo_core::hash::Digest;
use grajo_core::{clock, riff};
use grajo_store::catalog::{Catalog, Recording};

use crate::station::Station;

#[derive(clap::Args)]
pub struct Args {
    card: PathBuf,
    #[arg(long)]
    station: String,
    /// Look, copy nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Default)]
struct Counts {
    copied: u32,
    known: u32,
    refused: u32,
    bytes: u64,
}

pub fn run(home: &Path, args: &Args) -> Result<ExitCode> {
    let station = Station::load(&args.station)?;
    let mut catalog = Catalog::open(&home.join("catalog.sqlite"))?;
    let mut counts = Counts::default();
    for path in wavs(&args.card)? {
        match one(home, &station, &mut catalog, &path, args.dry_run) {
            Ok(Some(bytes)) => {
                counts.copied += 1;
                counts.bytes += bytes;
            }
            Ok(None) => counts.known += 1,
            Err(error) => {
                counts.refused += 1;
                eprintln!("refused {}: {error:#}", path.display());
            }
        }
    }
    println!("{} copied ({} MB), {} known, {} refused", counts.copied, counts.bytes >> 20, counts.known, counts.refused);
    Ok(if counts.refused > 0 { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

fn wavs(card: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut todo = vec![card.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(&dir).with_context(|| format!("cannot list {}", dir.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("wav")) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn one(home: &Path, station: &Station, catalog: &mut Catalog, path: &Path, dry: bool) -> Result<Option<u64>> {
    let bytes = fs::read(path)?;
    let mut src = BufReader::new(File::open(path)?);
    let len = bytes.len() as u64;
    let chunks = riff::chunks(&mut src, len)?;
    let guano = match chunks.iter().find(|c| c.is(b"guan")) {
        Some(chunk) => Guano::parse(&riff::body(&mut src, chunk, 65_536)?)?,
        None => Guano::default(),
    };
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let recorder = Recorder::identify(&guano, &name)?;
    let serial = recorder.serial(&guano, &name)?;
    station.check(&serial)?;
    let started = match guano.get("Timestamp") {
        Some(text) => clock::from_guano(text)?,
        None => clock::from_name(&name)?,
    };
    let digest = Digest::of_reader(&mut &bytes[..])?;
    if catalog.state(&digest)?.is_some() {
        return Ok(None);
    }
    if !dry {
        let to = home.join("recordings").join(digest.key());
        fs::create_dir_all(to.parent().unwrap())?;
        fs::write(&to, &bytes).with_context(|| format!("cannot write {}", to.display()))?;
        let started = started.format(&time::format_description::well_known::Rfc3339)?;
        let row = Recording { digest, station: station.name.clone(), serial, name, bytes: len, started };
        catalog.add(&row, args_card(path).as_deref())?;
    }
    Ok(Some(len))
}

fn args_card(path: &Path) -> Option<String> {
    path.ancestors().nth(2).map(|p| p.display().to_string())
}

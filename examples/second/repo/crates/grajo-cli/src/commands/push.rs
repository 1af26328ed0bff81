//! Local disk to the archive.

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{bail, Context, Result};
use grajo_core::hash::Digest;
use grajo_store::bucket::{BucketConfig, Uploader};
use grajo_store::catalog::Catalog;

use crate::station::Station;

#[derive(clap::Args)]
pub struct Args {
    #[arg(long)]
    station: String,
    #[arg(long, default_value_t = 500)]
    limit: u32,
    /// Name of the bucket
    #[arg(long, env = "GRAJO_BUCKET")]
    bucket: Option<String>,
}

pub fn run(home: &Path, args: &Args) -> Result<ExitCode> {
    let station = Station::load(&args.station)?;
    let mut config = BucketConfig { parallel: station.line.parallel, ..BucketConfig::default() };
    if let Some(name) = &args.bucket {
        config.name = name.clone();
    }
    if config.name.is_empty() {
        bail!("no bucket: give --bucket or set GRAJO_BUCKET");
    }
    let remote = crate::station::remote(&config)?;
    let mut catalog = Catalog::open(&home.join("catalog.sqlite"))?;
    let uploader = Uploader { remote: &remote, config: &config };
    for hex in catalog.waiting(&args.station, args.limit)? {
        let digest = Digest::from_hex(&hex).context("catalogue holds a broken digest")?;
        let path = home.join("recordings").join(digest.key());
        let mut src = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
        let bytes = src.metadata()?.len();
        catalog.set_state(&digest, "pushing")?;
        let sent = uploader.push(&mut catalog, &digest, &mut src, bytes)?;
        tracing::info!(%digest, sent, "pushed");
    }
    Ok(ExitCode::SUCCESS)
}

//! Calls in recordings that have none yet.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use grajo_core::detect::Settings;

#[derive(clap::Args)]
pub struct Args {
    /// Only recordings from this day on
    #[arg(long)]
    since: Option<String>,
    /// Overrides the built-in score from which a window counts
    #[arg(long)]
    threshold: Option<f32>,
    #[arg(long, value_delimiter = ',')]
    species: Vec<String>,
}

pub fn run(home: &Path, args: &Args) -> Result<ExitCode> {
    let mut settings = Settings::default();
    if let Some(threshold) = args.threshold {
        settings.threshold = threshold;
    }
    let profiles = crate::station::profiles(&args.species)?;
    let count = crate::station::detect_all(home, args.since.as_deref(), &profiles, &settings)?;
    println!("{count} calls at {:.2}", settings.threshold);
    Ok(ExitCode::SUCCESS)
}

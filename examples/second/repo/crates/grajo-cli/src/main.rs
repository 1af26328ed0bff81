use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod commands;
mod station;

#[derive(Parser)]
#[command(version, about = "Field recordings from card to archive")]
struct Args {
    /// Where recordings and catalogue are
    #[arg(long, env = "GRAJO_HOME", default_value = "/data/grajo")]
    home: PathBuf,
    #[arg(long, short, action = clap::ArgAction::Count)]
    verbose: u8,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Copy a card
    Ingest(commands::ingest::Args),
    /// Hash again and compare
    Verify(commands::verify::Args),
    /// Find calls in what is new
    Detect(commands::detect::Args),
    /// Send to the archive
    Push(commands::push::Args),
}

fn main() -> ExitCode {
    let args = Args::parse();
    let level = ["info", "debug", "trace"][usize::from(args.verbose).min(2)];
    tracing_subscriber::fmt().with_env_filter(level).with_writer(std::io::stderr).init();
    let done = match args.command {
        Command::Ingest(a) => commands::ingest::run(&args.home, &a),
        Command::Verify(a) => commands::verify::run(&args.home, &a),
        Command::Detect(a) => commands::detect::run(&args.home, &a),
        Command::Push(a) => commands::push::run(&args.home, &a),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

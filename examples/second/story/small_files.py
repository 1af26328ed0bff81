"""Short files of the pretend repository that are only read or edited once."""

STATION_RS = '''//! A station's file, and what the commands build from it.

use std::path::Path;

use anyhow::{bail, Context, Result};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub struct Station {
    pub name: String,
    pub line: Line,
    pub recorders: Vec<Hung>,
}

#[derive(Debug, Deserialize)]
pub struct Line {
    pub kind: String,
    pub kilobits: u32,
    pub parallel: usize,
}

#[derive(Debug, Deserialize)]
pub struct Hung {
    pub serial: String,
}

impl Station {
    pub fn load(name: &str) -> Result<Self> {
        let path = Path::new("stations").join(format!("{name}.toml"));
        let text = std::fs::read_to_string(&path).with_context(|| format!("no station {name}"))?;
        toml::from_str(&text).with_context(|| format!("{} cannot be read", path.display()))
    }

    pub fn check(&self, serial: &str) -> Result<()> {
        if self.recorders.iter().any(|r| r.serial == serial) {
            return Ok(());
        }
        bail!("recorder {serial} does not hang at {}", self.name)
    }
}
'''
VERIFY_RS = '''//! Hash what is on the disk again and compare with the catalogue.

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use grajo_core::hash::Digest;
use grajo_store::catalog::Catalog;

#[derive(clap::Args)]
pub struct Args {
    #[arg(long)]
    station: String,
}

pub fn run(home: &Path, args: &Args) -> Result<ExitCode> {
    let catalog = Catalog::open(&home.join("catalog.sqlite"))?;
    let mut broken = 0u32;
    for hex in catalog.waiting(&args.station, u32::MAX)? {
        let wanted = Digest::from_hex(&hex).unwrap();
        let path = home.join("recordings").join(wanted.key());
        if Digest::of_reader(&mut File::open(&path)?)? != wanted {
            broken += 1;
            println!("broken {}", path.display());
        }
    }
    Ok(if broken > 0 { ExitCode::from(4) } else { ExitCode::SUCCESS })
}
'''
MAIN_TS = '''import { calls, samples, type Recording } from "./api";
import { need } from "./dom";
import { RecordingList } from "./list";
import { Spectrogram } from "./spectrogram";
import { drawTimeline } from "./timeline";

const station = new URLSearchParams(location.search).get("station") ?? "delta-03";
const spectrogram = new Spectrogram(need("spectrogram"));

async function show(recording: Recording): Promise<void> {
  const found = await calls(recording.digest);
  drawTimeline(need("timeline"), found, 300_000);
  spectrogram.draw(await samples(recording.digest, 0, 480_000));
}

const list = new RecordingList(need("list"), { station, day: location.hash.slice(1) || undefined, onPick: show });
void list.reload();
'''
TIMELINE_TEST = '''import { describe, expect, it } from "vitest";

import { drawTimeline, lanes } from "../src/timeline";

const call = (species: string, start_ms: number) => ({ species, start_ms, end_ms: start_ms + 200, score: 0.8 });

describe("lanes", () => {
  it("puts the busiest species first", () => {
    expect(lanes([call("A", 0), call("B", 1), call("B", 900)]).map((l) => l.species)).toEqual(["B", "A"]);
  });

  it("is empty without calls", () => {
    expect(lanes([])).toEqual([]);
  });
});

describe("drawTimeline", () => {
  it("draws one mark a call", () => {
    const root = document.createElement("div");
    drawTimeline(root, [call("A", 0), call("A", 5_000)], 10_000);
    expect(root.querySelectorAll(".call")).toHaveLength(2);
  });

  it("clears what was drawn before", () => {
    const root = document.createElement("div");
    drawTimeline(root, [call("A", 0)], 10_000);
    drawTimeline(root, [], 10_000);
    expect(root.children).toHaveLength(0);
  });
});
'''
FFT_TEST = '''import { expect, it } from "vitest";

import { fft } from "../src/spectrogram";

it("finds a pure tone in its bin", () => {
  const re = Float32Array.from({ length: 64 }, (_, n) => Math.cos((2 * Math.PI * 5 * n) / 64));
  const im = new Float32Array(64);
  fft(re, im);
  const power = [...re].map((x, n) => x * x + im[n]! * im[n]!);
  expect(power.slice(0, 32).indexOf(Math.max(...power.slice(0, 32)))).toBe(5);
});

it("keeps the energy", () => {
  const re = Float32Array.from({ length: 16 }, (_, n) => (n % 3) - 1);
  const before = re.reduce((sum, x) => sum + x * x, 0);
  const im = new Float32Array(16);
  fft(re, im);
  const after = re.reduce((sum, x, n) => sum + x * x + im[n]! * im[n]!, 0) / 16;
  expect(after).toBeCloseTo(before, 3);
});
'''
CHANGELOG = """# Changes

## Unreleased

## 0.8.3 - 2025-08-19

- detect: filter by species
- Swift One recorders

## 0.8.2 - 2025-06-30

- push: goes on after a lost line (at least that was the plan)
- stations: one file each
"""
FILES = {
    "crates/grajo-cli/src/station.rs": STATION_RS,
    "crates/grajo-cli/src/commands/verify.rs": VERIFY_RS,
    "crates/grajo-store/src/lib.rs": "//! The catalogue and the bucket.\n\npub mod bucket;\npub mod catalog;\npub mod error;\n",
    "crates/grajo-core/Cargo.toml": '[package]\nname = "grajo-core"\nversion.workspace = true\nedition.workspace = true\n\n[dependencies]\nsha2.workspace = true\nthiserror.workspace = true\ntime.workspace = true\n',
    "viewer/src/main.ts": MAIN_TS,
    "viewer/test/timeline.test.ts": TIMELINE_TEST,
    "viewer/test/fft.test.ts": FFT_TEST,
    "CHANGELOG.md": CHANGELOG,
}

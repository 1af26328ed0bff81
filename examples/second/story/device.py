"""The recorders of the pretend program: one Rust module each, from what differs between them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    """fields: GUANO key → remark. quirk: Rust that is only here. checks: its tests."""

    module: str
    title: str
    make: str
    model: str
    prefix: str
    rates: tuple[int, ...]
    gain: str
    fields: tuple[tuple[str, str], ...]
    about: str
    quirk: str
    checks: str


def rust(d: Device) -> str:
    """The module of a recorder."""
    keys = "\n".join(f'    ("{key}", "{remark}"),' for key, remark in d.fields)
    rates = ", ".join(f"{rate:_}" for rate in d.rates)
    tests = d.checks.strip("\n")
    return f'''//! {d.about}

use crate::devices::{{Facts, Gain}};
use crate::error::MetaError;
use crate::guano::Guano;

pub const MAKE: &str = "{d.make}";
pub const MODEL: &str = "{d.model}";
pub const PREFIX: &str = "{d.prefix}";
pub const RATES: &[u32] = &[{rates}];

/// Keys that we rely on, and what for.
pub const KEYS: &[(&str, &str)] = &[
{keys}
];

#[derive(Debug, Clone, Default, PartialEq)]
pub struct {d.title} {{
    pub serial: String,
    pub firmware: Option<(u16, u16)>,
    pub battery_mv: Option<u32>,
    pub celsius: Option<f32>,
}}

impl {d.title} {{
    pub fn read(guano: &Guano, name: &str) -> Result<Self, MetaError> {{
        let serial = serial(guano, name).ok_or_else(|| MetaError::UnknownRecorder {{
            make: guano.make().to_owned(),
            model: guano.model().to_owned(),
        }})?;
        Ok(Self {{
            serial,
            firmware: guano.get("Firmware Version").and_then(version),
            battery_mv: battery_mv(guano),
            celsius: guano.get("Temperature Int").and_then(|t| t.parse().ok()),
        }})
    }}

    pub fn facts(&self, rate: u32) -> Option<Facts> {{
        RATES.contains(&rate).then(|| Facts {{ rate, gain: {d.gain}, stereo: rate <= 96_000 && "{d.prefix}" != "MINI" }})
    }}
}}

fn version(text: &str) -> Option<(u16, u16)> {{
    let mut parts = text.trim_start_matches('v').split('.');
    Some((parts.next()?.parse().ok()?, parts.next().unwrap_or("0").parse().ok()?))
}}
{d.quirk.rstrip()}

#[cfg(test)]
mod tests {{
    use super::*;

    fn guano(lines: &str) -> Guano {{
        Guano::parse(format!("GUANO|Version: 1.0\\nMake: {{MAKE}}\\nModel: {{MODEL}}\\n{{lines}}").as_bytes()).unwrap()
    }}

{tests}

    #[test]
    fn {d.module}_version_without_minor() {{
        assert_eq!(version("v4"), Some((4, 0)));
        assert_eq!(version("4.6.1"), Some((4, 6)));
        assert_eq!(version("beta"), None);
    }}

    #[test]
    fn {d.module}_rate_that_it_does_not_have() {{
        let device = {d.title}::default();
        assert_eq!(device.facts({d.rates[0] - 1}), None);
        assert!(device.facts({d.rates[-1]}).is_some());
    }}
}}
'''


def registry(devices: tuple[Device, ...]) -> str:
    """devices/mod.rs: who is who."""
    mods = "\n".join(f"pub mod {d.module};" for d in devices)
    arms = "\n".join(f"            Self::{d.title}(r) => Ok(r.serial.clone())," for d in devices)
    kinds = "\n".join(f"    {d.title}({d.module}::{d.title})," for d in devices)
    known = "\n".join(
        f"        if guano.make() == {d.module}::MAKE && guano.model() == {d.module}::MODEL {{\n"
        f"            return {d.module}::{d.title}::read(guano, name).map(Self::{d.title});\n        }}"
        for d in devices
    )
    return f'''//! The recorders that hang at our stations.

use crate::error::MetaError;
use crate::guano::Guano;

{mods}

/// What the samples are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Facts {{
    pub rate: u32,
    pub gain: Gain,
    pub stereo: bool,
}}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gain {{
    Fixed(f32),
    Steps(&'static [f32]),
    Auto,
}}

#[derive(Debug, Clone, PartialEq)]
pub enum Recorder {{
{kinds}
}}

impl Recorder {{
    /// Which recorder wrote this, by make and model.
    pub fn identify(guano: &Guano, name: &str) -> Result<Self, MetaError> {{
{known}
        Err(MetaError::UnknownRecorder {{ make: guano.make().to_owned(), model: guano.model().to_owned() }})
    }}

    pub fn serial(&self, _guano: &Guano, _name: &str) -> Result<String, MetaError> {{
        match self {{
{arms}
        }}
    }}
}}
'''

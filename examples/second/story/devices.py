"""Eight recorders, each with its own way of being difficult."""

from second.story.device import Device

DEVICES = (
    Device(
        "audiomoth", "AudioMoth", "Open Acoustic Devices", "AudioMoth", "", (8_000, 16_000, 32_000, 48_000, 96_000, 192_000),
        "Gain::Steps(&[4.0, 8.0, 16.0, 24.0, 32.0])",
        (("Serial", "sixteen hexadecimal characters"), ("OAD|Battery Voltage", "volts with one decimal, or '< 2.5'")),
        "AudioMoth: cheap, no clock battery, everything it knows is in the comment.", '''
/// From the header's comment when there is no GUANO: "... by AudioMoth 24F319055FDF2F8B at gain ...".
fn serial(guano: &Guano, _name: &str) -> Option<String> {
    if let Some(serial) = guano.get("Serial") {
        return (serial.len() == 16 && serial.bytes().all(|b| b.is_ascii_hexdigit())).then(|| serial.to_owned());
    }
    let comment = guano.get("Note")?;
    let (_, rest) = comment.split_once("by AudioMoth ")?;
    rest.split_whitespace().next().map(str::to_owned)
}

/// "< 2.5" means that it was about to die; count it as 2400.
fn battery_mv(guano: &Guano) -> Option<u32> {
    let text = guano.get("OAD|Battery Voltage")?;
    if text.starts_with('<') {
        return Some(2_400);
    }
    text.trim_end_matches('V').parse::<f32>().ok().map(|v| (v * 1000.0).round() as u32)
}
''', '''
    #[test]
    fn serial_from_the_comment() {
        let g = guano("Note: Recorded at 04:30:00 by AudioMoth 24F319055FDF2F8B at gain setting 2");
        assert_eq!(serial(&g, ""), Some("24F319055FDF2F8B".into()));
    }

    #[test]
    fn dying_battery_is_2400() {
        assert_eq!(battery_mv(&guano("OAD|Battery Voltage: < 2.5")), Some(2_400));
    }
'''),
    Device(
        "sm4", "SongMeter4", "Wildlife Acoustics", "SM4", "S4A", (16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000),
        "Gain::Fixed(16.0)",
        (("WA|Song Meter|Prefix", "what the file names start with"), ("WA|Song Meter|Audio settings", "JSON, one entry a channel")),
        "Song Meter SM4: two microphones, one of them often eaten.", '''
/// The serial is the prefix unless somebody renamed the recorder in its menu.
fn serial(guano: &Guano, name: &str) -> Option<String> {
    let serial = guano.get("Serial").or_else(|| guano.get("WA|Song Meter|Prefix"))?;
    if serial.starts_with(PREFIX) {
        return Some(serial.to_owned());
    }
    name.split('_').next().filter(|s| s.starts_with(PREFIX)).map(str::to_owned)
}

fn battery_mv(guano: &Guano) -> Option<u32> {
    let volts: f32 = guano.get("WA|Song Meter|Battery")?.trim_end_matches('V').trim().parse().ok()?;
    (volts > 0.5).then(|| (volts * 1000.0).round() as u32)
}

/// Both channels, or the one that still hears something.
pub fn live_channels(peaks: [i16; 2]) -> &'static [usize] {
    match peaks {
        [left, right] if left > 40 && right > 40 => &[0, 1],
        [left, _] if left > 40 => &[0],
        [_, right] if right > 40 => &[1],
        _ => &[],
    }
}
''', '''
    #[test]
    fn renamed_recorder_is_known_by_the_file() {
        let g = guano("Serial: DELTA WEST");
        assert_eq!(serial(&g, "S4A09133_20250611_043000.wav"), Some("S4A09133".into()));
    }

    #[test]
    fn eaten_microphone() {
        assert_eq!(live_channels([12, 9_000]), &[1]);
        assert!(live_channels([3, 2]).is_empty());
    }
'''),
    Device(
        "sm_mini", "SongMeterMini", "Wildlife Acoustics", "Song Meter Mini", "SMM", (8_000, 12_000, 22_050, 24_000, 44_100, 48_000),
        "Gain::Steps(&[6.0, 12.0, 18.0, 24.0])",
        (("Serial", "SMM and five digits"), ("WA|Song Meter|Battery", "V, before the recording")),
        "Song Meter Mini: the newest ones, with firmware 4.5 or 4.6.", '''
fn serial(guano: &Guano, name: &str) -> Option<String> {
    let well_formed = |s: &&str| s.len() == 8 && s.starts_with(PREFIX) && s[3..].bytes().all(|b| b.is_ascii_digit());
    guano.get("Serial").filter(well_formed).or_else(|| name.split('_').next().filter(well_formed)).map(str::to_owned)
}

fn battery_mv(guano: &Guano) -> Option<u32> {
    let volts: f32 = guano.get("WA|Song Meter|Battery")?.trim_end_matches('V').trim().parse().ok()?;
    Some((volts * 1000.0).round() as u32)
}

/// Firmware before 4.5 wrote degrees Fahrenheit when its menu was in English.
pub fn celsius(firmware: (u16, u16), value: f32, english: bool) -> f32 {
    if firmware < (4, 5) && english {
        return (value - 32.0) / 1.8;
    }
    value
}
''', '''
    #[test]
    fn serial_has_five_digits() {
        assert_eq!(serial(&guano("Serial: SMM08812"), ""), Some("SMM08812".into()));
        assert_eq!(serial(&guano("Serial: SMM8812"), "x"), None);
    }

    #[test]
    fn old_firmware_speaks_fahrenheit() {
        assert!((celsius((4, 4), 50.0, true) - 10.0).abs() < 0.01);
        assert!((celsius((4, 5), 50.0, true) - 50.0).abs() < 0.01);
    }
'''),
    Device(
        "bar_lt", "BarLt", "Frontier Labs", "BAR-LT", "BAR", (16_000, 22_050, 32_000, 44_100, 48_000, 96_000),
        "Gain::Steps(&[0.0, 10.0, 20.0, 30.0, 40.0, 50.0])",
        (("Sensor Uid", "six digits"), ("Card Slot", "1 to 4"), ("Battery Level", "per cent")),
        "BAR-LT: four card slots, FLAC by default; ours are switched to WAV.", '''
fn serial(guano: &Guano, _name: &str) -> Option<String> {
    let digits = guano.get("Sensor Uid")?.trim_start_matches('0');
    (!digits.is_empty()).then(|| format!("{PREFIX}{digits:0>6}"))
}

/// Per cent of four cells, roughly.
fn battery_mv(guano: &Guano) -> Option<u32> {
    let percent: u32 = guano.get("Battery Level")?.trim_end_matches('%').parse().ok()?;
    (percent <= 100).then(|| 3_300 + 9 * percent)
}

pub fn slot(guano: &Guano) -> Option<u8> {
    guano.get("Card Slot")?.parse().ok().filter(|slot| (1..=4).contains(slot))
}
''', '''
    #[test]
    fn uid_is_filled_up() {
        assert_eq!(serial(&guano("Sensor Uid: 004411"), ""), Some("BAR004411".into()));
        assert_eq!(serial(&guano("Sensor Uid: 000000"), ""), None);
    }

    #[test]
    fn fifth_slot_does_not_exist() {
        assert_eq!(slot(&guano("Card Slot: 5")), None);
        assert_eq!(slot(&guano("Card Slot: 2")), Some(2));
    }
'''),
    Device(
        "swift", "Swift", "Cornell Lab", "Swift One", "SW", (8_000, 16_000, 32_000, 48_000, 96_000), "Gain::Fixed(33.0)",
        (("Device ID", "SW and four digits"), ("Cells", "three D cells, in mV")),
        "Swift One: on loan, two of them, at the rice fields.", '''
fn serial(guano: &Guano, name: &str) -> Option<String> {
    guano.get("Device ID").or_else(|| name.split('-').next()).filter(|s| s.starts_with(PREFIX)).map(str::to_owned)
}

/// The sum of the cells; a single dead one makes the sum useless.
fn battery_mv(guano: &Guano) -> Option<u32> {
    let cells: Vec<u32> = guano.get("Cells")?.split('/').map(str::parse).collect::<Result<_, _>>().ok()?;
    (cells.len() == 3 && cells.iter().all(|mv| *mv > 700)).then(|| cells.iter().sum())
}
''', '''
    #[test]
    fn dead_cell_spoils_the_sum() {
        assert_eq!(battery_mv(&guano("Cells: 1480/1475/1390")), Some(4_345));
        assert_eq!(battery_mv(&guano("Cells: 1480/120/1390")), None);
    }

    #[test]
    fn id_from_the_name() {
        assert_eq!(serial(&guano(""), "SW0071-20250611.wav"), Some("SW0071".into()));
    }
'''),
    Device(
        "chorus", "Chorus", "Titley Scientific", "Chorus", "CHO", (24_000, 48_000, 96_000), "Gain::Auto",
        (("Serial", "digits"), ("Anabat|Temperature", "degrees with unit")),
        "Chorus: automatic gain that cannot be switched off, so levels say nothing.", '''
fn serial(guano: &Guano, _name: &str) -> Option<String> {
    let digits: String = guano.get("Serial")?.chars().filter(char::is_ascii_digit).collect();
    (digits.len() >= 4).then(|| format!("{PREFIX}{digits}"))
}

fn battery_mv(guano: &Guano) -> Option<u32> {
    let text = guano.get("Anabat|Battery")?;
    let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic())?);
    let number: f32 = number.trim().parse().ok()?;
    match unit {
        "mV" => Some(number as u32),
        "V" => Some((number * 1000.0) as u32),
        _ => None,
    }
}
''', '''
    #[test]
    fn battery_in_either_unit() {
        assert_eq!(battery_mv(&guano("Anabat|Battery: 5.8V")), Some(5_800));
        assert_eq!(battery_mv(&guano("Anabat|Battery: 5790mV")), Some(5_790));
        assert_eq!(battery_mv(&guano("Anabat|Battery: 80pc")), None);
    }
'''),
    Device(
        "hydro", "HydroMoth", "Open Acoustic Devices", "HydroMoth", "HM", (16_000, 32_000, 48_000, 96_000, 192_000),
        "Gain::Steps(&[3.0, 6.0, 9.0])",
        (("Serial", "sixteen hexadecimal characters"), ("OAD|Housing", "closed or open")),
        "HydroMoth: the two under water, for toads; comes with a housing flag.", '''
fn serial(guano: &Guano, _name: &str) -> Option<String> {
    guano.get("Serial").filter(|s| s.len() == 16).map(str::to_ascii_uppercase)
}

fn battery_mv(guano: &Guano) -> Option<u32> {
    guano.get("OAD|Battery Voltage")?.parse::<f32>().ok().map(|v| (v * 1000.0).round() as u32)
}

/// An open housing under water is the end of a recorder; tell somebody.
pub fn flooded(guano: &Guano, celsius: f32, last: f32) -> bool {
    guano.get("OAD|Housing") == Some("open") || (last - celsius) > 9.0
}
''', '''
    #[test]
    fn sudden_cold_is_water() {
        let g = guano("OAD|Housing: closed");
        assert!(flooded(&g, 8.0, 19.5));
        assert!(!flooded(&g, 18.0, 19.5));
    }

    #[test]
    fn serial_is_upper_case() {
        assert_eq!(serial(&guano("Serial: 24f319055fdf2f8b"), ""), Some("24F319055FDF2F8B".into()));
    }
'''),
    Device(
        "zoom_h1", "ZoomH1", "Zoom", "H1n", "H1N", (44_100, 48_000, 96_000), "Gain::Auto",
        (("Originator", "from the bext chunk"), ("Note", "what the volunteer typed")),
        "Zoom H1n: what volunteers carry. Knows neither place nor serial; the card's label does.", '''
/// "ZOOM0007.WAV" on a card labelled "H1N-12": the label is the serial.
fn serial(guano: &Guano, name: &str) -> Option<String> {
    let note = guano.get("Note").unwrap_or(name);
    let at = note.find(PREFIX)?;
    let label: String = note[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    (label.len() > PREFIX.len() + 1).then_some(label)
}

fn battery_mv(_guano: &Guano) -> Option<u32> {
    None
}

/// Volunteers clap at the start to mark the time; skip that much.
pub fn clap_ms(peaks: &[i16], ms_per_peak: u32) -> u32 {
    let end = peaks.iter().take(200).rposition(|p| p.unsigned_abs() > 29_000);
    end.map_or(0, |n| (n as u32 + 2) * ms_per_peak)
}
''', '''
    #[test]
    fn label_is_the_serial() {
        assert_eq!(serial(&guano("Note: Paula H1N-12 zweite Runde"), ""), Some("H1N-12".into()));
        assert_eq!(serial(&guano("Note: sin etiqueta"), ""), None);
    }

    #[test]
    fn clap_at_the_start_is_skipped() {
        assert_eq!(clap_ms(&[10, 31_000, 30_500, 400, 300], 10), 40);
        assert_eq!(clap_ms(&[10, 20, 30], 10), 0);
    }
'''),
)  # fmt: skip

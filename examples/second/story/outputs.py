"""What commands print in this story: cards, uploads, detections, CI, benchmarks. Numbers come from the dice."""

import json
from datetime import datetime, timedelta

from second.story.stations import STATIONS, names
from session_builder import Dice

SPECIES = ("CORFRU", "IXOMIN", "BOTSTE", "ACRPAL", "RALAQU", "PORPOR", "LOCLUS", "ALAARV")
CRATES_BUILT = ("proc-macro2 v1.0.79", "unicode-ident v1.0.12", "libc v0.2.153", "cfg-if v1.0.0", "once_cell v1.19.0", "memchr v2.7.1",
                "version_check v0.9.4", "pkg-config v0.3.30", "cc v1.0.90", "typenum v1.17.0", "generic-array v0.14.7", "log v0.4.21",
                "utf8parse v0.2.1", "anstyle v1.0.6", "strsim v0.10.0", "itoa v1.0.10", "ryu v1.0.17", "serde v1.0.197",
                "libsqlite3-sys v0.27.0", "hashlink v0.8.4", "ring v0.17.8", "rustls v0.22.3", "webpki-roots v0.26.1", "ureq v2.9.6",
                "time-core v0.1.2", "time v0.3.36", "thiserror v1.0.58", "tracing-core v0.1.32", "regex-automata v0.4.6",
                "sharded-slab v0.1.7", "rusqlite v0.30.0", "tracing-subscriber v0.3.18", "clap_builder v4.4.18", "clap v4.4.18")  # fmt: skip


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def listing(dice: Dice, serials: tuple[str, ...], count: int) -> str:
    """ls -lR of a card."""
    out = []
    for serial in serials:
        out += [f"/media/card/{serial}:", f"total {dice.between(900_000, 4_000_000)}"]
        for name in names(dice, serial, count):
            size = dice.pick((32_768_456, 32_768_466, 32_768_461, 28_800_458, 57_600_470)) + dice.between(0, 3)
            out.append(f"-rwxrwxrwx 1 ruben ruben {size} Oct {dice.between(1, 28):2d} 0{dice.between(4, 9)}:{dice.between(0, 59):02d} {name}")
        out.append("")
    return "\n".join(out)


def ingest(dice: Dice, serials: tuple[str, ...], count: int, start: datetime, reason: str = "", every: int = 5) -> str:
    """grajo ingest -v; reason: why each `every`-th file is refused ({name}, {size})."""
    out, now, done, refused = [], start, 0, 0
    for serial in serials:
        for n, name in enumerate(names(dice, serial, count)):
            now += timedelta(milliseconds=dice.between(700, 4_800))
            path = f"/media/card/{serial}/{name}"
            if reason and n % every == every - 1:
                refused += 1
                out.append(f"refused {path}: {reason}")
                continue
            done += 1
            out.append(f"{stamp(now)} DEBUG grajo::commands::ingest: chunks path={name} fmt=16 wamd={dice.between(120, 260)} data={dice.pick((32_768_000, 28_800_000))} guan={dice.between(380, 460)}")
            out.append(f"{stamp(now)}  INFO grajo::commands::ingest: copied digest={dice.hex(12)} ms={dice.between(400, 4_700)} rss_mb={dice.between(40, 120)} name={name}")
    out.append(f"{done} copied ({done * 31} MB), {dice.between(0, 9)} known, {refused} refused")
    return "\n".join(out)


def push_log(dice: Dice, lines: int, start: datetime, extra: dict[int, str] | None = None, bad: int = 9) -> str:
    """Journal of grajo push at a station; extra: a line at that place; bad: one in so many parts fails."""
    out, now, part = [], start, 1
    for n in range(lines):
        now += timedelta(milliseconds=dice.between(900, 41_000))
        head = f"{now.strftime('%b %d %H:%M:%S')} fieldbook-{dice.between(2, 9)} grajo[{dice.between(700, 790)}]:"
        if extra and n in extra:
            out.append(f"{head} {extra[n]}")
        elif dice.between(1, bad) == 1:
            reason = dice.pick(("bucket: Network Error: timed out reading response", "bucket answered 503: SlowDown", "bucket: Connection reset by peer (os error 104)"))
            out.append(f'{head}  WARN grajo_store::bucket: part failed error="{reason}" attempt={dice.between(1, 4)}')
        else:
            part = part % 14 + 1
            out.append(f"{head} DEBUG grajo_store::bucket: part number={part} etag={dice.hex(32)} kbit_s={dice.between(28, 420)} digest={dice.hex(12)}")
    return "\n".join(out)


def detections(dice: Dice, count: int) -> str:
    """grajo detect --format csv."""
    out = ["digest,station,started,species,start_ms,end_ms,score,snr_db"]
    for _ in range(count):
        at = dice.between(0, 290_000)
        out.append(
            f"{dice.hex(12)},{dice.pick(STATIONS[:9])[0]},2025-10-{dice.between(1, 28):02d}T0{dice.between(3, 8)}:{dice.between(0, 11) * 5:02d}:00Z,"
            f"{dice.pick(SPECIES)},{at},{at + dice.between(40, 880)},0.{dice.between(51, 98)},{dice.between(3, 31)}.{dice.between(0, 9)}"
        )
    return "\n".join(out)


def hexdump(dice: Dice, offset: int, lines: int, text: bytes = b"") -> str:
    """xxd of the tail of a file: noise, then this text."""
    noise = bytes(dice.between(0, 255) if n % 2 == 0 else dice.pick((0, 0, 255)) for n in range(lines * 16 - len(text)))
    whole, out = noise + text, []
    for at in range(0, len(whole), 16):
        row = whole[at : at + 16]
        pairs = " ".join(row[n : n + 2].hex() for n in range(0, len(row), 2))
        shown = "".join(chr(b) if 32 <= b < 127 else "." for b in row)
        out.append(f"{offset + at:08x}: {pairs:<39}  {shown}")
    return "\n".join(out)


def bench(dice: Dice, rows: list[tuple[str, float, float]]) -> str:
    """criterion: (name, seconds, MiB/s)."""
    out = []
    for name, seconds, rate in rows:
        out += [
            f"Benchmarking {name}", f"Benchmarking {name}: Warming up for 3.0000 s", f"Benchmarking {name}: Collecting 10 samples in estimated {seconds * 55:.1f} s (55 iterations)",
            f"Benchmarking {name}: Analyzing", f"{name:<24}time:   [{seconds * 0.98:.4f} s {seconds:.4f} s {seconds * 1.03:.4f} s]",
            f"{'':<24}thrpt:  [{rate * 0.97:.2f} MiB/s {rate:.2f} MiB/s {rate * 1.02:.2f} MiB/s]",
            f"Found {dice.between(1, 3)} outliers among 10 measurements (10.00%)", f"  {dice.between(1, 2)} (10.00%) high mild",
        ]  # fmt: skip
    return "\n".join(out)


def table(columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """sqlite3 -box, without the box."""
    wide = [max(len(str(r[n])) for r in [columns, *rows]) for n in range(len(columns))]
    lines = ["  ".join(str(c).ljust(w) for c, w in zip(row, wide, strict=True)).rstrip() for row in [columns, tuple("-" * w for w in wide), *rows]]
    return "\n".join(lines)


def catalog_rows(dice: Dice, count: int) -> str:
    """Rows of the catalogue."""
    rows: list[tuple[object, ...]] = []
    for _ in range(count):
        station = dice.pick(STATIONS[:9])
        serial = dice.pick(station[4])
        name = names(dice, serial, 1)[0]
        rows.append((dice.hex(12), station[0], serial, name, dice.between(28_000_000, 57_000_000), dice.pick(("local", "pushing", "pushed", "pushed", "refused"))))
    return table(("digest", "station", "serial", "name", "bytes", "state"), rows)


def objects(dice: Dice, count: int) -> str:
    """s3 ls --recursive."""
    out = []
    for _ in range(count):
        key = dice.hex(64)
        out.append(f"2025-{dice.between(9, 11):02d}-{dice.between(1, 28):02d} 0{dice.between(0, 5)}:{dice.between(10, 59)}:{dice.between(10, 59)}   {dice.between(28_000_000, 57_600_470)} {key[:2]}/{key[2:4]}/{key}.wav")
    return "\n".join(out)


def ci_log(dice: Dice, job: str, start: datetime, steps: list[tuple[str, list[str]]]) -> str:
    """A job's log: setup, compiling, then these steps."""
    noise = ["Current runner version: '2.319.1'", "Operating System", "  Ubuntu 22.04.5 LTS", "GITHUB_TOKEN Permissions", "  Contents: read", "  Metadata: read",
             "Download action repository 'actions/checkout@v4'", "Download action repository 'Swatinem/rust-cache@v2'", f"Complete job name: {job}"]  # fmt: skip
    built = [f"   Compiling {name}" for name in CRATES_BUILT]
    out, now = [], start
    for title, lines in [("Set up job", noise), ("Run cargo build --workspace --locked", built), *steps]:
        out.append(f"{stamp(now)} ##[group]{title}")
        for line in lines:
            now += timedelta(milliseconds=dice.between(3, 2_400))
            out.append(f"{stamp(now)} {line}")
        out.append(f"{stamp(now)} ##[endgroup]")
    return "\n".join(out)


def api_json(dice: Dice, count: int) -> str:
    """The viewer's list of recordings."""
    items = []
    for _ in range(count):
        station = dice.pick(STATIONS[:9])
        serial = dice.pick(station[4])
        name = names(dice, serial, 1)[0]
        items.append({
            "digest": dice.hex(64), "station": station[0], "serial": serial, "name": name, "bytes": dice.between(28_000_000, 57_000_000),
            "started": f"2025-10-{dice.between(1, 28):02d}T0{dice.between(3, 8)}:00:00Z", "state": dice.pick(("local", "pushed", "pushing")),
        })  # fmt: skip
    return json.dumps({"items": items, "next": dice.token(20)}, indent=1)


def built(dice: Dice) -> str:
    """A release build from nothing."""
    return "\n".join([*(f"   Compiling {n}" for n in CRATES_BUILT), f"    Finished release [optimized] target(s) in 1m {dice.between(10, 58)}s"])

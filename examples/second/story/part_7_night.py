"""A slow verify, the export for Graz, a build to try, the end of the day."""

from datetime import timedelta

from second.story import outputs as o
from second.story.day import Day

VERIFY = "crates/grajo-cli/src/commands/verify.rs"
CATALOG = "crates/grajo-store/src/catalog.rs"
ALL_METHOD = '''    /// Digests of everything that should be on this disk.
    pub fn on_disk(&self, station: &str) -> Result<Vec<String>, StoreError> {
        let mut query =
            self.db.prepare_cached("SELECT digest FROM recordings WHERE station = ?1 AND state <> 'refused' ORDER BY digest")?;
        let rows = query.query_map([station], |row| row.get(0))?;
        rows.collect::<Result<_, _>>().map_err(StoreError::from)
    }

'''
UNRELEASED = """## Unreleased

- ingest: nothing whole in memory; a warning when the card is mounted read-write; a list of refused files
- riff: files without the pad byte at their end are read; rubbish after the last chunk is an error
- guano: Latin-1 is read
- hash: BLAKE3
- clock: timestamps without an offset are winter time
- catalog: survives an unplugged disk
- push: goes on with the upload that was begun
- detect: the score of a call is the mean of its windows; a higher default
- viewer: filters by species and score; a word when the first minute is silent
"""


def play(d: Day) -> None:
    _verify(d)
    _stations(d)
    _build(d)
    _end(d)


def _verify(d: Day) -> None:
    w, s = d.w, d.s
    d.say("verify says ok in 2 seconds for 600 GB. sospechoso", after=280)
    w.read(VERIFY)
    w.read_around(CATALOG, "pub fn waiting", 14)
    w.run("sqlite3 /data/grajo/catalog.sqlite 'select state, count(*) from recordings group by 1'; sqlite3 -box /data/grajo/catalog.sqlite \"select * from recordings where state = 'pushed' limit 40\"", "local|3\npushed|19412\nrefused|77\n" + o.catalog_rows(d.dice, 40), seconds=0.3)
    s.reply("It only looks at what still waits to be pushed, three files here. Everything that is pushed is skipped, although it still lies on the disk.")
    d.say("jajaja. so two years of verify was theatre. fix, and progress every 500 files, and if a file is missing say missing and go on")
    w.edit(CATALOG, "    pub fn waiting(", ALL_METHOD + "    pub fn waiting(")
    w.edit(VERIFY, "    for hex in catalog.waiting(&args.station, u32::MAX)? {\n", "    for (n, hex) in catalog.on_disk(&args.station)?.into_iter().enumerate() {\n        if n % 500 == 499 {\n            eprintln!(\"{} checked\", n + 1);\n        }\n")
    w.edit(VERIFY, "        if Digest::of_reader(&mut File::open(&path)?)? != wanted {\n", "        let Ok(mut file) = File::open(&path) else {\n            broken += 1;\n            println!(\"missing {}\", path.display());\n            continue;\n        };\n        if Digest::of_reader(&mut file)? != wanted {\n")
    w.cargo_test("grajo-store", "grajo-cli")
    listed = [f"{'missing' if d.dice.between(0, 3) == 0 else 'broken'} /data/grajo/recordings/{d.dice.hex(2)}/{d.dice.hex(2)}/{d.dice.hex(64)}.wav" for _ in range(34)]
    w.run("target/release/grajo verify --station delta-03 2>&1 | tail -60", "\n".join([*(f"{n} checked" for n in range(500, 9_501, 500)), *listed]), seconds=590)
    w.run("head -c 256 /data/grajo/recordings/1c/*/*.wav | xxd | head -60; dmesg | grep -i sda | tail -5", o.hexdump(d.dice, 0, 60, b"\x00" * 640), seconds=1)
    s.reply("34 of about 9,700: eight missing, 26 broken. The broken ones that I looked at begin with zeros, typical for exFAT after an unplugged disk. All 34 are `pushed`, so the bucket has them.")
    d.say("uff menos mal. commit")
    w.commit("verify: check what is on the disk, not what waits")
    s.reply("Committed.")


def _stations(d: Day) -> None:
    w, s = d.w, d.s
    d.say("go through the station files pls and tell me if something looks wrong to you, fresh eyes", after=150)
    w.read_together(*sorted(p for p in w.files if p.startswith("stations/")))
    w.grep("serial = ", "stations/*.toml")
    w.read_together(d.device("chorus"), d.device("hydro"))
    s.reply("Nothing is listed twice. Two remarks: Zicksee has an AudioMoth that no log of October mentions, and there is no HydroMoth in any file although the program knows it. `height_m` is never read.")
    d.say("hydromoths are in the cupboard, one drowned. zicksee i ask the Austrians")
    s.reply("All right.")
    d.say("and the detections for marjal-01, are there really none of bitterns? paula swears she heard one")
    w.run("target/release/grajo detect --since 2025-10-01 --species BOTSTE --format csv | grep -c marjal-01; target/release/grajo detect --since 2025-10-01 --format csv | grep marjal-01 | head -100", "0\n" + o.detections(d.dice, 100), seconds=80)
    w.run("target/release/grajo detect --since 2025-10-01 --species BOTSTE --threshold 0.4 --format csv | grep marjal-01 | head -5", "5b1e02c97aa0,marjal-01,2025-10-19T05:10:00Z,BOTSTE,121420,122010,0.58,6.1\n5b1e02c97aa0,marjal-01,2025-10-19T05:10:00Z,BOTSTE,124900,125460,0.61,6.4", seconds=70)
    s.reply("Two weak ones on 19 October at 05:10 UTC, scores 0.58 and 0.61, in the same recording. She may well be right.")
    d.say("she will be insufferable. gracias")
    s.reply("My regards to her.")


def _build(d: Day) -> None:
    w, s = d.w, d.s
    d.say("ok lets make a build for trying. static, musl if it works, so it runs on the fieldbook whatever is installed", after=200)
    w.run("rustup target add x86_64-unknown-linux-musl --toolchain 1.74.1 && cargo +1.74.1 build --release --locked --target x86_64-unknown-linux-musl", o.built(d.dice).replace("    Finished", "error: failed to run custom build command for `libsqlite3-sys v0.27.0`\n  running: \"musl-gcc\" \"-O3\" \"-ffunction-sections\" \"-c\" \"sqlite3/sqlite3.c\"\n  error occurred: Failed to find tool. Is `musl-gcc` installed?\n    Not finished"), error=True, seconds=70)
    w.run("sudo apt-get install -y -q musl-tools && cargo +1.74.1 build --release --locked --target x86_64-unknown-linux-musl", "Setting up musl-dev:amd64 (1.2.3-1) ...\nSetting up musl-tools (1.2.3-1) ...\n" + o.built(d.dice), seconds=160)
    w.run("cd target/x86_64-unknown-linux-musl/release && file grajo && tar czf /tmp/grajo-0.9-rc1.tar.gz grajo && sha256sum /tmp/grajo-0.9-rc1.tar.gz | tee /tmp/grajo-0.9-rc1.tar.gz.sha256", f"grajo: ELF 64-bit LSB executable, x86-64, version 1 (SYSV), statically linked, not stripped\n{d.dice.hex(64)}  /tmp/grajo-0.9-rc1.tar.gz", seconds=3)
    w.run("scp -q /tmp/grajo-0.9-rc1.tar.gz fieldbook: && ssh fieldbook 'tar xzf grajo-0.9-rc1.tar.gz && ./grajo -v ingest /media/card --station delta-03 2>&1 | tail -64'", o.ingest(d.dice, ("SMM08812", "SMM08813", "SMM08815"), 24, s.now), seconds=90)
    w.run("ssh fieldbook './grajo -v push --station delta-03 --limit 9 2>&1 | tail -56'", o.push_log(d.dice, 56, s.now, bad=20), seconds=200)
    s.reply("Static build with 1.74.1 runs on the fieldbook: ingest and push are fine. The archive and its checksum are in /tmp.")
    d.say("i upload it myself to her. thanks")
    s.reply("Good.")
    d.say("does CI pass with all of this? dont want a surprise tomorrow")
    steps = [("Run cargo test --workspace --locked", [f"test {name} ... ok" for crate in ("grajo-cli", "grajo-core", "grajo-store") for name in w.rust_tests(crate)])]
    w.run("git push -q && gh run watch --exit-status; gh run view --log --job 'rust (1.74.1)' | tail -150", o.ci_log(d.dice, "rust (1.74.1)", s.now + timedelta(minutes=1), steps), seconds=240)
    s.reply("All three jobs are green.")


def _end(d: Day) -> None:
    w, s = d.w, d.s
    d.say("now the changelog, short, people from the stations read it", after=90)
    w.run("git log --format='%h %s' d3370e9..HEAD", "\n".join(f"{sha} {text}" for sha, text, _ in reversed(w.log[8:])), seconds=0.1)
    w.edit("CHANGELOG.md", "## Unreleased\n", UNRELEASED)
    w.commit("changelog: what today brought")
    s.reply("Written, one line an area.")
    d.say("bueno. me voy, que en casa me matan. mañana seguimos con serve", after=60)
    w.status()
    s.reply("Everything is committed and pushed. Until tomorrow!")

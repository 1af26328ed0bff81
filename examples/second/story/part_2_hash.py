"""Before noon: hashing on slow laptops, the toolchain, a broken catalogue, unwraps, false rooks."""

from second.story import outputs as o
from second.story.day import Day

HASH = "crates/grajo-core/src/hash.rs"
CATALOG = "crates/grajo-store/src/catalog.rs"
DETECT = "crates/grajo-core/src/detect.rs"
RIFF = "crates/grajo-core/src/riff.rs"
TOO_NEW = """    Updating crates.io index
error: package `constant_time_eq v0.4.2` cannot be built because it requires rustc 1.85.0 or newer, while the currently active rustc version is 1.74.1
Either upgrade to rustc 1.85.0 or newer, or use
cargo update -p constant_time_eq@0.4.2 --precise ver
where `ver` is the latest version of `constant_time_eq` supporting rustc 1.74.1"""
PERF = """# Overhead  Command  Shared Object       Symbol
# ........  .......  ..................  ..............................................
    79.81%  grajo    grajo               [.] sha2::sha256::soft::compress
     6.13%  grajo    [kernel.kallsyms]   [k] copy_user_generic_unrolled
     3.02%  grajo    [kernel.kallsyms]   [k] exfat_get_block
     2.44%  grajo    [kernel.kallsyms]   [k] mmc_blk_mq_issue_rq
     1.90%  grajo    libc.so.6           [.] __memmove_sse2_unaligned_erms
     0.71%  grajo    grajo               [.] rusqlite::statement::Statement::execute
     0.64%  grajo    [kernel.kallsyms]   [k] clear_page_orig
     0.38%  grajo    grajo               [.] grajo_core::riff::chunks"""
KEY_TRACE = """thread 'hash::tests::key_fans_out_twice' panicked at crates/grajo-core/src/hash.rs:88:9:
assertion failed: digest.key().starts_with("e3/b0/e3b0c442")
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace"""
UNWRAP = """error: used `unwrap()` on a `Result` value
  --> crates/grajo-core/src/riff.rs:{line}:{column}
   |
{line} |         {code}
   |{spaces}^^^^^^^^^^^^^^^^^^^^^^^^^
   |
   = note: if this value is an `Err`, it will panic
   = help: consider using `expect()` to provide a better panic message
   = help: for further information visit https://rust-lang.github.io/rust-clippy/master/index.html#unwrap_used
"""


def play(d: Day) -> None:
    _slow_hash(d)
    _blake(d)
    _malformed(d)
    _unwraps(d)
    _rooks(d)


def _slow_hash(d: Day) -> None:
    w, s = d.w, d.s
    d.say("hashing then. thijs says a 64 GB card takes him the whole evening. i have a fieldbook here on the desk, `ssh fieldbook` works. measure, dont guess :)", after=700)
    w.run("ssh fieldbook 'lscpu | head -20; free -m; cat /etc/debian_version; rustc --version; df -hT /data'", "Architecture:            x86_64\nCPU op-mode(s):          32-bit, 64-bit\nCPU(s):                  4\nModel name:              Intel(R) Atom(TM) x5-Z8350  CPU @ 1.44GHz\nCPU max MHz:             1920.0000\nFlags:                   fpu vme sse2 ssse3 sse4_1 sse4_2 movbe popcnt aes rdrand\n               total        used        free      shared  buff/cache   available\nMem:            1913        1102          88         120         722         560\nSwap:            975         331         644\n12.5\nrustc 1.74.1 (a28077b28 2023-12-04)\nFilesystem     Type   Size  Used Avail Use% Mounted on\n/dev/sda1      exfat  1.9T  611G  1.3T  33% /data", seconds=2)
    w.read(HASH)
    w.run("ssh fieldbook 'cd grajo && cargo bench --bench digest 2>&1 | tail -40'", o.bench(d.dice, [("sha256/32MB", 1.38, 23.1), ("sha256/690MB", 29.9, 23.0), ("copy only/690MB", 9.1, 75.8), ("blake3/32MB", 0.15, 213.0), ("blake3/690MB", 3.4, 203.1), ("xxh3/690MB", 1.9, 363.0)]), why="Benchmark on the laptop", seconds=410)
    w.run("ssh fieldbook 'sudo perf record -q -g target/release/grajo ingest /media/card --station delta-03 --dry-run && sudo perf report --stdio --no-children | head -24'", PERF, seconds=160)
    w.run("ssh fieldbook 'target/release/grajo -v ingest /media/card --station delta-03 2>&1 | head -70'", o.ingest(d.dice, ("SMM08812", "SMM08815"), 34, s.now), seconds=180)
    s.reply("The Atom has no SHA instructions, so `sha2` runs its software path: 23 MiB/s, 80 % of the time. The disk would give 75. On the same machine BLAKE3 does about 205 MiB/s with SSE4.1, and xxh3 more, but xxh3 is not a cryptographic digest. With BLAKE3 the disk would be the limit, around 15 minutes for a 64 GB card instead of 47.")
    d.say("47 with copy yes, and of this the pure hashing of an ordinary 26 GB card i measured once, 19 min per card, nobody waits so long, they pull it out. vamos con blake3 then, sha256 goes away completely. in the bucket is nothing yet with the old keys except my own tests so dont write a migration", "blake3", after=140)
    w.edit("Cargo.toml", 'sha2 = "0.10"', 'blake3 = "1.5"')
    w.edit("crates/grajo-core/Cargo.toml", "sha2.workspace = true", "blake3.workspace = true")
    w.edit(HASH, "use sha2::{Digest as _, Sha256};\n\n/// SHA-256 of a whole file, header included.", "/// BLAKE3 of a whole file, header included.")
    w.edit(HASH, "        let mut hasher = Sha256::new();\n        let mut buffer = vec![0u8; 8 * 1024];\n        loop {\n            let n = src.read(&mut buffer)?;\n            if n == 0 {\n                return Ok(Self(hasher.finalize().into()));\n            }\n            hasher.update(&buffer[..n]);\n        }\n", "        Self::of_copy(src, &mut io::sink())\n")
    w.edit(HASH, "        let mut hasher = Sha256::new();\n", "        let mut hasher = blake3::Hasher::new();\n")
    w.run("cargo +1.74.1 build --workspace", TOO_NEW, error=True, seconds=6)
    s.reply("The code is changed, but a dependency of `blake3` wants rustc 1.85. I can hold `blake3` and `constant_time_eq` back, or raise the toolchain. Which do you prefer?")


def _blake(d: Day) -> None:
    w, s = d.w, d.s
    d.say("no no, ojo con eso: el MSRV es 1.74 y de ahí no se mueve, los portátiles de las estaciones no se actualizan y con esa línea un rustup tarda días. fija la versión que haga falta en el lockfile", "msrv", after=60)
    w.run("cargo update -p blake3 --precise 1.5.0 && cargo update -p constant_time_eq --precise 0.3.0", "    Updating crates.io index\n Downgrading blake3 v1.5.5 -> v1.5.0\n Downgrading constant_time_eq v0.4.2 -> v0.3.0\n    Removing block-buffer v0.10.4\n    Removing cpufeatures v0.2.12\n    Removing crypto-common v0.1.6\n    Removing digest v0.10.7\n    Removing sha2 v0.10.8", seconds=3)
    w.edit("Cargo.toml", 'blake3 = "1.5"', 'blake3 = "=1.5.0"')
    w.run("cargo +1.74.1 build --workspace --locked", o.built(d.dice), seconds=88)
    w.cargo_test("grajo-core", failing={"key_fans_out_twice": KEY_TRACE})
    w.edit(HASH, 'starts_with("e3/b0/e3b0c442")', 'starts_with("af/13/af1349b9")')
    w.cargo_test()
    w.run("ssh fieldbook 'cd grajo && git pull -q && cargo build -q --release --locked && time target/release/grajo ingest /media/card --station delta-03'", "94 copied (2914 MB), 0 known, 0 refused\n\nreal\t0m41.380s\nuser\t0m16.902s\nsys\t0m13.551s", seconds=560)
    w.diff("Cargo.toml", HASH)
    w.commit("hash: blake3 in place of sha256")
    s.reply("Held back to 1.5.0 and 0.3.0; it builds with 1.74.1 and `--locked`. On the fieldbook the 2.9 GB card takes 41 s now, 128 s before, and the disk is the limit.")
    d.say("que maravilla, he will think its broken so fast. btw the field tests of a build are always with Thijs de Bruin, our technician, when you make a binary for him a tar.gz with checksum please, he has no rust there", "field-tests-old")
    s.reply("Will do. The count in the last line is still there to believe.")


def _malformed(d: Day) -> None:
    w, s = d.w, d.s
    d.say("otra cosa, two stations reported `database disk image is malformed`, pego and fangar. not the same day. i copied the files, /tmp/bad/pego.sqlite and /tmp/bad/fangar.sqlite with what was lying next to them. can you find why? could be the usb disk dying of course", after=1500)
    w.run("ls -la /tmp/bad; for f in /tmp/bad/*.sqlite; do sqlite3 $f 'pragma integrity_check' | head -14; done", "total 20904\n-rw-r--r-- 1 ruben ruben 9162752 Oct 29 08:11 fangar.sqlite\n-rw-r--r-- 1 ruben ruben   32768 Oct 29 08:11 fangar.sqlite-shm\n-rw-r--r-- 1 ruben ruben       0 Oct 29 08:11 fangar.sqlite-wal\n-rw-r--r-- 1 ruben ruben 8433664 Oct 17 21:40 pego.sqlite\n-rw-r--r-- 1 ruben ruben 3712152 Oct 17 21:38 pego.sqlite-wal\n*** in database main ***\nTree 3 page 1187 cell 12: Rowid 18204 out of order\nTree 5 page 2011: btreeInitPage() returns error code 11\nPage 2102: never used\nPage 2103: never used\nwrong # of entries in index recordings_by_start\n*** in database main ***\nTree 2 page 904 cell 0: invalid page number 2290\nrow 1288 missing from index recordings_by_start", seconds=0.6)
    w.read(CATALOG)
    w.run("sqlite3 /tmp/bad/pego.sqlite 'select * from recordings limit 60' | head -60", o.catalog_rows(d.dice, 60), seconds=0.3)
    w.run("journalctl --file /tmp/bad/pego.journal -k | grep -iE 'usb|exfat|sda' | tail -24", "\n".join(f"Oct 17 21:{d.dice.between(10, 39)}:{d.dice.between(10, 59)} fieldbook-5 kernel: " + d.dice.pick(("usb 1-2: USB disconnect, device number 6", "usb 1-2: new high-speed USB device number 7 using xhci_hcd", "exFAT-fs (sda1): error, failed to bmap (inode : 000000008d1c iblock : 4410)", "exFAT-fs (sda1): Volume was not properly unmounted. Some data may be corrupt. Please run fsck.", "sd 2:0:0:0: [sda] Synchronize Cache(10) failed: Result: hostbyte=DID_ERROR", "usb 1-2: reset high-speed USB device number 7 using xhci_hcd")) for _ in range(24)), seconds=0.3)
    s.think("exFAT has no journalling; WAL with synchronous=NORMAL does not sync on commit; disconnects during checkpoint leave a torn main file, plus -wal left behind under another mount. TRUNCATE + FULL: one fsync more a transaction, all in one file plus journal that is rolled back. Cost measured?")
    w.run("ssh fieldbook 'python3 tools/insert_cost.py /data/x.sqlite WAL NORMAL; python3 tools/insert_cost.py /data/x.sqlite TRUNCATE FULL'", "WAL NORMAL     1000 inserts  0.41 s\nTRUNCATE FULL  1000 inserts 11.90 s", seconds=14)
    found = s.reply("The disks do not die, they get unplugged: both kernels logs show disconnects minutes before. Why it hurts: the catalogue is in WAL mode with `synchronous=NORMAL` on exFAT. A disconnect during a checkpoint tears the main file, and in Fangar somebody copied the file without its `-wal`.\n\nI would go to journal_mode=TRUNCATE with synchronous=FULL on those disks. It is slower, 12 ms an insert on the fieldbook, but we insert one row per recording, so about a second per card. Restoring the two files: the rows can be rebuilt from the recordings.")
    d.mark(found, "journal-mode")
    d.say("makes sense. ok do it. and the two broken ones rebuild them here, i put them back by hand", after=120)
    w.edit(CATALOG, '        db.pragma_update(None, "journal_mode", "WAL")?;\n        db.pragma_update(None, "synchronous", "NORMAL")?;\n', '        // The disks are exFAT and get unplugged: no WAL there.\n        db.pragma_update(None, "journal_mode", "TRUNCATE")?;\n        db.pragma_update(None, "synchronous", "FULL")?;\n')
    w.cargo_test("grajo-store")
    w.run("for s in pego fangar; do sqlite3 /tmp/bad/$s.sqlite .recover | sqlite3 /tmp/bad/$s.new.sqlite; sqlite3 /tmp/bad/$s.new.sqlite 'pragma integrity_check; select state, count(*) from recordings group by 1'; done", "ok\nlocal|311\npushed|8120\nrefused|44\nok\nlocal|902\npushing|1\npushed|6604", seconds=4)
    w.commit("catalog: no WAL on disks that get unplugged")
    s.reply("Done. Both recovered files pass the integrity check; Pego lost nothing, Fangar three rows from the last minutes of 28 October, whose recordings are still on the disk and will come back with the next ingest.")
    d.say("great. for a moment i thought lets move the catalog to duckdb so that graz can query it directly but nah, forget it, one more thing that does not compile on the atoms. csv export is enough for them", "duckdb", after=90)
    s.reply("A CSV export exists in `detect` already; the catalogue has none yet.")
    d.say("later, not this week")
    s.reply("Fine.")


def _unwraps(d: Day) -> None:
    w, s = d.w, d.s
    d.say("i was reading your riff diff during the call. not yours, older: there are `.unwrap()` on the try_into in riff.rs and one in verify. i dont want any unwrap outside of tests, a panic on a station is one month without data. errors are thiserror in the two libs and anyhow only in the cli, please keep that separation, and turn on the clippy lint so that it stays", "no-unwrap", after=1600)
    w.grep(r"\.unwrap\(\)", "crates/*/src/*.rs")
    w.edit("Cargo.toml", "[profile.release]", '[workspace.lints.clippy]\nunwrap_used = "deny"\n\n[profile.release]')
    w.clippy(UNWRAP.format(line=33, column=49, spaces=" " * 49, code="return Err(WavError::NotRiff { found: head[..4].try_into().unwrap() });"), UNWRAP.format(line=41, column=27, spaces=" " * 27, code="let id: [u8; 4] = eight[..4].try_into().unwrap();"), UNWRAP.format(line=42, column=38, spaces=" " * 38, code="let size = u32::from_le_bytes(eight[4..].try_into().unwrap());"))
    w.edit(RIFF, "        return Err(WavError::NotRiff { found: head[..4].try_into().unwrap() });", "        return Err(WavError::NotRiff { found: [head[0], head[1], head[2], head[3]] });")
    w.edit(RIFF, "        let id: [u8; 4] = eight[..4].try_into().unwrap();\n        let size = u32::from_le_bytes(eight[4..].try_into().unwrap());\n", "        let [a, b, c, d, rest @ ..] = eight;\n        let (id, size) = ([a, b, c, d], u32::from_le_bytes(rest));\n")
    w.edit("crates/grajo-cli/src/commands/verify.rs", "Digest::from_hex(&hex).unwrap();", 'Digest::from_hex(&hex).context("catalogue holds a broken digest")?;')
    w.edit("crates/grajo-cli/src/commands/verify.rs", "use anyhow::Result;", "use anyhow::{Context, Result};")
    w.edit("crates/grajo-cli/src/commands/ingest.rs", "    let name = path.file_name().unwrap().to_string_lossy().into_owned();", '    let name = path.file_name().context("a path without a name")?.to_string_lossy().into_owned();')
    w.edit("crates/grajo-cli/src/commands/ingest.rs", "        fs::create_dir_all(to.parent().unwrap())?;", '        fs::create_dir_all(to.parent().context("a key without a folder")?)?;')
    w.clippy()
    w.cargo_test()
    w.commit("lint: no unwrap outside of tests")
    s.reply("Five unwraps replaced, the lint denies new ones. Tests may still use it through `clippy.toml`'s `allow-unwrap-in-tests`.")
    d.say("bien")
    s.reply("Thanks.")


def _rooks(d: Day) -> None:
    w, s = d.w, d.s
    d.say("last before lunch, a fast one. the default in detect.rs is 0.5, its from the paper and gives us thousands of rooks that are doors and trucks. put the threshold at 0.65, thats what i use by hand anyway. run it over the october samples to see nothing explodes", "threshold-old", after=150)
    w.read(DETECT)
    w.edit(DETECT, "Self { threshold: 0.5, merge_ms: 250, hop: 512 }", "Self { threshold: 0.65, merge_ms: 250, hop: 512 }")
    w.run("target/release/grajo detect --since 2025-10-01 --format csv | head -110", o.detections(d.dice, 110), seconds=95)
    w.run("for t in 0.5 0.65; do target/release/grajo detect --since 2025-10-01 --threshold $t; done", "41877 calls at 0.50\n12903 calls at 0.65", seconds=190)
    w.cargo_test("grajo-core")
    w.commit("detect: fewer trucks among the rooks")
    s.reply("12,903 calls in October instead of 41,877. The tests set their own values, so none of them moved.")
    d.say("ok. comida! back in an hour more or less", after=60)
    s.reply("Buen provecho.")

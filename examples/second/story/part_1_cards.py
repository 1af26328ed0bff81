"""08:21 to about 10:40: the ground rules, cards that are refused, ingest without a whole file in memory."""

from second.story import outputs as o
from second.story.day import Day

RIFF = "crates/grajo-core/src/riff.rs"
INGEST = "crates/grajo-cli/src/commands/ingest.rs"
PAST_END = "chunk 'guan' at 0x1f400f0 runs past end of file (need 412, have 411)"
GUAN = (b"guan\x9b\x01\x00\x00GUANO|Version: 1.0\nMake: Wildlife Acoustics\nModel: Song Meter Mini\nSerial: SMM08812\nFirmware Version: 4.6\n"
        b"Timestamp: 2025-10-02T04:30:00\nLoc Position: 40.73 0.83\nLength: 300.0\nSamplerate: 24000\nWA|Song Meter|Battery: 5.9V\nTemperature Int: 16.25\nNote:")  # fmt: skip
LAST_TESTS = '''
    #[test]
    fn last_chunk_may_lack_its_pad_byte() {
        let mut bytes = wav(&[(b"data", &[0; 64]), (b"guan", b"a: bc")]);
        bytes.pop();
        let found = chunks(&mut Cursor::new(&bytes), bytes.len() as u64).unwrap();
        assert_eq!(found[1].size, 5);
    }

    #[test]
    fn pad_byte_is_still_needed_in_the_middle() {
        let mut bytes = wav(&[(b"wamd", &[7; 5]), (b"data", &[1; 4])]);
        bytes.remove(12 + 8 + 5);
        assert!(chunks(&mut Cursor::new(&bytes), bytes.len() as u64).is_err());
    }
'''
REAL_TEST = '''//! Files that once came from a card and were refused. Needs git-lfs.

use std::fs::File;
use std::path::Path;

use grajo_core::riff;

const CARDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/cards/broken-2024");

fn names(card: &str, file: &str) -> Vec<String> {
    let path = Path::new(CARDS).join(card).join(file);
    let mut src = File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let len = src.metadata().unwrap().len();
    riff::chunks(&mut src, len).unwrap().iter().map(riff::Chunk::name).collect()
}

#[test]
fn mini_without_pad() {
    assert_eq!(names("07-mini-nopad", "SMM08790_20241111_063000.wav"), ["fmt ", "wamd", "data", "guan"]);
}

#[test]
fn card_pulled_while_writing() {
    let path = Path::new(CARDS).join("03-pulled/S4A09127_20240422_051500.wav");
    let mut src = File::open(path).unwrap();
    let len = src.metadata().unwrap().len();
    assert!(riff::chunks(&mut src, len).is_err());
}
'''


def play(d: Day) -> None:
    _look(d)
    _refused(d)
    _fix(d)
    _memory(d)
    _read_only(d)


def _look(d: Day) -> None:
    w, s = d.w, d.s
    d.say("hola. this is grajo, it takes the SD cards of our bird recorders and brings them in the bucket. i'm Rubén, i do the software here more or less alone. read a bit the repo and tell me what is what, nothing more for now", after=1)
    s.note("I'll start with the overview files and then the crates.")
    w.read_together("README.md", "Cargo.toml", "docs/stations.md")
    w.run("git ls-files", "\n".join(sorted(w.files)), seconds=0.2)
    w.read("crates/grajo-cli/src/main.rs")
    w.read(INGEST)
    w.read(RIFF)
    w.read("crates/grajo-core/src/error.rs")
    w.read("crates/grajo-core/src/devices/mod.rs")
    w.read("stations/delta-03.toml")
    d.mark(w.read("third_party/guano-rs/README.md"), "regen-all")
    w.git_log(8)
    s.reply("Three crates: `grajo-core` (pure parsing: RIFF, GUANO, eight recorders, hashing, detection), `grajo-store` (SQLite catalogue and S3 multipart), `grajo-cli` (clap front end). `viewer/` is a small Vite app. `third_party/guano-rs` is vendored but not part of the workspace. Recorders are picked by the Make/Model fields of the GUANO chunk; a card with an unknown serial is refused with exit code 3.\n\nTwo things that caught my eye: `ingest` reads each file whole into memory, and `push` starts a new multipart upload every time although it keeps parts in the catalogue. I changed nothing.")
    d.say("ok good, both are on my list for today. some things before, all in one go. a veces te escribo en español sin darme cuenta, tú contéstame siempre en inglés porque copio tus respuestas a los tickets y graz no entiende otra cosa. commit messages: the area as prefix like `riff: ...`, lowercase, no emojis and pls no co-authored-by line, the last contractor did all that and the log looks like a christmas tree. no PRs, i merge myself. rest is common sense", "english", "commit-style", after=240)
    s.reply("All clear. Anything I should start with?")


def _refused(d: Day) -> None:
    w, s = d.w, d.s
    d.say(f"yes. thijs sent me 3 cards from canal vell, a third of the files get refused. he sees this:\n\n    refused /media/card/SMM08812/SMM08812_20251002_043000.wav: {PAST_END}\n\nalways these two numbers or similar. only the new recorders, the SM4s are fine. first card is mounted on /media/card, look why, dont fix yet", "error-text", after=95)
    s.think("need 412, have 411: one byte. Odd size and padding. Look at the tail of a refused file and one that is accepted.")
    w.run("ls -lR /media/card | head -120", o.listing(d.dice, ("SMM08812", "SMM08813", "SMM08815"), 26), seconds=0.6)
    w.run("cargo run -q -- -v ingest /media/card --station delta-03 --dry-run 2>&1 | head -80", o.ingest(d.dice, ("SMM08812", "SMM08813"), 24, s.now, PAST_END, 3), why="Dry run over the card", seconds=71)
    w.read(d.device("sm_mini"))
    w.run("f=/media/card/SMM08812/SMM08812_20251002_043000.wav; stat -c %s $f; tail -c 640 $f | xxd", "32768651\n" + o.hexdump(d.dice, 0x1F3FE8B, 40, GUAN), why="Tail of a refused file", seconds=0.1)
    w.run("f=/media/card/SMM08812/SMM08812_20251001_050500.wav; stat -c %s $f; tail -c 320 $f | xxd", "32768650\n" + o.hexdump(d.dice, 0x1F3FFCA, 20, GUAN[:180]), why="Tail of an accepted file", seconds=0.1)
    w.read("crates/grajo-core/src/guano.rs")
    w.grep("size & 1", "*.rs", context=3)
    w.run("for f in /media/card/*/*.wav; do python3 tools/lastchunk.py $f; done | sort | uniq -c", "     61 guan even ok\n     33 guan odd  short by 1", seconds=9)
    finding = s.reply("Found it. The Song Meter Mini with firmware 4.6 does not write the pad byte after an odd-sized `guan` chunk when that chunk ends the file, and our walker counts padding as part of the chunk. All 33 refused files have an odd `guan` size, all 61 accepted ones an even size. The GUANO text itself is complete, so nothing is lost on the card.\n\nProposal: accept a missing pad byte, but only where the file ends.")
    d.mark(finding, "pad-byte")


def _fix(d: Day) -> None:
    w, s = d.w, d.s
    d.say("ahh claro, they updated the firmware in september. ok do it, in the middle of the file it must stay an error tho", after=130)
    w.edit(RIFF, "        if padded > have {\n            return Err(WavError::PastEnd { id, at: at + 8, need: padded, have });", "        if u64::from(size) > have {\n            return Err(WavError::PastEnd { id, at: at + 8, need: u64::from(size), have });")
    w.edit(RIFF, "    #[test]\n    fn not_riff_is_an_error() {", LAST_TESTS.strip("\n") + "\n\n    #[test]\n    fn not_riff_is_an_error() {")
    trace = "thread 'riff::tests::pad_byte_is_still_needed_in_the_middle' panicked at crates/grajo-core/src/riff.rs:131:9:\nassertion failed: chunks(&mut Cursor::new(&bytes), bytes.len() as u64).is_err()\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace"
    w.cargo_test("grajo-core", failing={"pad_byte_is_still_needed_in_the_middle": trace})
    s.think("With the pad removed in the middle the next header is read one byte late: id 'ata\\x04', size garbage 0x01000000-ish... here the remaining bytes are fewer than 8, so the loop ends silently. The trailing rest must be an error: after the loop, at must be >= len or at most the missing pad.")
    w.edit(RIFF, "        at += 8 + padded;\n    }\n    Ok(found)", "        at += 8 + padded;\n    }\n    if at < len {\n        return Err(WavError::Trailing { at, bytes: len - at });\n    }\n    Ok(found)")
    w.edit("crates/grajo-core/src/error.rs", "    #[error(\"format tag {0:#06x} is not PCM\")]", "    #[error(\"{bytes} bytes after the last chunk, at {at:#x}\")]\n    Trailing { at: u64, bytes: u64 },\n    #[error(\"format tag {0:#06x} is not PCM\")]")
    w.cargo_test("grajo-core")
    w.run("cargo run -q -- ingest /media/card --station delta-03 --dry-run 2>&1 | tail -3", "94 copied (2914 MB), 0 known, 0 refused", seconds=66)
    w.commit("riff: accept a missing pad byte at the end of the file")
    s.reply("Done and committed: 94 of 94 files on that card pass now. A file with rubbish after its last chunk is a new error, `Trailing`; before, up to seven stray bytes went unnoticed.")
    d.say("nice. pero para los tests no me inventes wavs sintéticos si hay uno de verdad, the broken ones of last year are in testdata/cards/broken-2024, each folder has a note.txt with who sent it and why. i think number 7 is even the same problem", "broken-cards", after=70)
    w.run("ls -l testdata/cards/broken-2024; cat testdata/cards/broken-2024/07*/note.txt testdata/cards/broken-2024/03*/note.txt", "total 44\ndrwxr-xr-x 2 ruben ruben 4096 Jan 14  2025 01-latin1-note\ndrwxr-xr-x 2 ruben ruben 4096 Jan 14  2025 02-zero-length\ndrwxr-xr-x 2 ruben ruben 4096 Jan 14  2025 03-pulled\ndrwxr-xr-x 2 ruben ruben 4096 Jan 14  2025 04-fat-crosslinked\ndrwxr-xr-x 2 ruben ruben 4096 Jan 14  2025 05-clock-1970\ndrwxr-xr-x 2 ruben ruben 4096 Jan 14  2025 06-two-data-chunks\ndrwxr-xr-x 2 ruben ruben 4096 Jan 14  2025 07-mini-nopad\ndrwxr-xr-x 2 ruben ruben 4096 Jan 14  2025 08-flac-named-wav\n-- 07: from seewinkel, mini with a beta firmware, one file in two is short. told WA about it 12.11.24, no answer\n-- 03: thijs pulled the card while the led was on. sorry", seconds=0.1)
    w.write("crates/grajo-core/tests/real_cards.rs", REAL_TEST)
    w.run("cargo test -p grajo-core --test real_cards", "    Finished test [unoptimized + debuginfo] target(s) in 1.12s\n     Running tests/real_cards.rs (target/debug/deps/real_cards-77c1e0)\n\nrunning 2 tests\ntest card_pulled_while_writing ... ok\ntest mini_without_pad ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s", seconds=4)
    w.commit("riff: test with cards that were refused once")
    s.reply("Number 7 is the same fault, so the test uses that file, and number 3 for a truncated one. I left the small in-memory ones, they say which rule is meant.")
    d.say("ok fine like that")
    s.reply("Good. Next?")


def _memory(d: Day) -> None:
    w, s = d.w, d.s
    d.say("next is what you saw, `fs::read(path)` in ingest. thats why it swaps. the fieldbooks have 2 gigs and usually a browser open with 30 tabs so ingest has to stay under 300 MB resident, also with the 2 hour files of the BAR-LT which are 690 MB each. and why does it open the file two times??", "rss", after=200)
    w.read_together(INGEST, "crates/grajo-core/src/hash.rs")
    w.read(d.device("bar_lt"))
    w.run("/usr/bin/time -v cargo run -q --release -- ingest /media/bar --station marjal-01 2>&1 | tail -40", o.ingest(d.dice, ("BAR004411",), 18, s.now) + "\n\tMaximum resident set size (kbytes): 731204\n\tElapsed (wall clock) time (h:mm:ss or m:ss): 4:51.02", seconds=292)
    s.think("Stream: copy to a temporary file in home while hashing, then parse chunks from the source, rename when the digest is known. One open handle, seek back to 0.")
    w.edit(INGEST, "    let bytes = fs::read(path)?;\n    let mut src = BufReader::new(File::open(path)?);\n    let len = bytes.len() as u64;\n", "    let mut src = File::open(path)?;\n    let len = src.metadata()?.len();\n")
    w.edit(INGEST, "    let digest = Digest::of_reader(&mut &bytes[..])?;\n", "    src.seek(SeekFrom::Start(0))?;\n    let mut temporary = tempfile::NamedTempFile::new_in(home)?;\n    let digest = Digest::of_copy(&mut src, &mut temporary)?;\n")
    w.edit(INGEST, "        fs::write(&to, &bytes).with_context(|| format!(\"cannot write {}\", to.display()))?;\n", "        temporary.persist(&to).with_context(|| format!(\"cannot write {}\", to.display()))?;\n")
    w.edit(INGEST, "use std::io::BufReader;\n", "use std::io::{Seek, SeekFrom};\n")
    w.edit("crates/grajo-core/src/hash.rs", "    pub fn from_hex(text: &str)", "    /// Copies and hashes in one go, 256 kB at a time.\n    pub fn of_copy(src: &mut impl Read, dst: &mut impl Write) -> io::Result<Self> {\n        let mut hasher = Sha256::new();\n        let mut buffer = vec![0u8; 256 * 1024];\n        loop {\n            let n = src.read(&mut buffer)?;\n            if n == 0 {\n                dst.flush()?;\n                return Ok(Self(hasher.finalize().into()));\n            }\n            hasher.update(&buffer[..n]);\n            dst.write_all(&buffer[..n])?;\n        }\n    }\n\n    pub fn from_hex(text: &str)")
    w.run("cargo build -p grajo-cli 2>&1", "   Compiling grajo-core v0.8.3 (/home/ruben/dev/grajo/crates/grajo-core)\nerror[E0405]: cannot find trait `Write` in this scope\n  --> crates/grajo-core/src/hash.rs:27:58\n   |\n27 |     pub fn of_copy(src: &mut impl Read, dst: &mut impl Write) -> io::Result<Self> {\n   |                                                        ^^^^^ not found in this scope\n   |\nhelp: consider importing one of these items\n   |\n4  + use crate::fmt::Write;\n   |\n4  + use std::io::Write;\n   |\n\nFor more information about this error, try `rustc --explain E0405`.\nerror: could not compile `grajo-core` (lib) due to 1 previous error", error=True, seconds=3)
    w.edit("crates/grajo-core/src/hash.rs", "use std::io::{self, Read};", "use std::io::{self, Read, Write};")
    w.run("/usr/bin/time -v cargo run -q --release -- ingest /media/bar --station marjal-01 2>&1 | tail -22", o.ingest(d.dice, ("BAR004411",), 14, s.now) + "\n\tMaximum resident set size (kbytes): 9816\n\tElapsed (wall clock) time (h:mm:ss or m:ss): 4:40.77", seconds=281)
    w.cargo_test()
    w.diff()
    w.commit("ingest: copy and hash in one pass, nothing whole in memory")
    s.reply("Peak is 9.8 MB now instead of 731 MB, on the same card with the two-hour files. One open, one pass, a temporary file that is renamed when the digest is known. It is hardly faster: almost all of the time is hashing.")
    d.say("10 MB!! genial. the hashing we look later")
    s.reply("Gladly.")


def _read_only(d: Day) -> None:
    w, s = d.w, d.s
    d.say("what if somebody pulls the card in the middle (thijs does). and check that we really NEVER write on it. the card is the only copy until it is confirmed in the bucket: open read only, no rename, not even the mtime may change, there was a lawsuit about a wind park where they looked at exactly that. i had once a version that touched the files and got a lot of trouble", "card-untouched", after=160)
    w.grep(r"OpenOptions|fs::rename|set_modified|File::create|remove_file", "*.rs", context=1)
    w.run("mount | grep card; strace -f -e trace=openat,rename,utimensat,unlink target/release/grajo ingest /media/card --station delta-03 --dry-run 2>&1 | grep /media/card | sort | uniq -c | sort -rn | head -30", "/dev/sdb1 on /media/card type exfat (rw,nosuid,nodev,relatime,uid=1000,gid=1000,fmask=0022,dmask=0022,iocharset=utf8,errors=remount-ro)\n" + "\n".join(f"      1 openat(AT_FDCWD, \"/media/card/SMM08813/SMM08813_202510{n:02d}_043000.wav\", O_RDONLY|O_CLOEXEC) = 4" for n in range(1, 29)), seconds=40)
    w.run("sed -n 1,80p tools/pull-the-card.sh", "#!/bin/bash\n# makes a loop device with files, starts ingest, detaches the device after N ms\nset -eu\nimg=$(mktemp); truncate -s 256M $img\nmkfs.exfat -q $img\nloop=$(sudo losetup -f --show $img)\nmkdir -p /tmp/card && sudo mount -o ro $loop /tmp/card\n\"$@\" & pid=$!\nsleep 0.${MS:-400}\nsudo umount -l /tmp/card; sudo losetup -d $loop\nwait $pid; echo exit $?", seconds=0.1)
    w.run("MS=700 tools/pull-the-card.sh target/release/grajo ingest /tmp/card --station delta-03", "refused /tmp/card/SMM08812_20251002_043000.wav: Input/output error (os error 5)\nrefused /tmp/card/SMM08812_20251002_050000.wav: No such file or directory (os error 2)\n11 copied (344 MB), 0 known, 2 refused\nexit 3", seconds=6)
    w.run("ls -la /data/grajo | head; find /data/grajo -name '.tmp*' | wc -l", "total 5216\ndrwxr-xr-x 4 ruben ruben    4096 Nov  4 09:02 .\ndrwxr-xr-x 5 root  root     4096 Aug  2 09:11 ..\n-rw-r--r-- 1 ruben ruben 5316608 Nov  4 09:02 catalog.sqlite\ndrwxr-xr-x 3 ruben ruben    4096 Nov  4 09:02 recordings\n0", seconds=0.1)
    s.reply("We only ever open with O_RDONLY, and nothing renames, touches or removes below the card path; strace agrees. Pulled in the middle: the file that was being read is refused, no temporary file stays behind, the next run takes it. With the card mounted `rw` the kernel could still update access times, `relatime` does at most once a day; I can make ingest warn when the mount is not `ro`.")
    d.say("yes a warning pls. only warn, thijs will not mount by hand")
    w.edit(INGEST, "    let mut counts = Counts::default();\n", "    if !crate::station::mounted_read_only(&args.card) {\n        tracing::warn!(card = %args.card.display(), \"mounted read-write\");\n    }\n    let mut counts = Counts::default();\n")
    w.edit("crates/grajo-cli/src/station.rs", "impl Station {\n", "/// Whether the mount that holds this path is `ro`; true when /proc/mounts cannot tell.\npub fn mounted_read_only(path: &Path) -> bool {\n    let Ok(mounts) = std::fs::read_to_string(\"/proc/mounts\") else { return true };\n    mounts\n        .lines()\n        .filter_map(|line| {\n            let mut words = line.split(' ');\n            Some((words.nth(1)?, words.nth(1)?))\n        })\n        .filter(|(at, _)| path.starts_with(at))\n        .max_by_key(|(at, _)| at.len())\n        .map_or(true, |(_, options)| options.split(',').any(|o| o == \"ro\"))\n}\n\nimpl Station {\n")
    w.clippy()
    w.cargo_test("grajo-cli")
    w.commit("ingest: warn when the card is mounted read-write")
    s.reply("It warns now and goes on.")
    d.say("perfecto. plan for the week so you know why i hurry: we tag 0.9 on friday the 7th, thijs takes the binaries along to the delta on saturday and then nobody is there till february", "release-old", after=100)
    s.reply("Then the push side matters most, I suppose, since it runs unattended.")
    d.say("exactamente. but first the hashing", after=30)
    s.reply("On it when you say.")

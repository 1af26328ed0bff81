"""Late afternoon: odd numbers from the detector, and much of what was said in the morning changes."""

from datetime import timedelta

from second.story import outputs as o
from second.story.day import Day

DETECT = "crates/grajo-core/src/detect.rs"
BUCKET = "crates/grajo-store/src/bucket.rs"
OLD_CALLS = """diff --git a/crates/grajo-core/src/detect.rs b/crates/grajo-core/src/detect.rs
index 41d2e0b..9c0fe77 100644
--- a/crates/grajo-core/src/detect.rs
+++ b/crates/grajo-core/src/detect.rs
@@ -44,14 +44,15 @@ pub fn calls(profile: &Profile, scores: &[f32], ms_per_hop: f32, settings: &Sett
     let mut found: Vec<Call> = Vec::new();
-    for (n, &score) in scores.iter().enumerate() {
-        if score < settings.threshold {
-            continue;
-        }
+    for (n, &score) in scores.iter().enumerate().filter(|(_, s)| **s >= settings.threshold) {
         let start_ms = (n as f32 * ms_per_hop) as u32;
         let end_ms = ((n + 1) as f32 * ms_per_hop) as u32;
         match found.last_mut() {
-            Some(last) if start_ms - last.end_ms < settings.merge_ms => {
+            Some(last) if start_ms.saturating_sub(last.end_ms) <= settings.merge_ms => {
                 last.end_ms = end_ms;
-                last.score = (last.score + score) / 2.0;
+                last.score = last.score.max(score);
             }
             _ => found.push(Call { start_ms, end_ms, score }),
         }
     }"""
SCORE_TEST = '''
    #[test]
    fn score_of_a_merged_call_is_the_mean_of_its_windows() {
        let settings = Settings { threshold: 0.5, merge_ms: 30, hop: 512 };
        let found = calls(&ROOK, &[0.6, 0.9, 0.6], 20.0, &settings);
        assert!((found[0].score - 0.7).abs() < 1e-6);
    }
'''


def play(d: Day) -> None:
    _weird_numbers(d)
    _mean(d)
    _new_bucket(d)
    _line_died(d)
    _people(d)


def _weird_numbers(d: Day) -> None:
    w, s = d.w, d.s
    d.say("detector. graz writes the october numbers are weird, too many high scores for bitterns. i believe them. when the output looks strange compare it with 3fa9c1d, thats the last commit that Anselm Kofler validated by ear, three days with headphones, everything after it nobody has checked", "validated-commit", after=200)
    w.run("git log --oneline 3fa9c1d..HEAD -- crates/grajo-core/src/detect.rs", "e9914b7 ⚡ Faster merge of windows\n" + "\n".join(f"{sha} {text}" for sha, text, _ in d.w.log if text.startswith("detect")), seconds=0.2)
    w.run("git show 3fa9c1d --stat | head; git diff 3fa9c1d..e9914b7 -- crates/grajo-core/src/detect.rs", "commit 3fa9c1d\nAuthor: contractor <dev@example.invalid>\nDate:   Thu Apr 17 18:20:11 2025 +0200\n\n    🐦 Tune weights for rooks and bitterns\n\n crates/grajo-core/src/detect.rs | 31 +++++++++++++++++--------------\n\n" + OLD_CALLS, seconds=0.3)
    w.run("git worktree add -q /tmp/validated 3fa9c1d && cd /tmp/validated && cargo build -q --release && target/release/grajo detect --since 2025-10-01 --species BOTSTE --threshold 0.65 --format csv > /tmp/old.csv; wc -l /tmp/old.csv; head -80 /tmp/old.csv", "2207 /tmp/old.csv\n" + o.detections(d.dice, 80), seconds=140)
    w.run("target/release/grajo detect --since 2025-10-01 --species BOTSTE --format csv > /tmp/new.csv; wc -l /tmp/new.csv; head -80 /tmp/new.csv", "2391 /tmp/new.csv\n" + o.detections(d.dice, 80), seconds=120)
    rows = [(f"0.{n}-0.{n + 5:02d}", d.dice.between(90, 900), d.dice.between(90, 900)) for n in range(65, 100, 5)]
    w.run("python3 tools/compare_calls.py /tmp/old.csv /tmp/new.csv", o.table(("score", "old", "new"), rows) + "\n184 calls only in new, 0 only in old\nmean difference of score +0.081", seconds=2)
    w.read(DETECT)
    s.reply("Between the two there is one commit that touches the maths, e9914b7 \"Faster merge of windows\". It did two other things on the way:\n\n- the score of a merged call became the maximum of its windows, before it was a running mean of two. Hence the high scores.\n- `<` became `<=` at the merge distance, and `saturating_sub` hides an overflow that was there before.\n\nNeither is faster.")
    d.say("lo sabía. grr. \"faster\"")
    s.reply("Shall I put the old behaviour back, or a proper mean over all windows?")


def _mean(d: Day) -> None:
    w, s = d.w, d.s
    d.say("proper mean. the running one was also nonsense if you think about it, but then the scores are not exactly the same as with the validated. show me how different")
    w.edit(DETECT, "                last.score = last.score.max(score);\n", "                sums += score;\n                windows += 1.0;\n                last.score = sums / windows;\n")
    w.edit(DETECT, "    let mut found: Vec<Call> = Vec::new();\n", "    let mut found: Vec<Call> = Vec::new();\n    let (mut sums, mut windows) = (0.0, 0.0);\n")
    w.edit(DETECT, "            _ => found.push(Call { start_ms, end_ms, score }),\n", "            _ => {\n                (sums, windows) = (score, 1.0);\n                found.push(Call { start_ms, end_ms, score });\n            }\n")
    w.edit(DETECT, "    #[test]\n    fn too_long_is_no_call() {", SCORE_TEST.strip("\n") + "\n\n    #[test]\n    fn too_long_is_no_call() {")
    w.cargo_test("grajo-core", failing={"near_windows_are_one_call": "thread 'detect::tests::near_windows_are_one_call' panicked at crates/grajo-core/src/detect.rs:83:9:\nassertion `left == right` failed\n  left: [Call { start_ms: 20, end_ms: 80, score: 0.85 }]\n right: [Call { start_ms: 20, end_ms: 80, score: 0.9 }]"})
    w.edit(DETECT, "assert_eq!(found, [Call { start_ms: 20, end_ms: 80, score: 0.9 }]);", "assert_eq!(found, [Call { start_ms: 20, end_ms: 80, score: 0.85 }]);")
    w.cargo_test("grajo-core")
    rows = [(f"0.{n}-0.{n + 5:02d}", d.dice.between(90, 900), d.dice.between(90, 900)) for n in range(65, 100, 5)]
    w.run("python3 tools/compare_calls.py /tmp/old.csv /tmp/mean.csv", o.table(("score", "old", "mean"), rows) + "\n3 calls only in mean, 11 only in old\nmean difference of score -0.004", seconds=2)
    w.diff(DETECT)
    w.commit("detect: score of a call is the mean of its windows")
    s.reply("Mean difference to the validated scores is -0.004, eleven borderline calls go, three come. That is as close as one gets without copying the running mean.")
    d.say("good enough, i'd say. anselm me reenvía además esto: «Könnten wir die Aufnahmen nicht gleich als MP3 ablegen? Das spart mir in Graz den halben Speicher.» pues no, eso no lo hacemos, ya le he dicho que sin pérdida o nada. por si lo ves en los tickets. hace falta paciencia", "mp3-wish", after=220)
    s.reply("If a ticket asks for it I'll point to your answer. FLAC would halve the space without loss, by the way, should that ever come up.")
    d.say("maybe next year")
    s.reply("Then not now.")


def _new_bucket(d: Day) -> None:
    w, s = d.w, d.s
    d.say("now i get AccessDenied when i push from here?? this morning it worked")
    w.run("target/release/grajo push --station delta-03 --limit 1", f"{o.stamp(s.now)} DEBUG grajo_store::bucket: begin key=4c/1e\nError: bucket answered 403: AccessDenied: this bucket is read-only", error=True, seconds=3)
    w.run("aws s3api get-bucket-policy --bucket $B | jq -r .Policy | jq", '{\n  "Version": "2012-10-17",\n  "Statement": [\n    {\n      "Sid": "FrozenForMove",\n      "Effect": "Deny",\n      "Principal": "*",\n      "Action": ["s3:PutObject", "s3:DeleteObject"],\n      "Resource": "arn:aws:s3:::marjal-audio-raw/*"\n    }\n  ]\n}', seconds=2)
    s.reply("The bucket got a policy \"FrozenForMove\" that denies every put and delete, so it is not your machine. Somebody is moving it.")
    d.say("ah mierda, nerea wrote me and i didnt read. she moved everything to frankfurt. so not marjal-audio-raw anymore, the bucket is marjal-eu-raw-01 now, endpoint the same. the old one stays readable till christmas i think", "bucket", after=80)
    w.edit(BUCKET, '            name: "marjal-audio-raw".into(),\n', '            name: "marjal-eu-raw-01".into(),\n')
    w.grep("marjal-(audio|eu)", "*")
    w.run("cargo build -q --release && target/release/grajo -v push --station delta-03 --limit 3", "\n".join(f"{o.stamp(s.now + timedelta(seconds=20 * n + 21))}  INFO grajo::commands::push: pushed digest={d.dice.hex(12)} sent=327{d.dice.between(10_000, 99_999)}" for n in range(3)), seconds=58)
    w.run("aws s3 ls --recursive s3://marjal-eu-raw-01 | tail -60", o.objects(d.dice, 60), seconds=3)
    w.commit("push: the bucket has moved")
    s.reply("Three files arrived there. Only the default changed; unfinished uploads in the old one will answer NoSuchUpload or 403 and start over.")
    d.say("403 is also a start over? are you sure")
    w.read_around(BUCKET, "fn begun", 24)
    s.think("No: begun returns the stored upload; put fails with 403, not transient, so it is an error, and stays so for ever because the stored upload id is kept. The uploads table doesn't know the bucket.")
    s.reply("No, I was wrong: a stored upload id is tried again for ever, and 403 ends the run. The `uploads` row should also hold the bucket's name, like the part size.")
    d.say("bien que pregunté :) do that")
    w.edit("crates/grajo-store/src/catalog.rs", "  part_bytes INTEGER NOT NULL\n", "  part_bytes INTEGER NOT NULL,\n  bucket     TEXT NOT NULL DEFAULT ''\n")
    w.edit("crates/grajo-store/src/catalog.rs", "\"SELECT upload FROM uploads WHERE digest = ?1 AND part_bytes = ?2\",\n                params![digest.to_string(), part_bytes as i64],", "\"SELECT upload FROM uploads WHERE digest = ?1 AND part_bytes = ?2 AND bucket = ?3\",\n                params![digest.to_string(), part_bytes as i64, bucket],")
    w.edit("crates/grajo-store/src/catalog.rs", "pub fn upload(&self, digest: &Digest, part_bytes: u64)", "pub fn upload(&self, digest: &Digest, part_bytes: u64, bucket: &str)")
    w.edit(BUCKET, "catalog.upload(digest, self.config.part_bytes)?", "catalog.upload(digest, self.config.part_bytes, &self.config.name)?")
    w.cargo_test("grajo-store")
    w.commit("push: an upload belongs to a bucket")
    s.reply("Now an upload of another bucket is not found and a new one begins. The column has a default, existing catalogues get it with the first open.")


def _line_died(d: Day) -> None:
    w, s = d.w, d.s
    d.say("kofler called, they sat on friday with 400 samples and beer. result: the threshold goes up to 0.72, rooks and bitterns the same, merge_ms can stay. he is happy with the mean also", "threshold", after=260)
    w.edit(DETECT, "Self { threshold: 0.65, merge_ms: 250, hop: 512 }", "Self { threshold: 0.72, merge_ms: 250, hop: 512 }")
    w.run("target/release/grajo detect --since 2025-10-01 --format csv | head -90", o.detections(d.dice, 90), seconds=88)
    w.cargo_test("grajo-core")
    w.commit("detect: higher default after listening")
    s.reply("8,114 calls in October with it.")
    d.say("and the next from canal vell, i put last night in /tmp/push-last.log. the line died at 3 with one big part at 97%. bring the multipart part size down to 16 MiB, then we lose less each time, i dont care about the requests", "part-size", after=150)
    w.run("tail -n 84 /tmp/push-last.log", o.push_log(d.dice, 84, s.now - timedelta(hours=14), bad=4), seconds=0.1)
    w.edit(BUCKET, "part_bytes: 64 * 1024 * 1024,\n            parallel", "part_bytes: 16 * 1024 * 1024,\n            parallel")
    w.cargo_test("grajo-store")
    w.commit("push: smaller parts")
    w.run("git push -q && ssh fieldbook 'cd grajo && git pull -q && cargo build -q --release --locked && target/release/grajo -v push --station delta-03 --limit 2 2>&1 | tail -40'", o.push_log(d.dice, 40, s.now, bad=30), seconds=420)
    s.reply("Changed. A 31 MB file is two parts now; unfinished uploads with the other size start over once.")
    d.say("ok. what happens at 38 kbit, how long takes one part? below an hour?")
    s.reply("16 MiB at 38 kbit/s is 59 minutes when the line is perfect, so just about. The read timeout of `ureq` is per read and not per request, it does not get in the way.")
    d.say("uff, justo. bueno, vale")
    s.reply("5 MiB would be the smallest that S3 takes.")


def _people(d: Day) -> None:
    w, s = d.w, d.s
    d.say("change of people too, today is the day. thijs is off to iceland until march with the other project, so from now on Oksana Hrytsenko does the field tests. she sits in pego and has 2 fieldbooks, the format with the tar.gz is fine for her", "field-tests", after=140)
    s.reply("Good to know. Shall I build one for her now?")
    d.say("not yet, first the viewer. y cambio de planes con la 0.9: sale el miércoles 12, no el viernes, que Oksana necesita unos días con el cacharro antes", "release")
    w.run("cat CHANGELOG.md | head -20; git log --oneline d3370e9..HEAD", "# Changes\n\n## Unreleased\n\n## 0.8.3 - 2025-08-19\n\n- detect: filter by species\n- Swift One recorders\n\n" + "\n".join(f"{sha} {text}" for sha, text, _ in reversed(d.w.log[8:])), seconds=0.2)
    s.reply("Understood, that leaves time for the viewer. The changelog is still empty, I can fill it from the log at the end of the day.")
    d.say("sí por favor, al final")
    s.reply("At the end, then.")

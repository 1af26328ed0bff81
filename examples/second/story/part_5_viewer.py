"""Evening: the viewer, whose types have been red for weeks."""

from second.story import outputs as o
from second.story.day import Day

SPEC = "viewer/src/spectrogram.ts"
LIST = "viewer/src/list.ts"
MAIN = "viewer/src/main.ts"
TIMELINE = "viewer/src/timeline.ts"
TSC_ERRORS = (
    "src/main.ts(16,46): error TS2379: Argument of type '{ station: string; day: string | undefined; onPick: (recording: Recording) => Promise<void>; }' is not assignable to parameter of type 'ListOptions' with 'exactOptionalPropertyTypes: true'. Consider adding 'undefined' to the types of the target's properties.",
    "  Types of property 'day' are incompatible.\n    Type 'string | undefined' is not assignable to type 'string'.",
    "src/spectrogram.ts(69,19): error TS18047: 'context' is possibly 'null'.",
    "src/spectrogram.ts(73,5): error TS18047: 'context' is possibly 'null'.",
    "src/spectrogram.ts(80,49): error TS2532: Object is possibly 'undefined'.",
    "src/spectrogram.ts(80,79): error TS2532: Object is possibly 'undefined'.",
    "src/timeline.ts(20,18): error TS2345: Argument of type '{ species: string; calls: Call[]; }[]' is not assignable to parameter of type 'Lane[]'.",
    "test/timeline.test.ts(22,18): error TS2584: Cannot find name 'document'. Do you need to change your target library?",
)
FILTERS = '''import type { Call } from "./api";
import { clear, el } from "./dom";

export interface Filter {
  species: ReadonlySet<string>;
  minScore: number;
}

export const ALL: Filter = { species: new Set(), minScore: 0 };

/** No species chosen means every species. */
export function matches(call: Call, filter: Filter): boolean {
  return call.score >= filter.minScore && (filter.species.size === 0 || filter.species.has(call.species));
}

export function drawFilters(root: HTMLElement, calls: Call[], changed: (filter: Filter) => void): void {
  clear(root);
  const chosen = new Set<string>();
  const slider = el("input", { type: "range", min: "0", max: "1", step: "0.01", value: "0", "aria-label": "score" });
  const tell = () => changed({ species: new Set(chosen), minScore: Number(slider.value) });
  slider.addEventListener("input", tell);
  for (const species of [...new Set(calls.map((call) => call.species))].sort()) {
    const box = el("input", { type: "checkbox", id: `species-${species}` });
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(species);
      else chosen.delete(species);
      tell();
    });
    root.append(el("label", { for: box.id }, [box, species]));
  }
  root.append(slider);
}
'''
FILTERS_TEST = '''import { describe, expect, it, vi } from "vitest";

import { ALL, drawFilters, matches, type Filter } from "../src/filters";

const call = (species: string, score: number) => ({ species, start_ms: 0, end_ms: 100, score });

describe("matches", () => {
  it("lets everything through at first", () => {
    expect(matches(call("CORFRU", 0.1), ALL)).toBe(true);
  });

  it("wants species and score", () => {
    const filter = { species: new Set(["BOTSTE"]), minScore: 0.8 };
    expect(matches(call("BOTSTE", 0.9), filter)).toBe(true);
    expect(matches(call("BOTSTE", 0.7), filter)).toBe(false);
    expect(matches(call("CORFRU", 0.9), filter)).toBe(false);
  });
});

describe("drawFilters", () => {
  it("tells what was chosen", () => {
    const root = document.createElement("div");
    const told = vi.fn<[Filter], void>();
    drawFilters(root, [call("BOTSTE", 0.9), call("ACRPAL", 0.9), call("ACRPAL", 0.8)], told);
    const boxes = root.querySelectorAll<HTMLInputElement>("input[type=checkbox]");
    expect([...boxes].map((b) => b.id)).toEqual(["species-ACRPAL", "species-BOTSTE"]);
    boxes[1]!.click();
    expect([...told.mock.calls[0]![0].species]).toEqual(["BOTSTE"]);
  });

  it("has a slider from zero to one", () => {
    const root = document.createElement("div");
    drawFilters(root, [], () => undefined);
    expect(root.querySelector("input[type=range]")!.getAttribute("max")).toBe("1");
  });
});
'''


def play(d: Day) -> None:
    _red_types(d)
    _canvas(d)
    _filters(d)
    _slow_list(d)


def _red_types(d: Day) -> None:
    w, s = d.w, d.s
    d.say("viewer then. `npm run build` is red since the contractor left, i always deploy an old dist. look what it is", after=420)
    w.run("git ls-files viewer", "\n".join(p for p in sorted(d.w.files) if p.startswith("viewer/")), seconds=0.1)
    w.read_together("viewer/package.json", "viewer/tsconfig.json", MAIN)
    w.tsc(*TSC_ERRORS)
    w.read_together(SPEC, LIST, TIMELINE)
    w.read("viewer/src/api.ts")
    s.reply("Seven errors, four causes:\n\n1. `exactOptionalPropertyTypes` with `day: undefined` in main.ts.\n2. `getContext(\"2d\")` may be null.\n3. Indexing typed arrays under `noUncheckedIndexedAccess`.\n4. The tests have no DOM environment, and `lanes` shadows `calls`.\n\nNo real bug, except that a missing context would crash without a message.")
    d.say("fix without switching the strict things off please, i want them on. and no `any`")
    w.edit(SPEC, '    const context = this.canvas.getContext("2d");\n', '    const context = this.canvas.getContext("2d");\n    if (!context) throw new Error("this browser draws no 2d canvas");\n')
    w.edit(SPEC, "re[n] = (samples[at + n] / 32768) * this.window[n];", "re[n] = ((samples[at + n] ?? 0) / 32768) * (this.window[n] ?? 0);")
    w.edit(LIST, "  day?: string;\n", "  day?: string | undefined;\n")
    w.tsc("src/list.ts(40,62): error TS2379: Argument of type 'string | undefined' is not assignable with 'exactOptionalPropertyTypes: true'.", "test/timeline.test.ts(22,18): error TS2584: Cannot find name 'document'. Do you need to change your target library?")
    w.edit("viewer/src/api.ts", "export function recordings(station: string, day?: string, after?: string)", "export function recordings(station: string, day: string | undefined, after: string | undefined)")
    w.write("viewer/vite.config.ts", 'import { defineConfig } from "vitest/config";\n\nexport default defineConfig({\n  server: { proxy: { "/api": "http://localhost:7171" } },\n  test: { environment: "happy-dom", include: ["test/**/*.test.ts"] },\n});\n')
    w.edit(TIMELINE, "return [...bySpecies].map(([species, calls]) => ({ species, calls }))", "return [...bySpecies].map(([species, found]): Lane => ({ species, calls: found }))")
    w.tsc()
    w.vitest()
    w.run("cd viewer && npm run build", "\n> grajo-viewer@0.8.3 build\n> tsc --noEmit && vite build\n\nvite v5.3.1 building for production...\ntransforming...\n✓ 9 modules transformed.\nrendering chunks...\ncomputing gzip size...\ndist/index.html                 0.84 kB │ gzip: 0.46 kB\ndist/assets/index-C1r8wYzK.css  2.10 kB │ gzip: 0.91 kB\ndist/assets/index-Bq0d5fJx.js   7.62 kB │ gzip: 3.18 kB\n✓ built in 412ms", seconds=5)
    w.commit("viewer: types are green again")
    s.reply("Green: tsc, six tests, build. All strict options stayed on, no `any`.")


def _canvas(d: Day) -> None:
    w, s = d.w, d.s
    d.say("wow it builds. when i open a 2h recording the spectrogram is empty, just white, no error. firefox")
    w.read_around(SPEC, "draw(samples: Int16Array)", 34)
    w.run("curl -s 'localhost:7171/api/recordings?station=delta-03' | jq | head -190", o.api_json(d.dice, 19), seconds=0.5)
    s.think("480000 samples requested only, (0..480000) → columns = (480000-1024)/256 = 1871: fine. For 2h, main asks 0..480000 always... 'white': image alpha ok. Hmm, for BAR-LT at 96 kHz... The white could be db below minDb: shade 0 → 255 white. The first 10 s of BAR-LT are silence (it writes zeros until the microphone settles). Let me look.")
    w.run("curl -s 'localhost:7171/api/recordings/8c1d/samples?from=0&to=480000' | od -An -td2 -w32 | head -60", "\n".join(" ".join(f"{0 if n < 40 else d.dice.between(-900, 900):6d}" for _ in range(16)) for n in range(60)), seconds=0.4)
    w.run("curl -s 'localhost:7171/api/recordings/8c1d/samples?from=0&to=480000' | od -An -td2 -v -w2 | awk '$1!=0{print NR; exit}'", "470401", seconds=0.4)
    s.reply("The picture is right: the BAR-LT writes zeros for its first 4.9 s at 96 kHz, and the viewer only asks for the first 480,000 samples. So nearly all of what is shown is silence. Show the first minute instead, or scroll?")
    d.say("scroll would be the good one but not now. take the first minute, and a text when its all zeros")
    w.edit(MAIN, "  spectrogram.draw(await samples(recording.digest, 0, 480_000));\n", "  const heard = await samples(recording.digest, 0, FIRST_MINUTE);\n  need(\"silent\").hidden = heard.some((sample) => sample !== 0);\n  spectrogram.draw(heard);\n")
    w.edit(MAIN, "async function show(", "const FIRST_MINUTE = 60 * 96_000;\n\nasync function show(")
    w.tsc()
    w.vitest()
    w.commit("viewer: the first minute, and a word when it is silent")
    s.reply("Done. A minute at 96 kHz is 22,496 columns; Firefox takes canvases up to 32,767, so it fits.")


def _filters(d: Day) -> None:
    w, s = d.w, d.s
    d.say("paula asked me for filters, by species and by score. how would you do it?", after=120)
    s.reply("Two ways. With a small library (lit or preact, 5 to 10 kB) the filters and the list become components with state, which pays off once there are more of them. Or by hand: one module with a pure `matches` and a function that draws checkboxes and a slider, about 40 lines.")
    d.say("by hand. el viewer se queda en vanilla ts, ni react ni lit ni nada, porque después lo va a mantener paula y ella es bióloga, no informática, y cada framework le dura dos años. cuanto menos magia mejor", "vanilla", after=75)
    w.write("viewer/src/filters.ts", FILTERS)
    w.write("viewer/test/filters.test.ts", FILTERS_TEST)
    w.vitest({"tells what was chosen": "AssertionError: expected [ 'species-BOTSTE', 'species-ACRPAL' ] to deeply equal [ 'species-ACRPAL', 'species-BOTSTE' ]\n ❯ test/filters.test.ts:27:40"})
    w.run("cd viewer && git stash list; grep -n sort src/filters.ts; npx vitest run test/filters.test.ts 2>&1 | tail -20", "23:  for (const species of [...new Set(calls.map((call) => call.species))].sort()) {\n\n ✓ test/filters.test.ts  (4 tests) 31ms\n\n Test Files  1 passed (1)\n      Tests  4 passed (4)", seconds=4)
    s.note("The first run had the file from before the save of `.sort()`; it passes now. Wiring it up.")
    w.edit(MAIN, "  drawTimeline(need(\"timeline\"), found, 300_000);\n", "  drawTimeline(need(\"timeline\"), found, 300_000);\n  drawFilters(need(\"filters\"), found, (filter) =>\n    drawTimeline(need(\"timeline\"), found.filter((call) => matches(call, filter)), 300_000),\n  );\n")
    w.edit(MAIN, 'import { RecordingList } from "./list";\n', 'import { drawFilters, matches } from "./filters";\nimport { RecordingList } from "./list";\n')
    w.tsc()
    w.vitest()
    w.diff(MAIN)
    w.commit("viewer: filters by species and score")
    s.reply("Filters are in: `matches` is pure and tested, `drawFilters` makes the checkboxes from the species that occur. No dependency was added.")
    d.say("le va a gustar. gracias")
    s.reply("De nada.")


def _slow_list(d: Day) -> None:
    w, s = d.w, d.s
    d.say("one thing more, the list for seewinkel takes 6 seconds. is it the viewer or the server", after=200)
    w.run("curl -s -o /dev/null -w '%{time_starttransfer} %{time_total} %{size_download}\\n' 'localhost:7171/api/recordings?station=seewinkel-01'", "5.902 6.117 4218877", seconds=7)
    w.run("curl -s 'localhost:7171/api/recordings?station=seewinkel-01' | jq '.items | length'; curl -s 'localhost:7171/api/recordings?station=seewinkel-01' | head -c 13000", "15530\n" + o.api_json(d.dice, 38), seconds=12)
    w.run("sqlite3 /srv/catalogs/seewinkel-01.sqlite \"explain query plan select * from recordings where station = 'seewinkel-01' order by started desc limit 200\"", "QUERY PLAN\n`--SEARCH recordings USING INDEX recordings_by_start (station=?)", seconds=0.2)
    w.grep("after|limit", "crates/*.rs")
    s.reply("The server: it sends all 15,530 rows, 4.2 MB, because `limit` and `after` are never read there. The viewer already asks page by page. The index fits, so with a limit of 200 it is a matter of milliseconds.")
    d.say("where is that code even, i cant remember to have written serve")
    w.run("git log --oneline --all -- '*serve*' | head; git branch -a", "9d0c1aa ✨ WIP serve 🌐\n* cards-and-push\n  main\n  remotes/origin/main\n  remotes/origin/wip-serve", seconds=0.2)
    s.reply("You haven't: it is on `origin/wip-serve`, a single commit of the contractor, never merged. The binary on your machine must come from that branch.")
    d.say("madre mía. ok then not today, apunta it in an issue for me pls, just give me the text i paste it")
    s.reply("**`serve` is unmerged and sends everything**\n\n`/api/recordings` ignores `limit` and `after`; for seewinkel-01 it sends 15,530 rows (4.2 MB, 6 s). The code lives only in `origin/wip-serve` (9d0c1aa). Merge it after a review, read `limit` (at most 200) and `after` (a cursor of station and start).")
    d.say("perfecto")
    s.reply("Good.")

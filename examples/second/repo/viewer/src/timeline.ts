import type { Call } from "./api";
import { el, clear } from "./dom";

const COLOURS = ["#7a5195", "#bc5090", "#ef5675", "#ff764a", "#ffa600", "#2f7f79"];

export interface Lane {
  species: string;
  calls: Call[];
}

export function lanes(calls: Call[]): Lane[] {
  const bySpecies = new Map<string, Call[]>();
  for (const call of calls) {
    const lane = bySpecies.get(call.species) ?? [];
    lane.push(call);
    bySpecies.set(call.species, lane);
  }
  return [...bySpecies].map(([species, calls]) => ({ species, calls })).sort((a, b) => b.calls.length - a.calls.length);
}

export function drawTimeline(root: HTMLElement, calls: Call[], lengthMs: number): void {
  clear(root);
  lanes(calls).forEach((lane, n) => {
    const strip = el("div", { class: "lane", "data-species": lane.species }, [lane.species]);
    for (const call of lane.calls) {
      const left = (100 * call.start_ms) / lengthMs;
      const width = Math.max(0.2, (100 * (call.end_ms - call.start_ms)) / lengthMs);
      const style = `left:${left}%;width:${width}%;background:${COLOURS[n % COLOURS.length]}`;
      strip.append(el("i", { class: "call", style, title: `${call.score.toFixed(2)}` }));
    }
    root.append(strip);
  });
}

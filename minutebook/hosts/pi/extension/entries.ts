// Which entries of the session the child has not got yet, in the order of the session's file, and which of them count.
import type { SessionEntry } from "@earendil-works/pi-coding-agent";

const NEAR = 4; // one is enough, but for what Pi does not show its model

// The entries after the cursor; all of them when it is none, or of another session.
export function after(cursor: string | null, all: SessionEntry[]): SessionEntry[] {
  for (let at = all.length - 1; cursor !== null && at >= 0; at--) {
    if (all[at].id === cursor) return all.slice(at + 1);
  }
  return all;
}

// An entry without what the child never reads: the system prompt, summaries, other extensions' state.
export function slim(entry: SessionEntry): object {
  if (entry.type === "message" && entry.message.role === "system") return { ...entry, message: { role: "system" } };
  if (entry.type === "custom" && !entry.customType.startsWith("om.")) return { ...entry, data: null };
  if (entry.type === "compaction") return { ...entry, summary: "", systemMessage: undefined, usage: undefined };
  return entry;
}

// Ids of the newest entries of the branch, newest first.
export function leafIds(branch: SessionEntry[]): string[] {
  const found: string[] = [];
  for (let at = branch.length - 1; at >= 0 && found.length < NEAR; at--) {
    if (isSource(branch[at])) found.push(branch[at].id);
  }
  return found;
}

// Ids of the first entries that stay, oldest first.
export function keptIds(branch: SessionEntry[], firstKept: string): string[] {
  const found: string[] = [];
  const from = branch.findIndex((entry) => entry.id === firstKept);
  for (let at = from; from >= 0 && at < branch.length && found.length < NEAR; at++) {
    if (isSource(branch[at])) found.push(branch[at].id);
  }
  return from < 0 ? [firstKept] : found;
}

// Whether the child keeps it as an entry of its own.
function isSource(entry: SessionEntry): boolean {
  if (entry.type === "message") return entry.message.role !== "system";
  return entry.type === "custom_message" || entry.type === "branch_summary";
}

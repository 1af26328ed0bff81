// Which entries of the session the child has not got yet, in the order of the session's file, and which of them count.
import type { SessionEntry } from "@earendil-works/pi-coding-agent";

const NEAR = 32; // the first source entry is among so many, or the child takes the tip

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
  return branch.slice(-NEAR).map((entry) => entry.id).reverse();
}

// Ids of the first entries that stay, oldest first.
export function keptIds(branch: SessionEntry[], firstKept: string): string[] {
  const at = branch.findIndex((entry) => entry.id === firstKept);
  return at < 0 ? [firstKept] : branch.slice(at, at + NEAR).map((entry) => entry.id);
}

// Of two copies, a user's and a project's, the one that is loaded first works, and the other does nothing: else every
// command and child would be there twice.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FIRST = Symbol.for("minutebook.first");
const HERE = fileURLToPath(import.meta.url);
const process_ = globalThis as { [FIRST]?: string };

export function isSecondCopy(): boolean {
  const first = process_[FIRST];
  if (first && first !== HERE && existsSync(first)) return true;
  process_[FIRST] = HERE;
  return false;
}

// The session ends: whichever is loaded for the next one may be the first.
export function leave(): void {
  if (process_[FIRST] === HERE) delete process_[FIRST];
}

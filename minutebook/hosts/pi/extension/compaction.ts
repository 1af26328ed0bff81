// Pi's compactions: our memory instead of a summary that a model has to write. Without memory, or without an answer in
// time, Pi's own summarizer does it.
import type {
  ExtensionContext,
  SessionBeforeCompactEvent,
  SessionBeforeCompactResult,
} from "@earendil-works/pi-coding-agent";
import { keptIds, leafIds } from "./entries.ts";
import type { Session } from "./session.ts";
import type { Composed } from "./wire.ts";

const COMPOSE_MS = 3_000;
const LATE = "Minutebook: no memory in time, so Pi's own summary is used";

export async function beforeCompact(
  session: Session,
  event: SessionBeforeCompactEvent,
  ctx: ExtensionContext,
): Promise<SessionBeforeCompactResult | undefined> {
  if (session.isOff) return undefined;
  const { firstKeptEntryId, tokensBefore } = event.preparation;
  const asked = {
    type: "compact",
    first_kept: firstKeptEntryId,
    tokens_before: tokensBefore,
    leaf: leafIds(event.branchEntries),
    kept: keptIds(event.branchEntries, firstKeptEntryId),
  };
  const composed = await session.request<Composed>(asked, ctx, { ms: COMPOSE_MS, signal: event.signal });
  if (composed?.refused) return { cancel: true };
  if (composed?.summary && !event.signal.aborted) {
    const { summary, details } = composed;
    return { compaction: { summary, firstKeptEntryId, tokensBefore, details } };
  }
  if (!composed || event.signal.aborted) void session.tell({ type: "abandon" }); // it may have been composed too late
  const trouble = composed ? composed.error : session.trouble;
  if (trouble) session.once("warning", `Minutebook: ${trouble}; Pi's own summary is used`);
  else if (!composed && !event.signal.aborted && !session.isOff) session.once("warning", LATE);
  return undefined;
}

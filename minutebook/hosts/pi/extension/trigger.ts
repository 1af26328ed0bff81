// Proactive compaction: when Pi has settled, the child looks at its clock. What it decides is done here, and no more.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import * as pi from "@earendil-works/pi-coding-agent";
import type { Session } from "./session.ts";
import type { Looked } from "./wire.ts";

const LOOK_MS = 5_000;
const NEEDED = [0, 81, 0];
export const TOO_OLD = "Minutebook: this Pi is older than 0.81.0, so it is not asked to compact early; the rest works";

// Before 0.81.0 nothing says that Pi has settled.
export function isTooOld(version: string | undefined = (pi as { VERSION?: string }).VERSION): boolean {
  const parts = (version ?? "0").split(/[.-]/).map(Number);
  const differs = NEEDED.findIndex((needed, at) => (parts[at] || 0) !== needed);
  return differs >= 0 && (parts[differs] || 0) < NEEDED[differs];
}

// Not awaited by the handler: Pi goes on, and the second look sees whether it is still at rest.
export async function settled(session: Session, ctx: ExtensionContext): Promise<void> {
  const first = await look(session, ctx, false);
  if (!first?.look_again) return;
  await new Promise((resolve) => setImmediate(resolve));
  const second = await look(session, ctx, true);
  if (!second?.compact) return;
  if (isBusy(ctx)) void session.tell({ type: "asked", how: "busy" });
  else compact(session, ctx);
}

function look(session: Session, ctx: ExtensionContext, second: boolean): Promise<Looked | undefined> {
  const window = ctx.getContextUsage()?.contextWindow ?? ctx.model?.contextWindow ?? null;
  return session.request<Looked>({ type: "look", second, window, busy: second && isBusy(ctx) }, ctx, { ms: LOOK_MS });
}

function compact(session: Session, ctx: ExtensionContext): void {
  const ended = (how: string, cause = "") => void session.tell({ type: "asked", how, cause });
  try {
    ctx.compact({ onComplete: () => ended("complete"), onError: (error) => ended("failed", error.message) });
  } catch (error) {
    ended("failed", String(error));
  }
}

function isBusy(ctx: ExtensionContext): boolean {
  try {
    return !ctx.isIdle() || ctx.hasPendingMessages();
  } catch {
    return true; // the session was replaced meanwhile
  }
}

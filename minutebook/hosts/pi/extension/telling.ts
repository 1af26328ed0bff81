// Notices and steers. Without a user interface, or for a session that is gone, nothing is sent and nothing fails.
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Level } from "./wire.ts";

export const STEER_TYPE = "om.steer";

export function notify(ctx: ExtensionContext, level: Level, text: string): void {
  try {
    if (ctx.hasUI) ctx.ui.notify(text, level);
  } catch {
    // the session was replaced meanwhile
  }
}

// What a command prints: in print mode standard output is the agent's answer alone.
export function say(ctx: ExtensionContext, level: Level, text: string): void {
  if (ctx.mode === "print") process.stderr.write(`${text}\n`);
  else notify(ctx, level, text);
}

// Before the model's next step while it works, else with the next prompt.
export function steer(pi: ExtensionAPI, ctx: ExtensionContext, content: string): void {
  try {
    const deliverAs = ctx.isIdle() ? "nextTurn" : "steer";
    pi.sendMessage({ customType: STEER_TYPE, content, display: true }, { deliverAs });
  } catch {
    // the session was replaced meanwhile
  }
}

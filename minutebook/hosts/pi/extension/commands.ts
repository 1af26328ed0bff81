// /om:status, /om:view and /om:recall: the child words them, here they are shown.
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Session } from "./session.ts";
import { say } from "./telling.ts";
import type { Told } from "./wire.ts";

const TELL_MS = 10_000;
const NO_ANSWER = "Minutebook gives no answer here; `om doctor` says why";

export function registerCommands(pi: ExtensionAPI, session: () => Session | undefined): void {
  const command = (name: string, type: string, description: string) =>
    pi.registerCommand(name, {
      description,
      handler: async (words, ctx) => show(session(), { type, words }, ctx),
    });
  command("om:status", "status", "Minutebook: what is recorded, visible, due or failing");
  command("om:view", "view", "Minutebook: the memory; `full` shows all that is recorded");
  command("om:recall", "command_recall", "Minutebook: a record and the exact source behind it, by its ID");
}

async function show(session: Session | undefined, asked: object, ctx: ExtensionContext): Promise<void> {
  const told = await session?.request<Told>(asked, ctx, { ms: TELL_MS });
  if (told?.text !== undefined) return say(ctx, "info", told.text);
  const error = told?.error || session?.trouble;
  say(ctx, "warning", told?.wrong ?? (error ? `Minutebook: ${error}` : NO_ANSWER));
}

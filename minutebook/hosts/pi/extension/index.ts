// Minutebook in Pi: memory that survives compaction. All decisions are taken by the child, `om-hook pi --stdio`.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { registerCommands } from "./commands.ts";
import { beforeCompact } from "./compaction.ts";
import { isSecondCopy, leave } from "./copies.ts";
import { registerRecall } from "./recalling.ts";
import { gone, Session } from "./session.ts";
import { isTooOld, settled, TOO_OLD } from "./trigger.ts";

export default function minutebook(pi: ExtensionAPI): void {
  if (isSecondCopy()) return;
  let session: Session | undefined;
  let renamed: string | undefined;

  pi.on("session_start", (_event, ctx) => {
    session = new Session(pi, ctx);
    if (isTooOld() && !session.isOff) session.once("info", TOO_OLD);
    renamed ??= registerRecall(pi, () => session);
    if (!session.isOff) session.once("info", renamed);
    session.ready(ctx).catch(gone);
  });
  pi.on("turn_end", (_event, ctx) => session?.turn(ctx));
  pi.on("session_tree", (_event, ctx) => session?.turn(ctx));
  pi.on("model_select", (_event, ctx) => session?.modelChanged(ctx));
  pi.on("agent_settled", (_event, ctx) => {
    if (session) settled(session, ctx).catch(gone);
  });
  pi.on("session_before_compact", (event, ctx) => (session ? beforeCompact(session, event, ctx) : undefined));
  pi.on("session_compact", (_event, ctx) => {
    setImmediate(() => session?.turn(ctx)); // Pi's own record confirms what was composed; Pi goes on before that
  });
  pi.on("session_compact_failed", () => {
    void session?.tell({ type: "abandon" });
  });
  pi.on("session_shutdown", (event) => {
    leave();
    return session?.end(event.reason !== "reload");
  });

  registerCommands(pi, () => session);
}

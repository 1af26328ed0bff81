// The recall tool: one id, and the exact source behind it, page by page.
import type { AgentToolResult, ExtensionAPI, Theme, ToolDefinition } from "@earendil-works/pi-coding-agent";
import { Text } from "@earendil-works/pi-tui";
import { Type } from "typebox";
import type { Session } from "./session.ts";
import type { Recalled } from "./wire.ts";

const RECALL_MS = 10_000;
const NAME = "recall";
const OTHER_NAME = "om_recall";
const RENAMED = `Minutebook: another extension has a tool "${NAME}", so the agent's tool is named ${OTHER_NAME} here`;
const LEFT_OUT = `Minutebook: other extensions have the tools "${NAME}" and "${OTHER_NAME}", so the agent has none here`;
// What memory says of "the recall tool" is the same text in every host.
const MEANT = "\nThis is the recall tool of Minutebook's memory; another tool with a similar name does not know its ids.";
export const DESCRIPTION =
  "Recall the exact source behind one memory. Observations and reflections in memory carry an id of twelve" +
  " characters in brackets, such as [3fa9c2d41b07]; give that one id. You get the record and the text of the" +
  " conversation that it came from, dropped and retired records too.\n" +
  "Use it before you act on a memory whose details matter: exact wording, reasons and decisions, paths, commands," +
  " errors, numbers; or to see what supports a memory. Do not use it to browse, to search by words, or to fetch ids" +
  " in advance.";

const parameters = Type.Object({
  id: Type.String({ description: "The id of one record, without its brackets", pattern: "^[0-9a-f]{12}$" }),
  page: Type.Optional(Type.Integer({ minimum: 1, description: "Which page of a long answer; the first by default" })),
});

// What is kept with the result: its head, and one line for each record and source.
export interface Shown {
  ok: boolean;
  head: string;
  lines: string[];
}

// At the start of a session, when all extensions are loaded: Pi does not start where two come with a tool of one name.
// What a person is told when it could not have its own name.
export function registerRecall(pi: ExtensionAPI, session: () => Session | undefined): string {
  const taken = new Set(pi.getAllTools().map((tool) => tool.name));
  const name = [NAME, OTHER_NAME].find((each) => !taken.has(each));
  if (name) pi.registerTool(recallTool(name, session));
  if (name === NAME) return "";
  return name ? RENAMED : LEFT_OUT;
}

function recallTool(name: string, session: () => Session | undefined): ToolDefinition<typeof parameters, Shown> {
  return {
    name,
    label: "Recall",
    description: name === NAME ? DESCRIPTION : DESCRIPTION + MEANT,
    promptSnippet: "Recall the exact source behind one record of memory, by its id",
    parameters,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    execute: async (_id, { id, page }, signal, _onUpdate, ctx) => {
      const asked = { type: "recall", record: id, page };
      return result(await session()?.request<Recalled>(asked, ctx, { ms: RECALL_MS, signal }));
    },
    renderCall: (args, theme) => new Text(`${theme.fg("toolTitle", theme.bold(`${name} `))}${args.id ?? ""}`, 0, 0),
    renderResult: (shown, { expanded }, theme) => new Text(rendered(shown, expanded, theme), 0, 0),
  };
}

function result(recalled: Recalled | undefined): AgentToolResult<Shown> {
  if (recalled?.text === undefined) {
    throw new Error(recalled?.wrong ?? recalled?.error ?? "Minutebook gives no answer here; go on without it");
  }
  const details = { ok: recalled.found === true, head: recalled.head ?? "", lines: recalled.lines ?? [] };
  return { content: [{ type: "text", text: recalled.text }], details };
}

function rendered(shown: AgentToolResult<Shown>, expanded: boolean, theme: Theme): string {
  const [head, ...rest] = shownLines(shown, expanded);
  return [theme.fg(shown.details?.ok ? "success" : "error", head ?? ""), ...rest].join("\n");
}

// Collapsed one line a record and a source; expanded the text of each.
export function shownLines(shown: AgentToolResult<Shown>, expanded: boolean): string[] {
  const said = shown.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  return expanded || !shown.details?.head ? said.split("\n") : [shown.details.head, ...shown.details.lines];
}

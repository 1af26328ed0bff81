// What goes between this extension and its child, `om-hook pi --stdio`: one JSON object a line.

export type Level = "info" | "warning" | "error";

export interface Notice {
  level: Level;
  text: string;
}

// The answer to a request. error: it could not be done. wrong: what a person or a model gave is not what it takes.
export interface Result {
  error?: string;
  wrong?: string;
  notices?: Notice[];
  steers?: string[];
}

export interface Opened extends Result {
  cursor?: string | null; // id of the last entry that the child has
}

export interface Composed extends Result {
  refused?: boolean; // another composition is open: cancel
  summary?: string;
  first_kept?: string;
  tokens_before?: number;
  details?: unknown;
}

export interface Looked extends Result {
  look_again?: boolean;
  compact?: boolean;
}

export interface Told extends Result {
  text?: string;
}

export interface Recalled extends Result {
  found?: boolean;
  head?: string;
  text?: string;
  lines?: string[];
}

export interface SessionModel {
  provider: string;
  id: string;
  window: number;
  max_tokens: number;
  reasoning: boolean;
}

export interface Call {
  id: string;
  name: string;
  arguments: string; // text, JSON or not
}

// A worker asks the session's own model.
export interface Ask {
  type: "ask";
  id: string;
  role: string;
  system: string;
  messages: AskMessage[];
  tools: { name: string; description: string; schema: Record<string, unknown> }[];
  max_tokens: number | null;
  thinking: string;
  timeout_seconds: number;
}

export interface AskMessage {
  role: "user" | "assistant" | "tool";
  text: string;
  calls?: Call[];
  call_id?: string;
  carried?: { model?: string; message?: unknown };
}

export interface Answer {
  text: string;
  calls: Call[];
  ended: "stop" | "tool_calls" | "length" | "error" | "aborted";
  model: string;
  usage: { input: number; output: number; cache_read: number; cache_write: number; cost_usd: number };
  carried: { model?: string; message?: unknown };
  error: { kind: "no_model" | "auth" | "timeout" | "provider" | "bug"; message: string } | null;
}

// A line that the child sends by itself.
export type Unasked =
  | Ask
  | { type: "cancel"; id: string }
  | ({ type: "notice"; once?: boolean } & Notice) // once: a person is not told it again in this session
  | { type: "steer"; text: string }
  | { type: "off"; why: string };

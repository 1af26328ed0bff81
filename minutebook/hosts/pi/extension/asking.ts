// A worker asks the session's own model: Pi signs the request, so no key of ours is needed.
import { randomUUID } from "node:crypto";
import type { AssistantMessage, Context, Message, Model, ThinkingLevel, Tool } from "@earendil-works/pi-ai";
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Answer, Ask, AskMessage, SessionModel } from "./wire.ts";

type AnyModel = Model<any>;
type Send = (line: object) => void;
type Trouble = NonNullable<Answer["error"]>;

const ENDED: Record<string, Answer["ended"]> = {
  stop: "stop",
  length: "length",
  toolUse: "tool_calls",
  aborted: "aborted",
};
const NOTHING = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const NO_USAGE = { ...NOTHING, totalTokens: 0, cost: NOTHING };

export function sessionModel(model: AnyModel | undefined): SessionModel | null {
  if (!model) return null;
  const { provider, id, contextWindow, maxTokens, reasoning } = model;
  return { provider, id, window: contextWindow, max_tokens: maxTokens, reasoning };
}

export class Asking {
  private readonly open = new Map<string, AbortController>();
  private readonly conversation = randomUUID(); // for providers that cache by session: not the agent's own

  ask(asked: Ask, ctx: ExtensionContext, send: Send): void {
    const abort = new AbortController();
    this.open.set(asked.id, abort);
    void this.answer(asked, ctx, abort).then((answer) => {
      this.open.delete(asked.id);
      send({ type: "answer", id: asked.id, ...answer });
    });
  }

  cancel(id: string): void {
    this.open.get(id)?.abort();
  }

  stop(): void {
    for (const abort of this.open.values()) abort.abort();
  }

  private async answer(asked: Ask, ctx: ExtensionContext, abort: AbortController): Promise<Answer> {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      abort.abort();
    }, asked.timeout_seconds * 1000);
    try {
      const model = ctx.model;
      if (!model) return failed("", "error", { kind: "no_model", message: "the session has no model" });
      const message = await this.complete(asked, model, ctx, abort.signal);
      return answerOf(message, model, late ? asked.timeout_seconds : 0);
    } catch (error) {
      // Only a request that cannot be signed throws.
      return failed("", "error", { kind: "auth", message: oneLine(error) });
    } finally {
      clearTimeout(timer);
    }
  }

  private complete(asked: Ask, model: AnyModel, ctx: ExtensionContext, signal: AbortSignal): Promise<AssistantMessage> {
    const reasoning = model.reasoning && asked.thinking !== "off" ? (asked.thinking as ThinkingLevel) : undefined;
    const stream = ctx.modelRegistry.streamSimple(model, contextOf(asked, model), {
      signal,
      reasoning,
      maxTokens: asked.max_tokens ?? undefined,
      timeoutMs: asked.timeout_seconds * 1000,
      maxRetries: 0, // the worker tries again by itself
      sessionId: this.conversation,
      disableContinuation: true,
    });
    return stream.result();
  }
}

export function contextOf(asked: Ask, model: AnyModel): Context {
  const names = new Map(asked.messages.flatMap((message) => message.calls ?? []).map((call) => [call.id, call.name]));
  const tools = asked.tools.map(({ name, description, schema }): Tool => ({ name, description, parameters: schema }));
  return {
    systemPrompt: asked.system,
    messages: asked.messages.map((message) => messageOf(message, model, names)),
    ...(tools.length ? { tools } : {}),
  };
}

function messageOf(message: AskMessage, model: AnyModel, names: Map<string, string>): Message {
  const timestamp = Date.now();
  if (message.role === "assistant") return carriedOf(message, model) ?? assistantOf(message, model, timestamp);
  if (message.role === "user") return { role: "user", content: message.text, timestamp };
  const toolCallId = message.call_id ?? "";
  const content = [{ type: "text" as const, text: message.text }];
  return { role: "toolResult", toolCallId, toolName: names.get(toolCallId) ?? "", content, isError: false, timestamp };
}

// The model's own message, with its signed thinking: of use only to the model that made it, and with the same calls.
function carriedOf(message: AskMessage, model: AnyModel): AssistantMessage | undefined {
  const own = message.carried?.model === nameOf(model) ? (message.carried.message as AssistantMessage) : undefined;
  const ids = (own?.content ?? []).flatMap((part) => (part.type === "toolCall" ? [part.id] : []));
  return own && ids.join() === (message.calls ?? []).map((call) => call.id).join() ? own : undefined;
}

function assistantOf(message: AskMessage, model: AnyModel, timestamp: number): AssistantMessage {
  const text = message.text ? [{ type: "text" as const, text: message.text }] : [];
  const calls = (message.calls ?? []).map(({ id, name, arguments: given }) => {
    return { type: "toolCall" as const, id, name, arguments: objectIn(given) };
  });
  const { api, provider, id } = model;
  const stopReason = calls.length ? "toolUse" : "stop";
  const content = [...text, ...calls];
  return { role: "assistant", content, api, provider, model: id, usage: NO_USAGE, stopReason, timestamp };
}

export function answerOf(message: AssistantMessage, model: AnyModel, lateAfterSeconds: number): Answer {
  const ended = ENDED[message.stopReason] ?? "error";
  const answer = failed(nameOf(model), ended, lateAfterSeconds ? lateness(lateAfterSeconds) : trouble(message, ended));
  const { input, output, cacheRead, cacheWrite, cost } = message.usage;
  answer.usage = { input, output, cache_read: cacheRead, cache_write: cacheWrite, cost_usd: cost.total };
  for (const part of message.content) {
    if (part.type === "text") answer.text += part.text;
    // Arguments that are no JSON object come as what is wrong with them, which the worker then tells the model.
    if (part.type === "toolCall") {
      const given = part.argumentsError ?? JSON.stringify(part.arguments);
      answer.calls.push({ id: part.id, name: part.name, arguments: given });
    }
  }
  if (!answer.error) answer.carried = { model: answer.model, message };
  return answer;
}

function trouble(message: AssistantMessage, ended: Answer["ended"]): Trouble | null {
  if (ended !== "error" && ended !== "aborted") return null;
  return { kind: "provider", message: oneLine(message.errorMessage ?? `the answer ended with ${message.stopReason}`) };
}

function lateness(seconds: number): Trouble {
  return { kind: "timeout", message: `no answer within ${seconds} s` };
}

function failed(model: string, ended: Answer["ended"], error: Trouble | null): Answer {
  const usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 };
  return { text: "", calls: [], ended, model, usage, carried: {}, error };
}

function nameOf(model: AnyModel): string {
  return `${model.provider}/${model.id}`;
}

function objectIn(text: string): Record<string, never> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, never>) : {};
  } catch {
    return {};
  }
}

function oneLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split(/\s+/).join(" ").slice(0, 2_000);
}

// One session and its child: started when it is needed, started again when it died, ended with the session.
import { spawnSync } from "node:child_process";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { Asking, sessionModel } from "./asking.ts";
import { Child, type Patience } from "./child.ts";
import { after, slim } from "./entries.ts";
import { findHook } from "./finding.ts";
import { notify, steer } from "./telling.ts";
import type { Level, Opened, Result, Unasked } from "./wire.ts";

const OPEN_MS = 10_000;
const TURN_MS = 5_000;
const END_MS = 2_000;
const HOOK_MS = 1_500; // it leaves within a second
const STARTS_MOST = 10; // in one session; a child that dies ever again is left dead
const NOT_FOUND = "Minutebook: om-hook was not found, so nothing is remembered here; `om install pi` mends it";
const DOES_NOT_RUN = "does not run, so nothing is remembered here; `om install pi` of an installed Minutebook mends it";
const KEEPS_DYING = "Minutebook: its program keeps dying, so nothing is remembered here; `om doctor` says more";

export class Session {
  private readonly pi: ExtensionAPI;
  private ctx: ExtensionContext;
  private child: Child | undefined;
  private opened: Promise<boolean> | undefined;
  private asking = new Asking();
  private cursor: string | null = null;
  private starts = 0;
  trouble = ""; // why the session could not be opened: wrong settings, most often
  private off = !["", "0"].includes(process.env.MINUTEBOOK_OFF ?? "");
  private told = new Set<string>();

  constructor(pi: ExtensionAPI, ctx: ExtensionContext) {
    this.pi = pi;
    this.ctx = ctx;
  }

  // A session that Pi itself does not keep is not kept by anybody else.
  get isOff(): boolean {
    return this.off || !this.ctx.sessionManager.getSessionFile();
  }

  // Start the child if it is not there; false when there is none to be had.
  ready(ctx: ExtensionContext): Promise<boolean> {
    this.ctx = ctx;
    if (this.isOff) return Promise.resolve(false);
    if (!this.child?.alive) this.opened = this.start() ? this.open() : Promise.resolve(false);
    this.opened ??= this.open();
    return this.opened;
  }

  // Hand over the new entries with a request, and do what the answer says; undefined when there is no answer in time.
  async request<R extends Result>(body: object, ctx: ExtensionContext, patience: Patience): Promise<R | undefined> {
    const until = Date.now() + patience.ms;
    if (!(await within(this.ready(ctx), patience)) || !this.child || this.off) return undefined;
    const news = this.news();
    const left = { ...patience, ms: until - Date.now() };
    const result = await this.child.request<R>({ ...body, ...news }, left);
    this.hear(result);
    return result;
  }

  // After each turn; nobody waits for it.
  turn(ctx: ExtensionContext): void {
    this.request({ type: "entries" }, ctx, { ms: TURN_MS }).catch(gone);
  }

  // A line without an answer, for a child that is there.
  async tell(body: object): Promise<void> {
    this.hear(await this.child?.request<Result>(body, { ms: TURN_MS }));
  }

  modelChanged(ctx: ExtensionContext): void {
    this.child?.send({ type: "model", model: sessionModel(ctx.model) });
  }

  async end(ended: boolean): Promise<void> {
    const child = this.child;
    const wasOff = this.isOff;
    this.asking.stop();
    this.off = true;
    if (!child) return;
    // The rest of the session's time belongs to the child: it takes the last entries in, then it leaves.
    if (child.alive) child.send({ type: "end", id: 0, ended, ...this.news() });
    const inOrder = await child.end(END_MS);
    if (!inOrder && ended && !wasOff) this.leaveToWorker();
  }

  // What a child that was killed did not take in stands in the session's file: a hook says where that is.
  private leaveToWorker(): void {
    const manager = this.ctx.sessionManager;
    const header = manager.getHeader();
    const program = findHook();
    if (!program || !header) return;
    const said = { session_id: header.id, transcript_path: manager.getSessionFile(), cwd: header.cwd };
    spawnSync(program, ["pi", "SessionEnd"], { input: JSON.stringify(said), timeout: HOOK_MS, killSignal: "SIGKILL" });
  }

  private start(): boolean {
    const program = findHook();
    this.starts++;
    if (!program) this.giveUp(NOT_FOUND);
    else if (this.starts > STARTS_MOST) this.giveUp(KEEPS_DYING);
    if (this.off || !program) return false;
    this.child = new Child(program, (line) => this.heard(line), () => this.asking.stop());
    return true;
  }

  private async open(): Promise<boolean> {
    const manager = this.ctx.sessionManager;
    const last = manager.getEntries().at(-1)?.id ?? null;
    const head = { header: manager.getHeader(), file: manager.getSessionFile(), last };
    const opened = await this.child?.request<Opened>(
      { type: "open", v: 1, ...head, model: sessionModel(this.ctx.model) },
      { ms: OPEN_MS },
    );
    this.cursor = opened?.cursor ?? null;
    this.trouble = opened?.error ?? opened?.wrong ?? "";
    if (this.trouble) this.once("warning", `Minutebook: ${this.trouble}; turns are taken in once that is mended`);
    // Once may be chance; a program whose Python is gone never answers.
    if (!opened && !this.child?.alive && this.starts > 1) {
      this.once("warning", `Minutebook: ${findHook()} ${DOES_NOT_RUN}`);
    }
    if (!opened || this.trouble) {
      this.opened = undefined; // the next request tries again
      return false;
    }
    this.hear(opened);
    return true;
  }

  private news(): { entries: object[]; last: string | null } {
    const fresh = after(this.cursor, this.ctx.sessionManager.getEntries());
    this.cursor = fresh.at(-1)?.id ?? this.cursor;
    return { entries: fresh.map(slim), last: this.cursor };
  }

  private hear(result: Result | undefined): void {
    for (const notice of result?.notices ?? []) notify(this.ctx, notice.level, notice.text);
    for (const text of result?.steers ?? []) steer(this.pi, this.ctx, text);
  }

  private heard(line: Unasked): void {
    if (line.type === "ask") this.asking.ask(line, this.ctx, (answer) => this.child?.send(answer));
    else if (line.type === "cancel") this.asking.cancel(line.id);
    else if (line.type === "notice" && line.once) this.once(line.level, line.text);
    else if (line.type === "notice") notify(this.ctx, line.level, line.text);
    else if (line.type === "steer") steer(this.pi, this.ctx, line.text);
    else if (line.type === "off") this.giveUp(line.why && `Minutebook: ${line.why}`);
  }

  private giveUp(why: string): void {
    this.off = true;
    this.once("warning", why);
  }

  // Something that a person is told once in a session.
  once(level: Level, text: string): void {
    if (!text || this.told.has(text)) return;
    this.told.add(text);
    notify(this.ctx, level, text);
  }
}

// The session was replaced while something was under way: there is nobody left to tell.
export function gone(): void {}

// What comes of a promise within the time, and before the signal; undefined otherwise.
function within<T>(promise: Promise<T>, { ms, signal }: Patience): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), ms);
    signal?.addEventListener("abort", () => resolve(undefined), { once: true });
    void promise.then(resolve, () => resolve(undefined)).finally(() => clearTimeout(timer));
  });
}

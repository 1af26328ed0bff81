// The child process of one session: requests with a deadline, lines that it sends by itself, its end.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { Result, Unasked } from "./wire.ts";

export interface Patience {
  ms: number;
  signal?: AbortSignal;
}

type Line = Unasked | ({ type: "result"; id: number } & Result);

export class Child {
  private readonly process: ChildProcessByStdio<Writable, Readable, null>;
  private readonly waiting = new Map<number, (result: Result | undefined) => void>();
  private readonly exited: Promise<boolean>;
  private next = 1;
  private held = "";
  alive = true;

  constructor(program: string, hear: (line: Unasked) => void, gone: () => void) {
    this.process = spawn(program, ["pi", "--stdio"], { stdio: ["pipe", "pipe", "ignore"] });
    this.process.stdin.on("error", () => {}); // its end is told by "exit" or "error"
    this.process.stdout.setEncoding("utf8");
    this.process.stdout.on("data", (data: string) => this.read(data, hear));
    this.exited = new Promise((resolve) => {
      const over = (code: unknown) => {
        if (this.alive) {
          this.alive = false;
          for (const answer of this.waiting.values()) answer(undefined);
          this.waiting.clear();
          gone();
        }
        resolve(code === 0);
      };
      this.process.on("exit", over);
      this.process.on("error", over);
    });
  }

  // The answer; undefined when the child died, was too slow, or the signal came first.
  request<R extends Result>(body: object, { ms, signal }: Patience): Promise<R | undefined> {
    if (!this.alive || signal?.aborted) return Promise.resolve(undefined);
    const id = this.next++;
    return new Promise((resolve) => {
      const done = (result: Result | undefined) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", giveUp);
        this.waiting.delete(id);
        resolve(result as R | undefined);
      };
      const giveUp = () => done(undefined);
      const timer = setTimeout(giveUp, ms);
      signal?.addEventListener("abort", giveUp, { once: true });
      this.waiting.set(id, done);
      this.send({ ...body, id });
    });
  }

  send(line: object): void {
    if (this.alive) this.process.stdin.write(`${JSON.stringify(line)}\n`);
  }

  // Its input ends, and with it the child. One that does not leave is told to; false for one that had to be.
  async end(ms: number): Promise<boolean> {
    this.process.stdin.end();
    const late = setTimeout(() => this.process.kill("SIGTERM"), ms);
    const never = setTimeout(() => this.process.kill("SIGKILL"), ms + 500);
    const inOrder = await this.exited;
    clearTimeout(late);
    clearTimeout(never);
    return inOrder;
  }

  private read(data: string, hear: (line: Unasked) => void): void {
    const lines = (this.held + data).split("\n");
    this.held = lines.pop() ?? "";
    for (const text of lines) {
      const line = parsed(text);
      if (line?.type === "result") this.waiting.get(line.id)?.(line);
      else if (line) hear(line);
    }
  }
}

function parsed(text: string): Line | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === "object" && line !== null && "type" in line ? (line as Line) : undefined;
  } catch {
    return undefined;
  }
}

"""A small agent that goes on for hundreds of turns in a small window, because minutebook.Session keeps its memory.

    python examples/agent.py                              # offline: a scripted model on 127.0.0.1
    python examples/agent.py --turns 400 --window 20000
    python examples/agent.py --model openai/gpt-5-mini    # a real one, through litellm and its API key

Everything is in a temporary folder that is gone afterwards, unless --folder names one. In the scripted run facts are
told to the agent on the way, and asked for at the end, long after their turns have left the context. The scripted model
knows nothing but what stands in the request that it gets, and refuses one that is larger than the window: so an answer
comes from the memory in the context, or from the memory's tools, or not at all.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import minutebook
from scripted_model import ScriptedModel, facts_at, size_of, task_of

SYSTEM = "You are a coding agent. Ids in brackets in your memory lead to exact sources: recall. Answer in short."
WORK = [
    {
        "type": "function",
        "function": {
            "name": "read_log",
            "description": "The log of a step.",
            "parameters": {"type": "object", "properties": {"step": {"type": "integer"}}, "required": ["step"]},
        },
    }
]
SETTINGS = """\
# All of it scaled to a window of {window} tokens. The worker reads this file, too.
compact_after_tokens = {compact}
keep_recent_tokens = {keep}
compaction_max_tokens = {memory}
observations_pool_max_tokens = {pool}
reflection_context_max_tokens = {reflections}
observe_after_tokens = {observe}
reflect_after_tokens = {reflect}
extract_max_tokens = 500
"""


class Agent:
    """The whole agent: a list of messages, a model, tools, and a session of Minutebook."""

    def __init__(self, session, ask, window):
        self.session, self.ask, self.window = session, ask, window
        self.messages = [{"role": "system", "content": SYSTEM}]
        self.tools = [*WORK, *session.tools("openai")]
        self.largest = self.compactions = 0
        self.asked = []

    def turn(self, prompt):
        """One prompt, and calls of tools until the model has answered it."""
        self.messages.append({"role": "user", "content": prompt})
        while True:
            self.largest = max(self.largest, size_of(self.messages))
            answer = self.ask(self.messages, self.tools)
            self.messages.append(answer)
            for call in answer.get("tool_calls") or ():
                name, arguments = call["function"]["name"], call["function"]["arguments"]
                self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": self.run(name, arguments)})
            self.session.record(self.messages)  # the whole list each time: what is new is found out
            self.compact_when_due()
            if not answer.get("tool_calls"):
                return answer.get("content") or ""

    def run(self, name, arguments):
        if name == "read_log":
            return task_of(json.loads(arguments)["step"]).log
        self.asked.append(name)
        return self.session.call(name, arguments)

    def compact_when_due(self):
        if not self.session.compaction_due:
            return
        # The scripted model answers within a millisecond; a real one leaves the worker all the time it needs.
        self.session.wait(30)
        before, messages = size_of(self.messages), len(self.messages)
        self.messages = self.session.compact(self.messages)
        if len(self.messages) == messages:
            return  # no memory yet: it is due again after the next turn
        self.compactions += 1
        memory = size_of(self.messages[1:2])
        print(
            f"compaction {self.compactions}: {before:,} -> {size_of(self.messages):,} tokens "
            f"({memory:,} of memory, {len(self.messages) - 2} of {messages - 1} messages kept)"
        )


def main():
    asked = arguments()
    with contextlib.ExitStack() as closing:
        folder = Path(asked.folder or closing.enter_context(tempfile.TemporaryDirectory()))
        prepare(folder, asked.window)
        session = closing.enter_context(minutebook.Session("demo", project=folder, store=folder / "demo.sqlite", worker=False))
        closing.enter_context(worker(folder))
        ask = closing.enter_context(model(asked.model, asked.window))
        agent = Agent(session, ask, asked.window)
        for number in range(1, asked.turns + 1):
            agent.turn(task_of(number).prompt)
        return report(agent, asked.turns)


def report(agent, turns):
    """Ask for every fact that was told, and say how it went."""
    print(f"\n{turns} turns, {agent.compactions} compactions, largest request {agent.largest:,} of {agent.window:,} tokens")
    facts, right = facts_at(turns), 0
    for fact in facts:
        agent.asked.clear()
        answer = agent.turn(fact.question)
        right += fact.answer in answer
        how = f"by {', then '.join(agent.asked)}" if agent.asked else "in its context"
        print(f"  turn {fact.turn}: {fact.question} -> {answer} ({how if fact.answer in answer else 'wrong'})")
    print(f"{right} of {len(facts)} facts known")
    status = agent.session.status()
    print(f"ledger: {status['entries']:,} entries, {status['source_tokens']:,} tokens, mind: {status['mind']}")
    return 0 if right == len(facts) and agent.largest <= agent.window else 1


def prepare(folder, window):
    """A settings file for such a small window. With the defaults, a window of 200,000 needs none."""
    shares = {"compact": 0.5, "keep": 0.1, "memory": 0.3, "pool": 0.2, "reflections": 0.1, "observe": 0.05, "reflect": 0.1}
    values = {name: int(window * share) for name, share in shares.items()}
    (folder / ".minutebook.toml").write_text(SETTINGS.format(window=window, **values))


@contextlib.contextmanager
def worker(folder):
    """The background worker, as a process of this program. Without worker=False above, one would start by itself."""
    command = [sys.executable, "-m", "minutebook", "worker", "--store", str(folder / "demo.sqlite")]
    process = subprocess.Popen(command, cwd=folder)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def model(name, window):
    """What answers: a function of messages and tools."""
    if name:
        import litellm

        yield lambda messages, tools: litellm.completion(model=name, messages=messages, tools=tools).choices[0].message.model_dump(exclude_none=True)
        return
    with ScriptedModel(window) as server:

        def ask(messages, tools):
            body = json.dumps({"model": "scripted", "messages": messages, "tools": tools}).encode()
            request = urllib.request.Request(f"{server.url}/chat/completions", body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)["choices"][0]["message"]

        yield ask


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--window", type=int, default=20_000, help="tokens of the model's context")
    parser.add_argument("--model", help="provider/id of a real model; needs litellm")
    parser.add_argument("--folder", help="where the store stays afterwards")
    return parser.parse_args()


if __name__ == "__main__":
    os.environ.setdefault("MINUTEBOOK_WORKER_CONCURRENCY", "1")
    sys.exit(main())

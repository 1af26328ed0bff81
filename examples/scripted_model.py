"""A model for examples/agent.py that needs no network: a script behind OpenAI's chat API on 127.0.0.1.

It works through tasks, and answers a question by what stands in the request, and by nothing else: where the answer is
not in sight it searches the memory, recalls what it found, and reads the exact source.
"""

import json
import re
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FACT_EVERY = 12
SERVICES = ("orders", "billing", "search", "mail", "images", "reports", "gateway", "audit", "export", "login")
LINES = 40
PORT = re.compile(r"Which port does the (\w+) service of region (\d+) listen on\?")
LINE = re.compile(r"How many ms did line (\d+) of the log of step (\d+) take\?")
ID = re.compile(r"^\[([0-9a-f]{12})\]|recall \[([0-9a-f]{12})\]", re.MULTILINE)


@dataclass(frozen=True)
class Task:
    """A turn of the script: what the person types, and what the log of that step says."""

    prompt: str
    log: str


@dataclass(frozen=True)
class Fact:
    """Something that was told on the way."""

    turn: int
    question: str
    answer: str


def task_of(number):
    """The task of a turn; every twelfth tells a fact as well."""
    service, region, port = _fact(number)
    told = f" Keep in mind: the {service} service of region {region} listens on port {port}." if number % FACT_EVERY == 0 else ""
    log = "\n".join(f"{number:04}:{line:02} compiled module_{(number * 7 + line) % 97} in {_ms(number, line)} ms" for line in range(LINES))
    return Task(f"Do step {number}: read its log and say whether it went well.{told}", f"{log}\nstep {number}: ok")


def _ms(number, line):
    return 10 + (number * 31 + line * 13) % 890


def facts_at(turns):
    """The facts that were told by then, and some details of old logs, which no memory keeps but recall has."""
    found = []
    for number in range(FACT_EVERY, turns + 1, FACT_EVERY):
        service, region, port = _fact(number)
        found.append(Fact(number, f"Which port does the {service} service of region {region} listen on?", str(port)))
    for number in (turns // 10, turns // 3, turns // 2):
        found.append(Fact(number, f"How many ms did line 17 of the log of step {number} take?", str(_ms(number, 17))))
    return found


def _fact(number):
    at = number // FACT_EVERY
    return SERVICES[at % len(SERVICES)], 1 + at // len(SERVICES), 7000 + at * 137 % 2900


def size_of(messages):
    """Estimated tokens of messages: UTF-8 bytes / 4."""
    return len(json.dumps(messages, ensure_ascii=False).encode()) // 4


def answer_to(messages):
    """The next message of the model."""
    last = messages[-1]
    prompt = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    if port := PORT.search(prompt):
        service, region = port.groups()
        sought = re.compile(rf"{service} service of region {region} listens on port (\d+)")
        return _answer(messages, sought, f"{service} service of region {region} listens on port")
    if line := LINE.search(prompt):
        sought = re.compile(rf"{int(line[2]):04}:{int(line[1]):02} compiled \w+ in (\d+) ms")
        return _answer(messages, sought, f"log of step {int(line[2]):04}:{int(line[1]):02} compiled")
    step = re.search(r"Do step (\d+)", prompt)
    if last["role"] == "user" and step:
        return _call("read_log", {"step": int(step[1])}, len(messages))
    return {"role": "assistant", "content": f"Step {step[1]} went well." if step else "Nothing to do."}


def _answer(messages, sought, words):
    """By what is in sight; else by a search, then a recall of what that found; else it says that it does not know."""
    seen = "\n".join(str(message.get("content") or "") for message in messages)
    values, last = sought.findall(seen), messages[-1]
    if last["role"] == "user" and not values:
        return _call("memory_search", {"words": words}, len(messages))
    found = ID.search(last["content"])
    if last["role"] == "tool" and found and _called(messages) == "memory_search":
        return _call("recall", {"id": found[1] or found[2]}, len(messages))
    return {"role": "assistant", "content": values[-1] if values else "I do not know."}


def _called(messages):
    return next(call["function"]["name"] for m in reversed(messages) for call in m.get("tool_calls") or ())


def _call(name, arguments, number):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": f"call_{number}_{name}", "type": "function", "function": function}]}


class ScriptedModel:
    """Serves while it is entered; url is the base of the API. window: larger requests are refused, as real ones are."""

    def __init__(self, window):
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                size = size_of(asked["messages"])
                if size > model.window:
                    error = {"message": f"context length exceeded: {size} tokens", "code": "context_length_exceeded"}
                    return self.reply(400, {"error": error})
                message = answer_to(asked["messages"])
                ending = "tool_calls" if message.get("tool_calls") else "stop"
                choice = {"index": 0, "message": message, "finish_reason": ending}
                return self.reply(200, {"object": "chat.completion", "model": "scripted", "choices": [choice]})

            def reply(self, status, body):
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *words):
                pass

        self.window = window
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error):
        self.server.shutdown()
        self.server.server_close()

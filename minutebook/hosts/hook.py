"""`om-hook HOST EVENT [--part N]`: what an agent runs at its events, with a JSON object on stdin.

A hook never fails its agent: whatever happens, it exits with 0 within a second, and prints nothing but what was asked
for; what went wrong is one line in the hook log. Most hooks only ring the bell; which do more is said in ACTIONS.
`om-hook pi --stdio` is the process behind Pi's extension.
"""
# No pathlib, json or typing: each alone costs a hook as much as the start of the interpreter.
# ruff: noqa: PTH110, PTH111, PTH117

import _signal  # type: ignore[import-not-found]  # signal itself would load enum
import os
import sys
import time
from _collections_abc import Mapping  # collections.abc would load collections

from minutebook.hosts import bell
from minutebook.hosts.barejson import to_json, walk

LIMIT_SECONDS = 0.95
PART_SECONDS = 0.85
FRESH_SECONDS = 2.0
"""A composition that was handed over at a resume is of this resume: it is no older than the hooks that print it."""
PAYLOAD_MAX_BYTES = 4 * 1024 * 1024
"""Of a longer payload the beginning is looked at, where the session stands; the rest is read and forgotten."""
READ_BYTES = 64 * 1024
LOOKS_MOST = 64
NAME_CHARACTERS = 500
PATH_CHARACTERS = 4096
INJECTED_CHARACTERS = 9_900
"""Claude Code puts what is longer into a file."""

RING, ENDED, AGENT = "ring", "ring: the session is over", "ring: for the sub-agent"
STEERS, NOTICES = "steers", "steers and notices"
ANSWER, SWEEP = "answer", "the hand-over is over"
OWE = "the memory is owed: where SessionStart comes to nothing, the next hook that can gives it back"
COMMAND = "a command typed as a prompt, else steers and notices"
NOTE = "which session the agent's process is in, for its MCP server"

CLAUDE_CODE: Mapping[str, tuple[str, ...]] = {
    "SessionStart": (NOTE, ANSWER, RING),
    "UserPromptSubmit": (RING, COMMAND),
    "PostToolBatch": (RING, STEERS),
    "Stop": (RING,),
    "StopFailure": (RING,),
    "SubagentStop": (AGENT,),
    "PreCompact": (ANSWER, RING),
    "PostCompact": (SWEEP, RING),
    "SessionEnd": (ENDED,),
}
CODEX: Mapping[str, tuple[str, ...]] = {
    "SessionStart": (ANSWER, RING),
    "UserPromptSubmit": (RING, COMMAND),
    "PostToolUse": (RING, STEERS),
    "Stop": (RING,),
    "SubagentStop": (AGENT,),
    "PreCompact": (ANSWER, RING),
    "PostCompact": (OWE, RING),  # it is asked for afterwards, perhaps much later: what is handed over stays
    "SessionEnd": (ENDED,),
    "Interrupt": (RING,),
}
ACTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "claude_code": CLAUDE_CODE,
    "codex": CODEX,
    "pi": {"SessionEnd": (ENDED,)},  # where the process behind its extension had to be killed
}
"""Host → event → what its hook does, in this order."""

COMMANDS = ("om:status", "om:view", "om:recall")
COMMAND_CHARACTERS = 300
COMMAND_WORDS = 3
"""A longer prompt is none."""
BUSY = "Minutebook was too busy to answer within a second: ask again, or run `om status` in a terminal."
NOTHING_TO_SAY = ("startup", "clear")
"""At a start of these kinds no memory is due."""
COMPACTING = ("PreCompact", "PostCompact")
KINDS = {STEERS: ("steer",), NOTICES: ("steer", "notice")}

Payload = Mapping[str, object]


class NotForUs(Exception):
    """The payload or the command line says nothing that can be used; the message says why."""


def main() -> None:
    """The console script `om-hook`."""
    if sys.argv[1:3] == ["pi", "--stdio"]:
        from minutebook.hosts.pi import stdio

        sys.exit(stdio.main())
    try:
        _keep_standard_handles()
        _limit()
        if os.environ.get("MINUTEBOOK_OFF", "0") in ("", "0"):
            _run(sys.argv[1:])
    except BaseException as error:
        _complain(error)
    os._exit(0)


def _complain(error: BaseException) -> None:
    said = str(error) if isinstance(error, NotForUs) else f"{type(error).__name__}: {error}"
    bell.complain(f"om-hook {' '.join(sys.argv[1:5])}: {said}")


def _keep_standard_handles() -> None:
    """Where the agent closed one, the first file that is opened would take its place, and be read or written to."""
    for handle in (0, 1, 2):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _limit() -> None:
    _signal.signal(_signal.SIGALRM, _too_late)
    _signal.setitimer(_signal.ITIMER_REAL, LIMIT_SECONDS)


said_too_late: list[str] = []
"""What is printed where the answer does not come in time: a command must not go to the model instead."""


def _too_late(number: int, frame: object) -> None:
    try:
        for text in said_too_late:
            os.write(1, text.encode())
        _complain(NotForUs("not done within a second; the next hook goes on"))
    finally:
        os._exit(0)


def _run(arguments: list[str]) -> None:
    host, event, part = command(arguments)
    actions = ACTIONS[host][event]
    store_path = bell.local_store_path(os.environ)
    if store_path is None:
        raise NotForUs("MINUTEBOOK_STORE names a server: hooks work with a store that is a file on this machine")
    payload = read_payload()
    session = name_in(payload, "session_id")
    if not session:
        raise NotForUs("no JSON object with a session_id on stdin")
    if event in COMPACTING and not name_in(payload, "agent_id"):
        from minutebook.hosts.claims import forget_claims

        forget_claims(store_path, host, session)
    if part > 1:
        _print_part(store_path, host, session, payload, part)
    else:
        for action in actions:
            try:
                _act(action, store_path, host, event, session, payload)
            except Exception as error:
                _complain(error)
    _drain()


def command(arguments: list[str]) -> tuple[str, str, int]:
    """Host, event and part (1 where none is given) of a command line; NotForUs."""
    usage = "usage: om-hook HOST EVENT [--part N] with a hook's JSON on stdin"
    if len(arguments) not in (2, 4) or (len(arguments) == 4 and arguments[2] != "--part"):
        raise NotForUs(usage)
    host, event = arguments[0].replace("-", "_"), arguments[1]
    if event not in ACTIONS.get(host, {}):
        raise NotForUs(f"nothing is done at that event of that host; {usage}")
    part = arguments[3] if len(arguments) == 4 else "1"
    if not (part.isascii() and part.isdigit() and len(part) < 4):
        raise NotForUs(usage)
    return host, event, int(part)


# -- the payload ---------------------------------------------------------------------------------------------------


def read_payload() -> Payload:
    """The object on stdin, as far as it can be read: it ends where it is whole, whether or not the agent closes it."""
    data, looks = bytearray(), 0
    while len(data) < PAYLOAD_MAX_BYTES and (piece := _read()):
        data += piece
        if looks < LOOKS_MOST and piece.rstrip().endswith(b"}"):
            looks += 1
            found, whole = walk(data.decode("utf-8", "replace"))
            if whole:
                return found
    return walk(data.decode("utf-8", "replace"))[0]


def _read() -> bytes:
    try:
        return os.read(0, READ_BYTES)
    except OSError:
        return b""


def _drain() -> None:
    """So that the agent can write all of it: a pipe that breaks may be an error there."""
    while _read():
        pass


def name_in(payload: Payload, key: str) -> str:
    """A short text of the payload; "" where it is none."""
    value = payload.get(key)
    return value if isinstance(value, str) and len(value) <= NAME_CHARACTERS else ""


def path_in(payload: Payload, key: str) -> str:
    """An absolute path of the payload; "" where there is none. NotForUs for what can be no path of a file."""
    value = payload.get(key)
    if value is None or value == "":
        return ""
    if not isinstance(value, str) or len(value) > PATH_CHARACTERS or "\0" in value:
        raise NotForUs(f"{key} is no path")
    path = os.path.expanduser(value)
    if not os.path.isabs(path):
        raise NotForUs(f"{key} is not absolute")
    return path


# -- what is done --------------------------------------------------------------------------------------------------


def _act(action: str, store_path: str, host: str, event: str, session: str, payload: Payload) -> None:
    if action in (RING, ENDED):
        _ring(store_path, host, event, session, payload, ended=action == ENDED)
    elif action == AGENT:
        _ring_for_agent(store_path, host, event, session, payload)
    elif action == OWE:
        if not name_in(payload, "agent_id"):
            bell.owe_memory(store_path, host, session)
    elif action in KINDS and not bell.owes_memory(store_path, host, session):
        _say(slot_output(event, _slot(store_path, host, session, payload, action)))
    elif action == NOTE:
        _note(store_path, host, session)
    elif action == SWEEP:
        bell.remove_handover(store_path, host, session)
    elif action == COMMAND and not is_command(payload):
        _act(NOTICES, store_path, host, event, session, payload)
    elif payload.get("source") not in NOTHING_TO_SAY and not name_in(payload, "agent_id"):
        _answer(action, store_path, host, event, session, payload)


def _answer(action: str, store_path: str, host: str, event: str, session: str, payload: Payload) -> None:
    compacted, in_parts = payload.get("source") == "compact", host == "claude_code"
    gives = event == "SessionStart" or action in KINDS
    if compacted and in_parts and not _is_given(store_path, host, session):
        bell.owe_memory(store_path, host, session)  # until it is printed: time may run out before
    if (compacted or (action in KINDS and not in_parts)) and _say_handed_over(store_path, host, event, session):
        return
    if gives and _is_given(store_path, host, session):
        return
    if action == COMMAND:
        said_too_late.append(to_json({"decision": "block", "reason": BUSY}))
    import gc

    gc.disable()  # it would cost a tenth of the time, and a process that is gone in a second keeps nothing
    from minutebook.hosts.answering import answer

    text = answer(host, event, payload, store_path)
    if not gives:
        _say(text)
    elif _give(store_path, host, event, session, text) and (compacted or action in KINDS or not in_parts):
        bell.settle(store_path, host, session)


def _is_given(store_path: str, host: str, session: str) -> bool:
    from minutebook.hosts.claims import is_claimed

    return is_claimed(store_path, host, session)


def _give(store_path: str, host: str, event: str, session: str, text: str, part: int = 1) -> bool:
    """Print a memory, or that part of it; False where the same hook does it that was installed in another way."""
    from minutebook.hosts.claims import claim

    if not text:
        return True
    if not claim(store_path, host, session, part):
        return False
    _say(text)
    if host == "claude_code" and event == "SessionStart":
        from minutebook.hosts.parts import note_printed

        note_printed(store_path, host, session, part)
    return True


def _say_handed_over(store_path: str, host: str, event: str, session: str) -> bool:
    """Print what was composed before the compaction, if it was: nothing more has to be loaded for that."""
    text = handed_over(store_path, host, event, session)
    if text is None:
        return False
    if _give(store_path, host, event, session, text):
        if host != "claude_code":  # there the other parts are printed by other hooks
            bell.remove_handover(store_path, host, session)
        bell.settle(store_path, host, session)
    return True


def handed_over(store_path: str, host: str, event: str, session: str) -> str | None:
    """What the hook that is asked first prints of a composition; None where none was handed over."""
    parts = bell.read_handover(store_path, host, session)
    if parts is None:
        return None
    text = parts[0] if parts and host == "claude_code" else "".join(parts)
    return text if event == "SessionStart" else injected(event, text)


def _note(store_path: str, host: str, session: str) -> None:
    from minutebook.hosts.processes import note_process

    note_process(store_path, host, os.environ.get("CLAUDE_PID", ""), session)


def is_command(payload: Payload) -> bool:
    """Whether the prompt is a command of ours, where the host itself has none: om:status, or /om:status."""
    prompt = payload.get("prompt")
    words = prompt.split() if isinstance(prompt, str) and len(prompt) <= COMMAND_CHARACTERS else []
    return 0 < len(words) <= COMMAND_WORDS and words[0].removeprefix("/") in COMMANDS


def _ring(store_path: str, host: str, event: str, session: str, payload: Payload, *, ended: bool = False) -> None:
    """What Codex says inside a sub-agent names the session, and the sub-agent's own transcript."""
    path = path_in(payload, "transcript_path")
    if not path or (event == "SessionStart" and not os.path.exists(path)):
        return  # nothing is kept of this session, or not yet
    agent = name_in(payload, "agent_id") if host == "codex" else ""
    _ring_for(store_path, host, session, path, payload, agent=agent, event=event, ended=ended)


def _ring_for_agent(store_path: str, host: str, event: str, session: str, payload: Payload) -> None:
    """A compaction runs as a sub-agent without a type: what it says is no part of the session."""
    path, agent = path_in(payload, "agent_transcript_path"), name_in(payload, "agent_id")
    if path and agent and payload.get("agent_type") != "":
        _ring_for(store_path, host, session, path, payload, agent=agent, event=event, ended=True)


def _ring_for(
    store_path: str, host: str, session: str, path: str, payload: Payload, *, event: str, ended: bool, agent: str = ""
) -> None:
    cwd = payload.get("cwd")
    cwd = cwd if isinstance(cwd, str) and len(cwd) <= PATH_CHARACTERS else ""
    if bell.is_paused(store_path, host, session, cwd):
        return
    bell.ring(store_path, host=host, session=session, agent=agent, path=path, cwd=cwd, event=event, ended=ended)
    if not bell.wake(store_path):
        bell.start_worker(store_path)


def _slot(store_path: str, host: str, session: str, payload: Payload, action: str) -> list[tuple[str, str]]:
    """(kind, text) of what workers left; what is for the session is not told to a sub-agent in it."""
    if name_in(payload, "agent_id"):
        return []
    lines = bell.take_slot(store_path, host, session, KINDS[action])
    said = [(str(line.get("kind")), text) for line in lines if isinstance(text := line.get("text"), str) and text]
    if action == NOTICES and (alone := bell.unheard(store_path, host, session)):
        said.append(("notice", alone))
    return said


def slot_output(event: str, lines: list[tuple[str, str]]) -> str:
    """What the hook prints so that steers reach the model, and notices the person; "" for nothing. Pure."""
    steers = "\n\n".join(text for kind, text in lines if kind == "steer")[:INJECTED_CHARACTERS]
    notices = "\n".join(text for kind, text in lines if kind == "notice")[:INJECTED_CHARACTERS]
    output: dict[str, object] = {"systemMessage": notices} if notices else {}
    if steers:
        output |= _into_context(event, steers)
    return to_json(output) if output else ""


def injected(event: str, text: str) -> str:
    """What a hook prints so that a text goes into the context where what is printed as it is does not; "" for none."""
    return to_json(_into_context(event, text)) if text else ""


def _into_context(event: str, text: str) -> dict[str, object]:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _print_part(store_path: str, host: str, session: str, payload: Payload, part: int) -> None:
    """One slice of what the hook of part 1 composes. At a compaction that was perhaps done long before."""
    if payload.get("source") in NOTHING_TO_SAY:
        return
    not_before = 0.0 if payload.get("source") == "compact" else time.time() - FRESH_SECONDS
    until = time.monotonic() + PART_SECONDS
    text = bell.wait_for_part(store_path, host, session, part, seconds=PART_SECONDS, not_before=not_before)
    if text:
        from minutebook.hosts.parts import wait_for_turn

        wait_for_turn(store_path, host, session, part, seconds=until - time.monotonic())
        _give(store_path, host, "SessionStart", session, text, part)


def _say(text: str) -> None:
    said_too_late.clear()
    if text:
        data = memoryview(text.encode("utf-8", "replace"))
        while data:
            data = data[os.write(1, data) :]

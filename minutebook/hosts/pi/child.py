"""The child of one Pi session: keeps the store open, takes its turns in, composes, answers. No model, no waiting.

Every request has an id and gets one line back, {"type": "result", "id", …}: with "error" where it could not be done,
with "wrong" where a person or a model gave something else than it takes. See the extension's wire.ts for all of them.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from minutebook.errors import BadInput, BadSetting, CompactionOpen, MinutebookError, NotFound
from minutebook.hosts import bell
from minutebook.hosts.fields import list_of, object_of, text_of
from minutebook.hosts.pi.composing import compose
from minutebook.hosts.pi.taking import Intake
from minutebook.hosts.pi.trigger import Answer, Notice, Trigger
from minutebook.hosts.pi.unmade import Unmade
from minutebook.hosts.relay import Relay
from minutebook.pipeline.branches import find_branch
from minutebook.pipeline.clocks import BranchState, compact_reading, compaction_due, observe_reading
from minutebook.pipeline.folds import abandon_fold
from minutebook.pipeline.intake import mark_ended
from minutebook.pipeline.readings import read_state
from minutebook.pipeline.sessions import find_session
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.settings_loading import Resolved, load
from minutebook.store.kernel import Store
from minutebook.store.opening import HOOK_BUSY_SECONDS, open_store
from minutebook.zones import machine_zone

PROTOCOL = 1
HOST = "pi"
NOBODY = Notice(
    "warning",
    "Minutebook: memory is due and no worker comes to make it. Nothing is lost; `om doctor` says what to do.",
)
Result = dict[str, Any]
Send = Callable[[Mapping[str, Any]], None]


class Child:
    """store_path: the local store's file. send: writes one line to the extension, from any thread."""

    def __init__(self, store_path: str, send: Send) -> None:
        self.store_path = store_path
        self._send = send
        self._store: Store | None = None
        self._key = self._session = self._cwd = self._file = ""
        self._window: int | None = None
        self._intake: Intake | None = None
        self._relay: Relay | None = None
        self._trigger = Trigger()
        self._unmade = Unmade()
        self._composed: Branch | None = None
        self._told = ""

    # -- lines ---------------------------------------------------------------------------------------------------------

    def handle(self, line: Mapping[str, Any]) -> None:
        """Do what one line asks; never raises."""
        kind = text_of(line.get("type"))
        if kind == "answer":
            if self._relay is not None:
                self._relay.answered(line)
        elif kind == "model":
            self._model_is(line)
        else:
            self._send({"type": "result", "id": line.get("id"), **self._result(kind, line)})

    def _result(self, kind: str, line: Mapping[str, Any]) -> Result:
        handler = _HANDLERS.get(kind)
        if handler is None:
            return {"error": f"there is no request {kind[:40]!r}"}
        try:
            return handler(self, line)
        except Exception as error:  # whatever it was: the session goes on, and the next request is answered
            if isinstance(error, BadInput) and not isinstance(error, BadSetting):
                return {"wrong": str(error)}
            known = isinstance(error, (MinutebookError, OSError))
            said = " ".join(str(error).split()) if known else f"{type(error).__name__}: {error}"
            bell.complain(f"pi {kind}: {said}")
            return {"error": said}

    def close(self) -> None:
        """The extension is gone: what the file holds by now is taken in, unless that was done before.

        A session that could not be opened (wrong settings, most often) is a worker's, once that is mended.
        """
        if self._relay is not None:
            self._relay.close()
        if self._intake is not None:
            with suppress(MinutebookError, OSError):
                self._take()
        elif self._session and os.path.exists(self._file):  # noqa: PTH110
            with suppress(OSError):
                self.leave_to_worker()
        if self._store is not None:
            self._store.close()
            self._store = None
        self._intake, self._session = None, ""

    # -- the session ---------------------------------------------------------------------------------------------------

    def _open(self, line: Mapping[str, Any]) -> Result:
        header = object_of(line.get("header"))
        self._session, self._cwd = text_of(header.get("id")), text_of(header.get("cwd"))
        if not self._session:
            raise BadInput("open: a session's header with its id is needed")
        self._key, self._file = f"{HOST}:{self._session}", text_of(line.get("file"))
        resolved = self._resolved()
        zone = resolved.settings.zone or machine_zone()
        intake = Intake(self._key, Path(self._file), header, zone, resolved.settings.ignore)
        there = intake.begin(self._opened())
        self._intake = intake
        if self._relay is not None:
            self._relay.close()
        self._relay = Relay(self.store_path, self._key, self._send)
        trouble = self._relay.start()
        if trouble:
            bell.complain(f"pi: {trouble}")
        self._model_is(line)
        self._wake(intake.moved or intake.behind)  # turns that ended while this process started
        warnings = [asdict(Notice("warning", f"Minutebook: {said}")) for said in resolved.warnings]
        return {"v": PROTOCOL, "cursor": line.get("last") if there else None, "notices": warnings}

    def _model_is(self, line: Mapping[str, Any]) -> None:
        model = object_of(line.get("model"))
        self._window = _whole(model.get("window"))
        if self._relay is not None:
            self._relay.model_is(model or None)

    def _entries(self, line: Mapping[str, Any]) -> Result:
        moved = self._taking(line)
        return {"cursor": line.get("last"), "moved": moved, **self._from_slot(("notice", "steer"))}

    def _taking(self, line: Mapping[str, Any]) -> bool:
        """Take in what came with a request."""
        intake = self._intake_open()
        intake.hold([entry for entry in map(object_of, list_of(line.get("entries"))) if entry])
        return self._take()

    def _take(self) -> bool:
        intake = self._intake_open()
        moved = intake.take(self._opened())
        self._wake(moved or intake.behind)
        return moved

    def _wake(self, wanted: bool) -> None:
        """Have what is new observed; the rest of a long file is read by the worker."""
        if self._intake is not None and self._intake.behind:
            self._ring()
        if wanted and not bell.wake(self.store_path):
            try:
                bell.start_worker(self.store_path)
            except OSError as error:  # what was asked for is done all the same
                bell.complain(f"pi: no worker can be started: {error}")

    def _ring(self) -> None:
        bell.ring(self.store_path, host=HOST, session=self._session, path=self._file, cwd=self._cwd, event="turn_end")

    def leave_to_worker(self) -> None:
        """Have a worker take the session's file in, as it is now. Raises OSError."""
        if not self._session:
            return
        self._ring()
        if not bell.wake(self.store_path):
            bell.start_worker(self.store_path)

    def _from_slot(self, kinds: tuple[str, ...]) -> Result:
        rows = bell.take_slot(self.store_path, HOST, self._session, kinds)
        said = [(str(row.get("kind")), str(row.get("text", ""))) for row in rows]
        return {
            "notices": [{"level": "warning", "text": text} for kind, text in said if kind == "notice"],
            "steers": [text for kind, text in said if kind == "steer"],
        }

    def _end(self, line: Mapping[str, Any]) -> Result:
        if self._intake is None:  # never opened: why was said, and closing leaves it to a worker
            return {}
        self._taking(line)
        if line.get("ended") is True:
            mark_ended(self._opened(), self._key)
            self._wake(True)
        return {}

    # -- compaction ----------------------------------------------------------------------------------------------------

    def _compact(self, line: Mapping[str, Any]) -> Result:
        self._taking(line)
        try:
            composed = compose(
                self._opened(),
                self._key,
                self._settings(),
                leaf=_texts(line.get("leaf")),
                kept=_texts(line.get("kept")),
                first_kept=text_of(line.get("first_kept")),
                tokens_before=_whole(line.get("tokens_before")),
            )
        except CompactionOpen as error:
            return self._refused(str(error))
        if composed is None:
            return {}
        self._composed, memory = composed
        self._told = ""
        return {
            "summary": memory.text,
            "first_kept": memory.first_kept,
            "tokens_before": memory.tokens_before,
            "details": dict(memory.details),
        }

    def _refused(self, why: str) -> Result:
        """Cancelled, with one notice for as long as the same composition is open (003-079)."""
        self._trigger.refused = True
        told, self._told = self._told, why
        notice = Notice("warning", f"Minutebook: {why}; this compaction is cancelled, try again in a minute")
        return {"refused": True, "notices": [] if told == why else [asdict(notice)]}

    def _abandon(self, line: Mapping[str, Any]) -> Result:
        """The compaction failed, or Pi did not wait for what was composed."""
        if self._composed is not None:
            abandon_fold(self._opened(), self._composed)
        return {}

    # -- the trigger ---------------------------------------------------------------------------------------------------

    def _look(self, line: Mapping[str, Any]) -> Result:
        self._taking(line)
        branch = self._branch()
        if branch is None:
            return _said(Answer())
        store, settings = self._opened(), self._settings()
        state, window = read_state(store, branch), _whole(line.get("window")) or self._window
        due, now = compaction_due(state, settings, window), time.monotonic()
        if line.get("second") is True:
            busy = line.get("busy") is True
            return _said(self._trigger.second_look(due, now, settings.job_deadline_seconds, busy=busy))
        reading = compact_reading(state, settings, window)
        answer = self._trigger.first_look(due, reading, now, settings.job_deadline_seconds)
        return _said(replace(answer, notices=(*answer.notices, *self._made_by_nobody(state, settings, now))))

    def _made_by_nobody(self, state: BranchState, settings: Settings, now: float) -> tuple[Notice, ...]:
        due = observe_reading(state, settings).reached and not (settings.passive or state.elsewhere)
        listening = not due or bell.wake(self.store_path)
        tells = self._unmade.look(due=due, observed=state.observed, listening=listening, now=now)
        return (NOBODY,) if tells else ()

    def _asked(self, line: Mapping[str, Any]) -> Result:
        return _said(Answer(notices=self._trigger.ended(text_of(line.get("how")), text_of(line.get("cause")))))

    # -- what is asked for ---------------------------------------------------------------------------------------------

    def _status(self, line: Mapping[str, Any]) -> Result:
        from minutebook.hosts.pi import telling

        store, settings = self._opened(), self._settings()
        window = _whole(line.get("window")) or self._window
        return {"text": telling.status(store, self._branch(), settings, _words(line), window)}

    def _view(self, line: Mapping[str, Any]) -> Result:
        from minutebook.hosts.pi import telling

        return {"text": telling.view(self._opened(), self._branch(), self._settings(), _words(line))}

    def _command_recall(self, line: Mapping[str, Any]) -> Result:
        from minutebook.hosts.pi import telling

        return {"text": telling.command_recall(self._opened(), self._branch(), _words(line))}

    def _recall(self, line: Mapping[str, Any]) -> Result:
        from minutebook.hosts.pi import telling

        page = line.get("page")
        wanted = 1 if page is None else _whole(page) or 0
        return dict(telling.recalled(self._opened(), self._branch(), text_of(line.get("record")), wanted))

    # -- the store -----------------------------------------------------------------------------------------------------

    def _opened(self) -> Store:
        if self._store is None:
            os.makedirs(os.path.dirname(self.store_path) or ".", mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
            self._store = open_store(self.store_path, busy_seconds=HOOK_BUSY_SECONDS)
        return self._store

    def _intake_open(self) -> Intake:
        if self._intake is None:
            raise NotFound("no session is open")
        return self._intake

    def _branch(self) -> Branch | None:
        session = find_session(self._opened(), self._key)
        return find_branch(self._opened(), session.branch) if session and session.branch else None

    def _settings(self) -> Settings:
        return self._resolved().settings

    def _resolved(self) -> Resolved:
        """Read each time: a person changes them while the session runs."""
        return load(Path(self._cwd) if self._cwd else None, {}, pi=True)


_HANDLERS: Mapping[str, Callable[[Child, Mapping[str, Any]], Result]] = {
    "open": Child._open,
    "entries": Child._entries,
    "compact": Child._compact,
    "abandon": Child._abandon,
    "look": Child._look,
    "asked": Child._asked,
    "status": Child._status,
    "view": Child._view,
    "command_recall": Child._command_recall,
    "recall": Child._recall,
    "end": Child._end,
}


def _said(answer: Answer) -> Result:
    return {
        "look_again": answer.look_again,
        "compact": answer.compact,
        "notices": [asdict(notice) for notice in answer.notices],
    }


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _texts(value: object) -> list[str]:
    return [each for each in list_of(value) if isinstance(each, str)]


def _words(line: Mapping[str, Any]) -> list[str]:
    return text_of(line.get("words")).split()

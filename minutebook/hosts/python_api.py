"""`minutebook.Session`: the memory of a program that keeps its own list of messages."""

import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path as Folder
from threading import RLock
from types import TracebackType
from typing import Any, Self

from minutebook.errors import BadInput, CompactionOpen, MinutebookError
from minutebook.hosts.bell import local_store_path, start_worker, wake
from minutebook.hosts.delivering import deliver_reading
from minutebook.hosts.python_ledger import Recorded
from minutebook.hosts.python_lists import cut_at
from minutebook.hosts.python_messages import Message, read_messages
from minutebook.pipeline.agenttools import TOOLS, answer, checked, nothing_yet
from minutebook.pipeline.answers import status_data
from minutebook.pipeline.branches import Path
from minutebook.pipeline.clocks import compaction_due
from minutebook.pipeline.compaction import Composition, compose_memory
from minutebook.pipeline.corrections import note
from minutebook.pipeline.deliveries import Reading, SessionHead
from minutebook.pipeline.folds import compaction_marks, confirm_fold
from minutebook.pipeline.intake import mark_ended, own_branch
from minutebook.pipeline.readings import read_state
from minutebook.pipeline.search import Hit, search
from minutebook.pipeline.sessions import find_session
from minutebook.pipeline.status import Status, read_status
from minutebook.pipeline.wording import minute
from minutebook.pipeline.workbook import iso_time
from minutebook.places import default_store_path
from minutebook.records import Branch, Observation, Relevance, observation_line
from minutebook.settings import Settings
from minutebook.settings_loading import load
from minutebook.settings_rules import ZONE, Refused
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from minutebook.zones import machine_zone

HOST = "python"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
BUSY_SECONDS = 10.0
LOOK_SECONDS = 0.05


def _now(store: Store) -> str:
    """Of the store's clock, ISO UTC with milliseconds: a pause begins and ends within a second."""
    moment = datetime.fromtimestamp(store.now(), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _checked_zone(zone: object) -> str:
    try:
        return str(ZONE.check(zone))
    except Refused as error:
        raise BadInput(f"zone = {str(zone)[:80]!r}: give {ZONE.allowed}") from error


class Session:
    """One conversation of a program, by its name; opening the same name goes on where it was.

    name: letters, digits and . _ : -. project: the folder whose .minutebook.toml and `om status` it belongs to, else
    the current one. store: a path or URL, else MINUTEBOOK_STORE or the store of this user. settings: by their names,
    over those of the files; they count for what this program does, as a worker reads the files alone. window: the
    model's context window in tokens, for the ratio mode. zone: IANA name in which times are shown. worker: whether the
    background worker of a local store is started when none runs. Raises BadInput, BadSetting, StoreError.
    Usable from several threads, one call at a time.
    """

    def __init__(
        self,
        name: str,
        *,
        project: str | os.PathLike[str] | None = None,
        store: str | os.PathLike[str] | None = None,
        settings: Mapping[str, object] | None = None,
        window: int | None = None,
        zone: str | None = None,
        worker: bool = True,
    ) -> None:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise BadInput(f"session {str(name)[:80]!r}: a letter or digit, then up to 199 of those and . _ : -")
        if window is not None and (type(window) is not int or window < 1):
            raise BadInput(f"window = {str(window)[:80]!r}: give the tokens of the model's context, a whole number")
        if settings is not None and not isinstance(settings, Mapping):
            raise BadInput(f"settings: give values by their names, not {type(settings).__name__}")
        self.name, self.key, self.window, self.worker = name, f"{HOST}:{name}", window, worker
        self.project = Folder(project or Folder.cwd()).absolute()
        self.settings: Settings = load(self.project, settings or {}).settings
        self.zone = _checked_zone(zone) if zone is not None else self.settings.zone or machine_zone()
        url = os.fspath(store) if store is not None else os.environ.get("MINUTEBOOK_STORE") or str(default_store_path())
        self._file = local_store_path({"MINUTEBOOK_STORE": url})
        self._lock = RLock()
        self._store: Store | None = open_store(url, busy_seconds=BUSY_SECONDS)
        self._recorded = Recorded(self._store, self.key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Release the store. The conversation is not over by that: see end()."""
        store, self._store = self._store, None
        if store is not None:
            store.close()

    @property
    def store(self) -> Store:
        """The open store; BadInput once it was closed."""
        if self._store is None:
            raise BadInput(f"session {self.name!r} was closed; open it again")
        return self._store

    # -- recording ---------------------------------------------------------------------------------------------

    def record(self, messages: Sequence[Any]) -> int:
        """Take messages in: the whole list again, its end, or only new ones; how many entries of them were new.

        Of OpenAI (chat and responses), Anthropic or litellm, as dicts or objects. What is there already is found by
        what it says and where it stands, so the same list twice is recorded once; a list that was cut back and goes on
        otherwise opens a branch. System messages and our own memory are left out. Raises BadInput, StoreError.
        """
        with self._lock:
            return self._take(self._read(messages), anew=False)

    def append(self, messages: Sequence[Any]) -> int:
        """Take messages in that are all new, without a look at what was recorded; how many entries that were."""
        with self._lock:
            return self._take(self._read(messages), anew=True)

    def note(self, text: str, *, relevance: Relevance = "critical") -> str:
        """Add an observation of a person's own; its line, with its id. It holds at once."""
        with self._lock:
            branch, now = self._branch(), iso_time(self.store.now())
            noted: Observation = note(
                self.store, branch, text, timestamp=minute(now, branch.zone), time=now, relevance=relevance
            )
            return observation_line(noted)

    def end(self) -> None:
        """The conversation is over: what is left of it is observed without waiting for more."""
        with self._lock:
            mark_ended(self.store, self.key)
            self._wake()

    def _read(self, messages: Sequence[Any]) -> list[Message]:
        return read_messages(messages, self._recorded.tools)

    def _take(self, messages: Sequence[Message], *, anew: bool) -> int:
        said = [each for message in messages for each in message.said]
        entries = self._recorded.new_entries(
            said, _now(self.store), anew=anew, whole=any(message.system for message in messages)
        )
        if not entries:
            self._recorded.took(whole=not anew)
            return 0
        head = SessionHead(host=HOST, session=self.name, project=str(self.project), zone=self.zone)
        reading = Reading(head=head, events=[*entries])
        done = deliver_reading(self.store, reading, zone=self.zone, ignore=self.settings.ignore)
        self._recorded.took(whole=not anew)
        if done.new:
            self._wake()
        return done.new

    def _wake(self) -> None:
        if self._file and self.worker and not wake(self._file):
            with suppress(OSError):
                start_worker(self._file)

    # -- compacting --------------------------------------------------------------------------------------------

    @property
    def compaction_due(self) -> bool:
        """Whether the context should be compacted, by compact_after_tokens; never waits for a worker (003-064)."""
        with self._lock:
            branch = self._branch_or_none()
            return branch is not None and compaction_due(
                read_state(self.store, branch), self.settings, window=self.window
            )

    def compact(self, messages: Sequence[Any], keep_recent_tokens: int | None = None) -> list[Any]:
        """A new list in place of this one: what the system says, the memory as a user's message, the newest messages.

        keep_recent_tokens: how much stays, the setting's when left out. A tool's call and its result stay together.
        What is kept is the very same objects. The list comes back as it was while there is nothing to cut or no memory
        yet. Records the messages first. Raises BadInput, StoreError.
        """
        with self._lock:
            read = self._read(messages)
            self._take(read, anew=False)
            lead = next((at for at, message in enumerate(read) if not message.system), len(read))
            keep = self.settings.keep_recent_tokens if keep_recent_tokens is None else keep_recent_tokens
            cut = cut_at(read, keep)
            if not any(message.said for message in read[lead:cut]):
                return list(messages)
            composed = self._fold(read, cut)
            if composed is None:
                return list(messages)
            return [*messages[:lead], {"role": "user", "content": composed.text}, *messages[cut:]]

    def compose(self, keep_recent_tokens: int | None = None) -> Composition | None:
        """The memory before the newest entries of so many tokens; None while there is none.

        For a program that builds its own context of `.text`. It is in force once confirm() says that the program did.
        Raises CompactionOpen while another one is open, StoreError.
        """
        from minutebook.pipeline.viewing import boundary_keeping

        with self._lock:
            branch = self._branch()
            path = Path(self.store, branch)
            keep = self.settings.keep_recent_tokens if keep_recent_tokens is None else keep_recent_tokens
            return compose_memory(self.store, branch, boundary_keeping(path, keep), self.settings)

    def confirm(self, composed: Composition) -> None:
        """What compose() gave has taken the place of the older messages."""
        with self._lock:
            branch = self._branch()
            self._confirm(branch, composed.boundary)

    def _fold(self, messages: Sequence[Message], cut: int) -> Composition | None:
        branch = self._branch()
        boundary, first_kept = self._recorded.standing(
            [each for message in messages for each in message.said],
            sum(len(message.said) for message in messages[:cut]),
        )
        try:
            composed = compose_memory(self.store, branch, boundary, self.settings, first_kept=first_kept)
        except CompactionOpen:  # another program's, or one that died: its lease ends, and the next turn asks again
            return None
        if composed is not None:
            self._confirm(branch, boundary)
        return composed

    def _confirm(self, branch: Branch, boundary: int) -> None:
        marks = compaction_marks(kept=boundary, at=Path(self.store, branch).length())
        confirm_fold(self.store, branch, time=iso_time(self.store.now()), advance=marks)
        self._recorded.compacted(boundary)

    # -- asking ------------------------------------------------------------------------------------------------

    def due(self) -> dict[str, str]:
        """Which roles are due, each with its reason."""
        with self._lock:
            status = self._status()
            return dict(status.due) if status is not None else {}

    def status(self) -> dict[str, Any]:
        """What `om status --json` says."""
        with self._lock:
            status = self._status()
            return status_data(status) if status is not None else {}

    def wait(self, seconds: float = 30.0) -> bool:
        """Wait until the memory is made that is due; False when it was not by then."""
        until = time.monotonic() + seconds
        self._wake()
        while True:
            with self._lock:
                status = self._status()
            if status is None or not (status.due or status.running or status.pending):
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(LOOK_SECONDS)

    def recall(self, record_id: str, page: int = 1) -> str:
        """A record and the exact source behind it, as text for a model. Raises BadRecordId, BadInput."""
        return self._ask("recall", {"id": record_id, "page": page})

    def view(self, *, full: bool = False, page: int = 1) -> str:
        """The memory as text: what the last compaction showed, or all that is active."""
        return self._ask("memory_view", {"full": full, "page": page})

    def search(self, words: str, limit: int = 10) -> list[Hit]:
        """Records and turns of this session by words, best first. Raises BadInput, StoreError."""
        if not isinstance(words, str):
            raise BadInput(f"words: give a text to look for, not {type(words).__name__}")
        with self._lock:
            branch = self._branch_or_none()
            return search(self.store, [branch], words, limit=limit) if branch is not None else []

    def tools(self, shape: str = "openai") -> list[dict[str, Any]]:
        """The tools by which a model asks its memory, as that API wants them: "openai", or "anthropic"."""
        if shape == "anthropic":
            return [{"name": t.name, "description": t.about, "input_schema": t.schema()} for t in TOOLS]
        if shape != "openai":
            raise BadInput(f"tools of {shape!r}: give 'openai' or 'anthropic'")
        named = ({"name": t.name, "description": t.about, "parameters": t.schema()} for t in TOOLS)
        return [{"type": "function", "function": each} for each in named]

    def call(self, name: str, arguments: object) -> str:
        """The result of a call of one of these tools; an error is a text that says so. Never raises for a model's sake.

        arguments: an object, or its JSON as a model wrote it.
        """
        import json

        try:
            return self._ask(name, json.loads(arguments) if isinstance(arguments, str) else arguments)
        except MinutebookError as error:
            return f"Error: {error}"
        except (ValueError, RecursionError) as error:
            return f"Error: the arguments of {name} are no valid JSON: {error}"

    def _ask(self, name: str, arguments: object) -> str:
        with self._lock:
            question = checked(name, arguments)
            branch = self._branch_or_none()
            return nothing_yet(self.key) if branch is None else answer(self.store, branch, self.settings, question).text

    def _status(self) -> Status | None:
        branch = self._branch_or_none()
        return None if branch is None else read_status(self.store, branch, self.settings, window=self.window)

    def _branch_or_none(self) -> Branch | None:
        return self._branch() if find_session(self.store, self.key) is not None else None

    def _branch(self) -> Branch:
        return own_branch(self.store, self.key)

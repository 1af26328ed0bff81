"""What the hosts' files of one seed hold. A story is a function of seed and session, nothing else."""

import random
import string
from collections.abc import Sequence
from dataclasses import dataclass, replace

from minutebook.pipeline.deliveries import HostCompaction, ImportedMemory
from minutebook.records import INJECTED, OBSERVATIONS, REFLECTIONS, MemoryEntry, Part, SourceEntry, Usage

Event = SourceEntry | HostCompaction | ImportedMemory
SESSIONS = ("a", "b", "c", "a/sub")
"""b begins as a copy of a; c brings a foreign memory along; a/sub is a sub-agent of a."""
TOKEN = "".join(("gh", "p_"))
NOUNS = ("port", "timeout", "index", "retry limit", "cache size", "deploy branch", "log level", "batch size")
FILLER = "the parser reads each line of the input and keeps what it has seen so far in a table of offsets"


@dataclass(frozen=True, slots=True)
class Story:
    """One session's file. events: as its host writes them, in order. secrets: what is planted in them."""

    session: str
    events: tuple[Event, ...]
    secrets: tuple[str, ...]

    @property
    def sources(self) -> list[SourceEntry]:
        """Its source entries."""
        return [event for event in self.events if isinstance(event, SourceEntry)]

    def part(self, start: int, stop: int, changed: Sequence[int] = ()) -> list[Event]:
        """A piece of the file as it is, or with other text under the ids of some entries."""
        return [rewritten(event) if at in changed else event for at, event in enumerate(self.events)][start:stop]


def rewritten(event: Event) -> Event:
    """The same entry, with another text under its id."""
    if not isinstance(event, SourceEntry):
        return event
    return replace(event, parts=(Part(kind="text", text=f"rewritten: {event.id} says something else now"),))


def story_of(seed: int, session: str) -> Story:
    """The story of one of SESSIONS."""
    if session == "b":
        return _copied(seed)
    writer = _Writer(seed, session)
    writer.write(random.Random(f"{seed} length {session}").randint(8, 26))
    return Story(session, tuple(writer.events), tuple(writer.secrets))


def _copied(seed: int) -> Story:
    """A host's own fork: the beginning of a's file, then what is its own."""
    dice = random.Random(f"{seed} copy")
    whole = story_of(seed, "a")
    shared = [event for event in whole.events if isinstance(event, SourceEntry | HostCompaction)]
    shared = shared[: dice.randint(1, max(1, len(shared) - 2))]
    writer = _Writer(seed, "b")
    writer.events = list(shared)
    writer.ids = [event.id for event in shared if isinstance(event, SourceEntry)]
    writer.write(dice.randint(2, 12))
    return Story("b", tuple(writer.events), tuple(writer.secrets) + whole.secrets)


class _Writer:
    """Writes one file, event by event."""

    def __init__(self, seed: int, session: str) -> None:
        self.dice = random.Random(f"{seed} story {session}")
        self.session = session
        self.name = session.replace("/", "")
        self.events: list[Event] = []
        self.ids: list[str] = []
        self.secrets: list[str] = []
        self.number = 0

    def write(self, length: int) -> None:
        turns = [self.prompt, self.answer, self.answer, self.tools, self.tools, self.goes_back, self.odd, self.host]
        self.prompt()
        while len(self.events) < length:
            self.dice.choice(turns)()
        if self.session == "c" and self.dice.random() < 0.6:
            self.foreign()

    def add(self, role: str, text: str, *, parent: str | None = "", parts: Sequence[Part] = (), **more: object) -> str:
        self.number += 1
        id_ = f"{self.name}{self.number}"
        before = self.ids[-1] if self.ids else None
        minute = f"{10 + self.number // 60:02}:{self.number % 60:02}"
        entry = SourceEntry(
            id=id_,
            parent=before if parent == "" else parent,
            role=role,
            time=f"2026-05-02T{minute}:00Z",
            parts=tuple(parts) or (Part(kind="text", text=text),),
            **more,  # type: ignore[arg-type]
        )
        self.events.append(entry)
        self.ids.append(id_)
        return id_

    def words(self) -> str:
        """A statement, often one that corrects an older one, with filler or a secret."""
        noun, value = self.dice.choice(NOUNS), self.dice.randint(1, 9999)
        said = self.dice.choice(
            [
                f"The {noun} is {value}.",
                f"No, the {noun} is {value}, not {value + 1}.",
                f"We decided to use {value} as the {noun} from now on.",
                f"Please always check the {noun} before a release, it must be {value}.",
            ]
        )
        if self.dice.random() < 0.1:
            secret = TOKEN + "".join(self.dice.choices(string.ascii_letters + string.digits, k=36))
            self.secrets.append(secret)
            said += f" The token is {secret} for now."
        return f"{said} {FILLER} " * self.dice.choice([1, 1, 2])

    def prompt(self) -> None:
        self.add("user", self.words(), typed=True)

    def answer(self) -> None:
        usage = None
        if self.dice.random() < 0.3:
            usage = Usage(reply_id=f"r{self.number}", model="m", context_tokens=self.dice.randint(100, 4_000))
        self.add("assistant", self.words(), usage=usage)

    def tools(self) -> None:
        """A call or two at once; their results each hang on the call."""
        count = self.dice.randint(1, 3)
        calls = [f"{self.name}-call{self.number}-{at}" for at in range(count)]
        parts = [Part(kind="tool_call", text='{"path":"x"}', name="Bash", call_id=call) for call in calls]
        asked = self.add("assistant", "", parts=parts)
        for call in calls:
            failed = self.dice.random() < 0.3
            text = f"error: exit 1 in {call}: {self.words()}" if failed else f"ok, 12 passed: {self.words()}"
            self.add("tool_result", text, parent=asked, tool_name="Bash", call_id=call, is_error=failed)

    def goes_back(self) -> None:
        """A typed prompt whose known parent is not the tip; or, as Pi says it, an entry after a move."""
        parent = self.dice.choice(self.ids)
        if self.dice.random() < 0.7:
            self.add("user", "Again: " + self.words(), parent=parent, typed=True)
        else:
            self.add("assistant", "From there: " + self.words(), parent=parent, moved=True)

    def odd(self) -> None:
        """Empty, ours, an image, of an unknown parent, or far over the observer's chunk."""
        kind = self.dice.randrange(5)
        if kind == 0:
            self.add("assistant", "  ")
        elif kind == 1:
            self.add("custom", "<memory>old</memory>", custom_type=INJECTED)
        elif kind == 2:
            self.add("user", "", parts=[Part(kind="image", text="a screenshot")], typed=True)
        elif kind == 3:
            self.add("user", "Of nowhere: " + self.words(), parent="unknown", typed=True)
        else:
            self.add("tool_result", "long output " * 200, tool_name="Read")

    def host(self) -> None:
        """The host's own compaction."""
        kept = self.dice.choice([*self.ids[-4:], ""])
        self.number += 1
        self.events.append(HostCompaction(id=f"{self.name}-own{self.number}", first_kept=kept, after=self.ids[-1]))

    def foreign(self) -> None:
        """Memory of another extension: records, and a fold that shows some of them, and one that nobody recorded."""
        at = self.dice.randint(1, len(self.events))
        before = [event.id for event in self.events[:at] if isinstance(event, SourceEntry)]
        rows = [_observation(f"{number:012x}", f"foreign {number}", before[:1]) for number in range(1, 4)]
        concluded = {"id": "a" * 12, "content": "so foreign", "supportingObservationIds": [rows[0]["id"]]}
        shown = {"type": "om.folded", "version": 1, "fullFold": self.dice.random() < 0.5, "observations": rows[1:]}
        self.events[at:at] = [
            _imported("m1", OBSERVATIONS, {"observations": rows[:2]}, before),
            _imported("m2", REFLECTIONS, {"reflections": [concluded]}, before),
            HostCompaction(id="foreign", first_kept=before[-1], after=before[-1], fold=shown),
        ]


def _observation(id_: str, content: str, sources: Sequence[str]) -> dict[str, object]:
    stamp = "2026-05-02 10:30"
    row = {"id": id_, "content": content, "timestamp": stamp, "relevance": "high", "sourceEntryIds": list(sources)}
    return {**row, "tokenCount": 9}


def _imported(id_: str, kind: str, data: dict[str, object], before: Sequence[str]) -> ImportedMemory:
    entry = MemoryEntry(id=id_, kind=kind, covers=0, since=0, data=data)
    return ImportedMemory(entry=entry, covers_id=before[-1], after=before[-1])

"""A failing scenario made small: actors, acts and moves are left out for as long as it fails in the same way."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from fuzz.playing import Die, Move, Played, Run, Scenario, play
from fuzz.stores import NewStore, in_file
from fuzz.story import story_of

from minutebook.records import SourceEntry

T = TypeVar("T")
Fails = Callable[[Scenario], bool]
MOST_PLAYS = 400


def shrunk(scenario: Scenario, played: Played, *, plays: int = MOST_PLAYS, new_store: NewStore = in_file) -> Scenario:
    """The smallest scenario found that breaks an invariant of the same number, given one that did and its moves."""
    number = kind_of(played)
    left = [plays]

    def fails(candidate: Scenario) -> bool:
        left[0] -= 1
        return left[0] >= 0 and kind_of(play(candidate, new_store)) == number

    small = replace(scenario, moves=tuple(merged(played.moves)))
    if not fails(small):
        return small
    for shrink in (_actors, _acts, _moves, _acts, _moves, _plain):
        small = shrink(small, fails)
    return small


def kind_of(played: Played) -> str:
    """What the first broken invariant is called, without names and numbers of the run."""
    return "".join(sign for sign in played.broken[0][:80] if not sign.isdigit())[:14] if played.broken else ""


def merged(moves: Sequence[Move]) -> list[Move]:
    """Turns of one actor that follow each other, as one."""
    found: list[Move] = []
    for move in moves:
        last = found[-1] if found else None
        if isinstance(move, Run) and isinstance(last, Run) and last.actor == move.actor:
            found[-1] = Run(move.actor, last.calls + move.calls)
        else:
            found.append(move)
    return found


def without(items: Sequence[T], still: Callable[[Sequence[T]], bool]) -> list[T]:
    """Leave out halves, then quarters, … then single items, while it still fails."""
    kept = list(items)
    size = max(1, len(kept) // 2)
    while size:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if still(fewer):
                kept = fewer
            else:
                at += size
        size //= 2
    return kept


def _actors(scenario: Scenario, fails: Fails) -> Scenario:
    names = without(list(scenario.actors), lambda kept: fails(_of(scenario, kept)))
    return _of(scenario, names)


def _of(scenario: Scenario, names: Sequence[str]) -> Scenario:
    return replace(scenario, actors={name: scenario.actors[name] for name in names})


def _acts(scenario: Scenario, fails: Fails) -> Scenario:
    for name in list(scenario.actors):
        acts = without(
            scenario.actors[name],
            lambda kept, name=name, on=scenario: fails(_with(on, name, kept)),  # type: ignore[misc]
        )
        scenario = _with(scenario, name, acts)
    return scenario


def _with(scenario: Scenario, name: str, acts: Sequence[object]) -> Scenario:
    return replace(scenario, actors={**scenario.actors, name: list(acts)})  # type: ignore[dict-item]


def _moves(scenario: Scenario, fails: Fails) -> Scenario:
    there = [move for move in scenario.moves or () if getattr(move, "actor", None) in (None, *scenario.actors)]
    kept = without(there, lambda moves: fails(replace(scenario, moves=tuple(moves))))
    return replace(scenario, moves=tuple(merged(kept)))


def _plain(scenario: Scenario, fails: Fails) -> Scenario:
    """The first settings, whole checkpoints."""
    for plain in (replace(scenario, small=0), replace(scenario, preset=0)):
        if plain != scenario and fails(plain):
            scenario = plain
    return scenario


def as_test(scenario: Scenario, broken: Sequence[str]) -> str:
    """A scenario as a test to paste, with what its files hold as comments."""
    sessions = sorted({session for acts in scenario.actors.values() for act in acts if (session := _session_of(act))})
    lines = [
        f"def test_seed_{scenario.seed}() -> None:",
        *(f"    # {line}" for session in sessions for line in file_lines(scenario.seed, session)),
        *(f"    # broke: {each}" for each in broken),
        "    scenario = Scenario(",
        f"        seed={scenario.seed},",
        "        actors={",
        *(f"            {name!r}: [{', '.join(map(repr, acts))}]," for name, acts in scenario.actors.items() if acts),
        "        },",
        f"        moves=[{', '.join(map(repr, scenario.moves or ()))}],",
        f"        preset={scenario.preset},",
        f"        small={scenario.small},",
        f"        last={scenario.last!r},",
        "    )",
        "    assert play(scenario).broken == []",
    ]
    return "\n".join(lines)


def file_lines(seed: int, session: str) -> Iterator[str]:
    """One short line for each event of a file."""
    for at, event in enumerate(story_of(seed, session).events):
        if isinstance(event, SourceEntry):
            marks = "".join(mark for mark, on in ((" typed", event.typed), (" moved", event.moved)) if on)
            yield f"{session}[{at}] {event.role} {event.id} after {event.parent}{marks}"
        else:
            after = getattr(event, "after", "")
            yield f"{session}[{at}] {type(event).__name__} {getattr(event, 'id', '')} after {after}"


def _session_of(act: object) -> str:
    return str(getattr(act, "session", ""))


def deaths_of(scenario: Scenario) -> int:
    """How many of its moves kill."""
    return sum(isinstance(move, Die) for move in scenario.moves or ())

"""What was recorded of a program's session, as the keys of its entries in order; entries are made from what is new."""

import re
from collections.abc import Sequence

from minutebook.hosts.python_lists import find_new
from minutebook.hosts.python_messages import Said
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path, find_branch, memory_stream
from minutebook.pipeline.sessions import find_session
from minutebook.records import Branch, SourceEntry, content_id
from minutebook.store.kernel import Store

ID = re.compile(r"([0-9a-f]{12})\.[0-9a-f]{8}")
"""An entry's id: what it says, and behind what it stands, at last behind its session. So the same words twice are two,
on another branch others, and no session looks like a copy of one that began in the same second with the same words."""
TOOLS_KNOWN = 4_096
LEFT_OUT = -1


class Recorded:
    """The path on which a session stands, read when something is asked and kept up to date.

    tools: names by call ids, for results. places: positions on the path, of the entries that a program delivered;
    LEFT_OUT of those that were not recorded (a pause), so that they are not taken for new when it is over.
    """

    def __init__(self, store: Store, key: str) -> None:
        self.store = store
        self.key = key
        self.tools: dict[str, str] = {}
        self.branch: Branch | None = None
        self.length = 0
        self.ids: list[str] = []
        self.places: list[int] = []
        self.window = 0
        self.begin = 0
        self.whole = False
        self.last: list[str] = []
        self.given: list[str] = []
        self.made: list[str] = []

    @property
    def keys(self) -> list[str]:
        return [each.partition(".")[0] for each in self.ids]

    def new_entries(self, said: Sequence[Said], time: str, *, anew: bool, whole: bool) -> list[SourceEntry]:
        """Entries for what is new. anew: all of it. whole: it is seen from the list that it is a whole one."""
        self._refresh()
        self._learn(said)
        self.given = keys = [each.key for each in said]
        known = self.keys
        if anew:
            start, after = 0, len(known)
        else:
            typed = [each.typed for each in said]
            found = find_new(known, keys, typed, windows=self._windows(), whole=whole or self.whole)
            start, after = found.start, found.after
        before = self.ids[after - 1] if after else self.key
        entries = []
        for each, key in zip(said[start:], keys[start:], strict=True):
            entry = _entry(each, key, before, time, moved=after < len(known), first=before == self.key)
            entries.append(entry)
            before = entry.id
        self.made = [entry.id for entry in entries] if after == len(known) else []
        return entries

    def took(self, *, whole: bool) -> None:
        """The list that was last asked about is recorded: remember whether the next one is likely a whole one again."""
        last, given = self.last, self.given
        self.whole = whole and (self.whole or (1 < len(last) < len(given) and given[: len(last)] == last))
        self.last = given
        self._refresh()
        self._pass_over()
        begin = len(self.ids) - len(given)
        if begin >= 0 and self.keys[begin:] == given:
            self.begin = begin

    def standing(self, said: Sequence[Said], first: int) -> tuple[int, str]:
        """Position and id of the piece at this index of a list that was just recorded, or of the next one known."""
        self._refresh()
        known = self.keys
        for index in range(first, len(said)):
            at = len(known) - (len(said) - index)
            if at >= 0 and known[at] == said[index].key and self.places[at] != LEFT_OUT:
                return self.places[at], self.ids[at]
        return self.length, ""

    def compacted(self, boundary: int) -> None:
        """From there on the program's list goes on now."""
        self.window = next((at for at, place in enumerate(self.places) if place >= boundary), len(self.places))

    def _pass_over(self) -> None:
        """What was handed over last and did not get into the ledger stands in its order, too."""
        there = dict(zip(self.ids, self.places, strict=True))
        if all(each in there for each in self.made):
            return
        made = frozenset(self.made)
        kept = [each for each in self.ids if each not in made]
        self.ids = [*kept, *self.made]
        self.places = [there.get(each, LEFT_OUT) for each in self.ids]

    def _windows(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys([self.begin, self.window, 0]))

    def _refresh(self) -> None:
        """What the store has now: another program may go on with the same session, or a branch was opened."""
        session = find_session(self.store, self.key)
        branch = find_branch(self.store, session.branch) if session is not None else None
        if branch is None:
            self.branch, self.length, self.ids, self.places = None, 0, [], []
            return
        if self.branch is None or self.branch.key != branch.key:
            self.branch, self.length, self.ids, self.places, self.window = branch, 0, [], [], 0
            self.begin = 0
        path = Path(self.store, branch)
        for placed in path.walk(self.length):
            self.length = placed.position + 1
            if ID.fullmatch(placed.entry.id):
                self.ids.append(placed.entry.id)
                self.places.append(placed.position)
        if not self.window:
            boundary = self.store.tip(memory_stream(branch.key)).marks.get(ledger.COMPACTED_FROM, 0)
            self.compacted(boundary)

    def _learn(self, said: Sequence[Said]) -> None:
        for each in said:
            for part in each.parts:
                if part.kind == "tool_call" and part.call_id:
                    self.tools[part.call_id] = part.name
        while len(self.tools) > TOOLS_KNOWN:
            del self.tools[next(iter(self.tools))]


def _entry(said: Said, key: str, before: str, time: str, *, moved: bool, first: bool) -> SourceEntry:
    return SourceEntry(
        id=f"{key}.{content_id(before, key)[:8]}",
        parent=None if first else before,
        role=said.role,
        time=time,
        parts=said.parts,
        tool_name=said.tool_name,
        custom_type=said.custom_type,
        call_id=said.call_id,
        is_error=said.is_error,
        typed=said.typed,
        moved=moved,
    )

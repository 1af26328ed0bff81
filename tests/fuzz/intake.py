"""Invariant 1: every source entry that a host delivered is in the ledger once, in order; no typed prompt is lost."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from hashlib import sha256

from fuzz.seen import Delivery, Seen, SeenBranch

from minutebook.pipeline.intake import redactor_of
from minutebook.pipeline.sessions import Session
from minutebook.pipeline.sourcetext import entry_text
from minutebook.records import NOTE, Placed, SourceEntry
from minutebook.redaction import Redactor
from minutebook.store.kernel import Store

Told = tuple[str, str]
"""The host's id of an entry, and the hash of its raw text: the same id with another text is another entry."""


def misplaced(store: Store, seen: Seen, delivered: Sequence[Delivery]) -> Iterator[str]:
    """What is lost, doubled, changed, out of order or invented; and counts that are not what they count."""
    of_session: dict[str, list[Delivery]] = defaultdict(list)
    for delivery in delivered:
        of_session[delivery.session].append(delivery)
    redactor = redactor_of(store)
    for key, deliveries in of_session.items():
        session = seen.sessions.get(key)
        if session is not None:
            yield from _of_session(seen, session, deliveries, redactor)
        elif any(delivery.ended is not None for delivery in deliveries):
            yield f"1: {key}: was delivered, and there is no such session"
    for branch in seen.branches.values():
        yield from _with_holes(branch)


def _of_session(seen: Seen, session: Session, deliveries: Sequence[Delivery], redactor: Redactor) -> Iterator[str]:
    raw = {told(entry): entry for delivery in deliveries for entry in delivery.entries}
    places: dict[Told, list[tuple[str, int]]] = defaultdict(list)
    for place, placed in seen.places(session).items():
        places[told_of(placed)].append(place)
        own = place[0] in session.branches
        if told_of(placed) in raw:
            yield from _changed(session.key, placed, raw[told_of(placed)], redactor)
        elif own and placed.entry.custom_type != NOTE:
            yield f"1: {session.key}: holds {placed.entry.id}, which nobody delivered"
    must = {told(entry) for each in deliveries if each.ended is not None for entry in each.entries}
    for each in raw:
        times = len(places[each])
        if times > 1 or (times == 0 and each in must):
            typed = ", a typed prompt," if raw[each].typed else ""
            yield f"1: {session.key}: {each[0]}{typed} is there {times} times: {places[each]}"
    yield from _out_of_order(session.key, deliveries, places)
    yield from _miscounted(session, seen)


def told(entry: SourceEntry) -> Told:
    """What a delivered entry is known by."""
    return entry.id, sha256(entry_text(entry).encode("utf-8", "surrogatepass")).hexdigest()


def told_of(placed: Placed) -> Told:
    """The same of a stored one."""
    return placed.entry.version_of or placed.entry.id, placed.entry.text_sha256


def _changed(key: str, placed: Placed, raw: SourceEntry, redactor: Redactor) -> Iterator[str]:
    """The text is exact but for placeholders."""
    if placed.entry.parts != redactor.redact_entry(raw).parts:
        yield f"3: {key}: the text of {placed.entry.id} is not what was delivered"
    if (placed.entry.role, placed.entry.typed) != (raw.role, raw.typed):
        yield f"1: {key}: {placed.entry.id} became {placed.entry.role}, typed={placed.entry.typed}"


def _out_of_order(key: str, deliveries: Sequence[Delivery], places: dict[Told, list[tuple[str, int]]]) -> Iterator[str]:
    """Where only deliveries that hold both, the one before the other, can have come first, that order stands."""
    ranks = [({told(entry): at for at, entry in reversed(list(enumerate(each.entries)))}, each) for each in deliveries]
    by_branch: dict[str, list[tuple[int, Told]]] = defaultdict(list)
    for each, found in places.items():
        for branch, position in found:
            by_branch[branch].append((position, each))
    for branch, found in by_branch.items():
        stored = [each for _, each in sorted(found)]
        for at, later in enumerate(stored):
            for earlier in stored[:at]:
                if _must_come_first(later, earlier, ranks):
                    yield f"1: {key}: {earlier[0]} stands before {later[0]} on {branch}, against their delivery"


def _must_come_first(one: Told, other: Told, ranks: Sequence[tuple[dict[Told, int], Delivery]]) -> bool:
    holding = [(rank, each) for rank, each in ranks if one in rank or other in rank]
    first = min((each.ended for _, each in holding if each.ended is not None), default=None)
    begun = [rank for rank, each in holding if first is None or each.began <= first]
    return bool(begun) and all(one in rank and other in rank and rank[one] < rank[other] for rank in begun)


def _miscounted(session: Session, seen: Seen) -> Iterator[str]:
    own = [placed.entry for key in session.branches if key in seen.branches for placed in _own(seen.branches[key])]
    prompts = sum(entry.typed and not entry.version_of for entry in own)
    versions = sum(bool(entry.version_of) for entry in own)
    if (session.prompts, session.versions) != (prompts, versions):
        said = f"{session.prompts} prompts and {session.versions} versions"
        yield f"1: {session.key}: counts {said}, and holds {prompts} and {versions}"


def _own(seen: SeenBranch) -> Sequence[Placed]:
    return seen.path[seen.branch.fork :]


def _with_holes(seen: SeenBranch) -> Iterator[str]:
    total = 0
    for at, placed in enumerate(seen.path):
        total += placed.tokens
        if (placed.position, placed.total) != (at, total):
            yield f"1: {seen.branch.key}: entry {at} stands at {placed.position}, {placed.total} tokens, not {total}"
            return

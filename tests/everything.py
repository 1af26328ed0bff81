"""A store that holds everything that can be said about a session, with a word planted in all of it."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builders import call, concluded, deliver, observed, remember, reply, result, say

from minutebook.pipeline import ledger, notices, questions, workbook
from minutebook.pipeline.boxkeys import owner_of
from minutebook.pipeline.branches import list_branches, load_branch
from minutebook.pipeline.compaction import compose_memory
from minutebook.pipeline.corrections import note, retire
from minutebook.pipeline.deliveries import HostCompaction, ImportedMemory, Reading, SessionHead
from minutebook.pipeline.erasing import Erasure, derived_of, erase_all
from minutebook.pipeline.exporting import note_export, select
from minutebook.pipeline.folds import confirm_fold
from minutebook.pipeline.intake import mark_ended
from minutebook.pipeline.keeping_out import keep_out
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.pipeline.pauses import Pause, begin_pause, end_pauses
from minutebook.pipeline.questions import Candidate, Verdict
from minutebook.pipeline.sessions import session_key
from minutebook.pipeline.shapes import observation_data
from minutebook.records import GAP, OBSERVATIONS, Branch, MemoryEntry, SourceEntry
from minutebook.settings import Settings
from minutebook.store.kernel import Job, Store
from minutebook.workers import models_accounts
from minutebook.workers.exchange import Spent

CANARY = "Zirbelnuss"
"""What must be found nowhere after a purge."""
OTHER = "neutral:other"
SETTINGS = Settings()


@dataclass(frozen=True, slots=True)
class Everything:
    """Keys of a full store. own: the session, its sub-agent. copies: sessions that rest on it."""

    main: str
    own: tuple[str, ...]
    copies: tuple[str, ...]


def turns(word: str, count: int) -> list[SourceEntry]:
    """Prompts and answers, with the word in their texts and ids."""
    made = []
    for at in range(count):
        entry = say if at % 2 == 0 else reply
        parent = f"{word}-e{at - 1}" if at else None
        made.append(entry(f"{word} in turn {at}: " + "some words to weigh " * 8, id=f"{word}-e{at}", parent=parent))
    return made


def fill(store: Store, session: str = "s1", word: str = CANARY, *, host: str = "neutral") -> Everything:
    """One session with all that rests on it: two branches, a sub-agent, a copy that parted and one that follows."""
    main, project = f"{host}:{session}", f"/home/me/{word}"
    events = turns(word, 8)
    deliver(
        store, [*events, call(word, f'{{"{word}": 1}}', id=f"{word}-c"), result(word)], session, host, project=project
    )
    fork = deliver(store, [say(f"back to {word}", id=f"{word}-f", parent=f"{word}-e1"), reply(word)], session, host)
    deliver(store, [reply(f"{word} again", id=f"{word}-e3", parent=f"{word}-e2")], session, host)
    deliver(store, turns(f"{word}-agent", 4), session, host, agent=f"{word}-agent")
    deliver(store, [*events, say(f"{word} elsewhere", id=f"{word}-p")], f"{session}-copy", host)
    deliver(store, events[:4], f"{session}-follower", host)
    for branch in (load_branch(store, main), fork):
        learn(store, branch, word)
    noted(store, load_branch(store, main), word)
    kept_out_of(store, SessionHead(host=host, session=session, project=project), word)
    note_export(store, f"/home/me/{word}.jsonl", select(store, [main]))
    copies = (f"{main}-copy", f"{main}-follower")
    return Everything(main, (main, f"{main}/{word}-agent"), copies)


def kept_out_of(store: Store, head: SessionHead, word: str) -> None:
    """What is known of a session's pauses, and of calls that were left out."""
    ignored = [call("Read", f'{{"path": "{word}.env"}}', call_id=f"{word}-ignored", id=f"{word}-i")]
    keep_out(store, Reading(head=head, events=list(ignored)), ignore=["*.env"])
    pause = Pause(scope="session", name=session_key(head), since="2020-05-02T10:30:00Z")
    begin_pause(store, pause)
    end_pauses(store, [pause], "2020-05-02T10:31:00Z")


def learn(store: Store, branch: Branch, word: str) -> None:
    """Memory of every kind, from roles, a person and another extension; a confirmed compaction, and an open one."""
    seen = [observed(f"{word} {number} on {branch.key}", sources=(f"{word}-e1",)) for number in range(3)]
    facts = [concluded(f"{word} is fact {number} on {branch.key}", seen[number]) for number in range(2)]
    remember(store, branch, observations=seen, reflections=facts, covers=3)
    remember(store, branch, digest=(f"a digest of {word}", facts[0]), dropped=[seen[2]], mind=word, covers=3)
    reason = {"reason": f"{word} was refused", "sourceEntryIds": [f"{word}-e2"]}
    append_memory(store, branch, [memory_entry(Entry(kind=GAP, covers=4, since=3, data=reason))])
    if not owner_of(branch.key):  # on a box nobody writes a note
        note(store, branch, f"mind {word}", timestamp="2026-05-02 10:30", time="2026-05-02T10:30:00Z")
    retire(store, branch, seen[1].id, time="2026-05-02T10:30:00Z")
    foreign = {"observations": [observation_data(observed(f"imported {word}"))]}
    entry = MemoryEntry(id=f"{word}-m", kind=OBSERVATIONS, covers=0, since=0, data=foreign)
    host, _, session = branch.key.partition("@")[0].partition(":")
    imported = ImportedMemory(entry=entry, covers_id=f"{word}-e1", after=f"{word}-e1")
    deliver(store, [imported, HostCompaction(id=f"{word}-h", after=f"{word}-e1")], session, host)
    assert compose_memory(store, branch, 2, SETTINGS, first_kept=f"{word}-e2") is not None
    confirm_fold(store, branch, time="2026-05-02T10:30:00Z", advance={ledger.COMPACTED_FROM: 2})
    assert compose_memory(store, branch, 3, SETTINGS) is not None


def noted(store: Store, branch: Branch, word: str) -> None:
    """What workers and commands keep beside the ledger."""
    job = Job("observer", branch.lineage, branch.key)
    workbook.note_error(store, job, ValueError(f"{word} cannot be read"), "span")
    workbook.note_span(store, job, workbook.Span(read=0, start=1, entries=2, tries=1, error=f"{word}!"))
    workbook.count_run(store, job, "failed", mind=word)
    spent = Spent(input_tokens=10, output_tokens=2, cost_usd=0.25)
    models_accounts.record(store, session=branch.key, role="observer", model="m/x", spent=spent, priced=True)
    question = questions.ask(
        store, branch, word, [Candidate(id="a", kind="turn", text=word)], limit=1, deadline_seconds=60
    )
    questions.answer(store, question, Verdict(ids=("a",), mind=word))
    questions.ask(store, branch, f"{word}?", [], limit=1, deadline_seconds=60)
    notices.tell(store, f"quota {word}", f"the model said {word}", about=branch.key)
    store.claim(job, "owner", lease_seconds=60, deadline_seconds=60)
    for each in list_branches(store, branch.key):
        store.queue(Job("reflector", each.lineage, each.key))
        store.mark_dirty(each.key)
    mark_ended(store, branch.key)


# -- looking and removing ---------------------------------------------------------------------------------------------


def purge(store: Store, *keys: str, with_copies: bool = True) -> Erasure:
    erasure = derived_of(store, keys, with_copies=with_copies)
    erase_all(store, erasure)
    return erasure


def stored_bytes(url: str) -> bytes:
    """Every byte that a store keeps: of the files of SQLite, of the keys and values of Redis, unpacked."""
    if "://" in url:
        return redis_bytes(url)
    folder, name = Path(url).parent, Path(url).name
    return b"".join(file.read_bytes() for file in folder.glob(f"{name}*") if file.is_file())


def redis_bytes(url: str) -> bytes:
    def plain(value: Any) -> Iterator[bytes]:
        if isinstance(value, (list, tuple, set)):
            for each in value:
                yield from plain(each)
        elif isinstance(value, dict):
            yield from plain([*value.items()])
        elif isinstance(value, bytes):
            yield value
            for at in [at for at in range(len(value)) if value[at : at + 1] == b"\x78"]:  # where zlib begins
                try:
                    yield zlib.decompressobj().decompress(value[at:])
                except zlib.error:
                    continue

    reads = {b"string": "get", b"hash": "hgetall", b"set": "smembers"}
    with server_client(url) as client:
        found = []
        for key in client.keys("*"):
            kind = client.type(key)
            if kind in reads:
                found += [key, *plain(getattr(client, reads[kind])(key))]
            elif kind == b"list":
                found += [key, *plain(client.lrange(key, 0, -1))]
            else:
                assert kind == b"zset", kind
                found += [key, *plain(client.zrange(key, 0, -1))]
    return b"\0".join(found)


def server_client(url: str) -> Any:
    import redis

    return redis.Redis.from_url(url)

"""A laptop's session and branch on a box: whether they are what they say, and how they are kept there."""

from collections.abc import Sequence
from dataclasses import replace

from minutebook.errors import BadInput, BoxDiverged, NotFound
from minutebook.pipeline import ledger
from minutebook.pipeline.boxkeys import (
    HOST,
    PROJECT,
    SIGN,
    branch_on_box,
    checked_user,
    session_on_box,
)
from minutebook.pipeline.branches import Path, branch_put, find_branch, memory_stream
from minutebook.pipeline.forks import id_before, inherit, memory_id_before
from minutebook.pipeline.intake import redactor_of
from minutebook.pipeline.readings import session_key_of
from minutebook.pipeline.sessions import COMPACTIONS_KNOWN, Session, session_put, shortened
from minutebook.records import Branch
from minutebook.store.kernel import Put, Stale, Store

KEY_MAX_CHARACTERS = 2_000
"""Of a key and of each short text of a session; a text is cut there, a key is refused."""


def admitted(user: str, session: Session, branch: Branch) -> tuple[Session, Branch]:
    """Both as the box keeps them. BadInput where they contradict themselves; NotFound for another user's keys."""
    checked_user(user)
    session, branch = session_on_box(user, session), branch_on_box(user, branch)
    host = session.host.partition(SIGN)[2]
    lineage = f"{session.host}:{session.session}"
    wrong = {
        f"host {host[:80]!r} is no name": not HOST.fullmatch(host),
        "a session without an id": not session.session,
        "a key that is too long": max(len(session.key), len(branch.key)) > KEY_MAX_CHARACTERS,
        f"session {session.key[:80]!r} is another one's key": session.key != lineage + _agent(session),
        f"branch {branch.key[:80]!r} is no branch of that session": (branch.host, branch.session)
        != (session.host, session.session)
        or session_key_of(branch) != session.key,
        f"project {session.project[:80]!r} is no name of one": bool(session.project)
        and not PROJECT.fullmatch(session.project),
        f"branch {branch.key[:80]!r} is no {branch.kind}": not _is_of_its_kind(session, branch, lineage),
    }
    for words, is_wrong in wrong.items():
        if is_wrong:
            raise BadInput(words)
    return session, branch


def _agent(session: Session) -> str:
    return f"/{session.agent}" if session.agent else ""


def _is_of_its_kind(session: Session, branch: Branch, lineage: str) -> bool:
    if branch.kind == "fork":
        return bool(branch.parent) and branch.parent != branch.key
    root = branch.key == session.key and not branch.parent and not branch.fork and not branch.parent_memory
    return root and branch.lineage == lineage and (branch.kind == "subagent") == bool(session.agent)


# -- the branch ----------------------------------------------------------------------------------------------------


def opened(store: Store, stored: Session | None, session: Session, branch: Branch) -> Branch | None:
    """The branch as it is here, made if it is new; None when another made it or wrote the session meanwhile."""
    there = find_branch(store, branch.key)
    if there is None:
        return _created(store, stored, session, branch)
    for name in ("parent", "fork", "fork_id"):
        here, sent = getattr(there, name), getattr(branch, name)
        if here != sent and not (name == "fork_id" and "" in (here, sent)):
            raise BoxDiverged(
                f"{branch.key}: its {name} is {here!r} on the box and {sent!r} on the machine that sent it"
            )
    return there


def _created(store: Store, stored: Session | None, session: Session, branch: Branch) -> Branch | None:
    made = replace(branch, project=session.project, base_tokens=0)
    marks = {ledger.OBSERVER: branch.observed, ledger.REFLECTOR: branch.reflected}
    puts: Sequence[Put] = ()
    if branch.kind == "fork":
        parent = _parent(store, branch)
        made = replace(made, lineage=parent.lineage, base_tokens=Path(store, parent).tokens_before(branch.fork))
        inherited = inherit(store, made, _marks_then(store, branch, marks))
        marks, puts = {**inherited.marks}, inherited.puts
    after = merged(store, stored, session, made, grew=False, now=store.now())
    done = store.append(
        memory_stream(made.key), [], advance=marks, dirty=made.key, puts=[branch_put(made), *puts, session_put(after)]
    )
    return None if isinstance(done, Stale) else made


def _parent(store: Store, branch: Branch) -> Branch:
    """The parent, which must be here as far as the branch shares it: the same entries, the same memory."""
    parent = find_branch(store, branch.parent)
    if parent is None:
        raise NotFound(f"{branch.key}: its parent {branch.parent!r} is not on the box yet; send that first")
    path, memory = Path(store, parent), store.tip(memory_stream(parent.key)).length
    if path.length() < branch.fork or memory < branch.parent_memory:
        raise NotFound(f"{branch.key}: it shares more of {branch.parent!r} than is on the box yet; send that first")
    fork_id, memory_id = id_before(path, branch.fork), memory_id_before(store, parent.key, branch.parent_memory)
    if branch.fork_id not in ("", fork_id) or branch.memory_id not in ("", memory_id):
        raise BoxDiverged(f"{branch.key}: what it shares of {branch.parent!r} is something else on the box")
    return parent


def _marks_then(store: Store, branch: Branch, frozen: dict[str, int]) -> dict[str, int]:
    """The parent's marks when the branch was made: as they are if its memory is as it was, else what the branch kept.

    Later coverages rest on entries that the branch does not share.
    """
    tip = store.tip(memory_stream(branch.parent))
    if tip.length == branch.parent_memory:
        return {**tip.marks, **{name: max(value, tip.marks.get(name, 0)) for name, value in frozen.items()}}
    return {**frozen, ledger.DIGEST_BUDGET: tip.marks.get(ledger.DIGEST_BUDGET, 0)}


# -- the session ---------------------------------------------------------------------------------------------------


def merged(
    store: Store, stored: Session | None, session: Session, branch: Branch, *, grew: bool, now: float
) -> Session:
    """The session after one of its laptops spoke. grew: with new entries, so that it is not late news.

    What only ever grows never shrinks by a message that comes late; what turns (ended, the branch it is on) turns with
    new entries, or as of the same ones.
    """
    told = _told(store, session)
    if stored is None:
        return replace(told, branch=branch.key, branches=[branch.key], touched=now)
    late = not grew and (told.last_time, told.prompts) < (stored.last_time, stored.prompts)
    newer = grew or (told.last_time, told.prompts) > (stored.last_time, stored.prompts)
    known = {*stored.branches, branch.key}
    base = stored if late else told
    return replace(
        base,
        version=stored.version,
        project=stored.project or told.project,
        started=stored.started or told.started,
        title=stored.title or told.title,
        model=base.model or stored.model,
        calibration=base.calibration or stored.calibration,
        last_time=max(stored.last_time, told.last_time),
        prompts=max(stored.prompts, told.prompts),
        versions=max(stored.versions, told.versions),
        branches=[*dict.fromkeys([*(key for key in told.branches if key in known), *stored.branches, branch.key])],
        branch=base.branch if base.branch in known else stored.branch or branch.key,
        ended=told.ended if newer else stored.ended or (told.ended and not late),
        touched=now if grew else stored.touched,
    )


def _told(store: Store, session: Session) -> Session:
    """What the box keeps of a laptop's session: nothing about its files."""
    return Session(
        key=session.key,
        host=session.host,
        session=session.session,
        agent=session.agent,
        project=session.project,
        zone=session.zone[:KEY_MAX_CHARACTERS],
        host_version=session.host_version[:KEY_MAX_CHARACTERS],
        started=session.started[:KEY_MAX_CHARACTERS],
        last_time=session.last_time[:KEY_MAX_CHARACTERS],
        lineage=session.lineage,
        branch=session.branch,
        branches=session.branches,
        passed=session.passed,
        versions=session.versions,
        prompts=session.prompts,
        title=shortened(redactor_of(store).redact(session.title)),
        model=session.model[:KEY_MAX_CHARACTERS],
        compactions=session.compactions[-COMPACTIONS_KNOWN:],
        ended=session.ended,
        calibration=session.calibration,
    )

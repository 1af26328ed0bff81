"""One branch as the clocks see it: a constant number of look-ups, no fold, whatever the length of the session."""

from minutebook.pipeline import calibration, ledger
from minutebook.pipeline.branches import Path, memory_stream, source_stream
from minutebook.pipeline.clocks import BranchState
from minutebook.pipeline.sessions import Session, find_session
from minutebook.records import Branch
from minutebook.store.kernel import Store


def read_state(
    store: Store, branch: Branch, *, session: Session | None = None, now: float | None = None
) -> BranchState:
    """What due_roles compares. session: the branch's own, else looked up. now: seconds of the store's clock."""
    session = session or session_of(store, branch)
    tip = store.tip(memory_stream(branch.key))
    marks = tip.marks
    total = branch.base_tokens + store.tip(source_stream(branch.key)).total

    def since(mark: str) -> int:
        return total - _tokens_before(store, branch, marks.get(mark, 0))

    return BranchState(
        unobserved_tokens=since(ledger.OBSERVER),
        unreflected_tokens=since(ledger.REFLECTOR),
        factor=calibration.factor_of(calibration.from_data(session.calibration)) if session else 1.0,
        observed=marks.get(ledger.OBSERVER, 0),
        reflected=marks.get(ledger.REFLECTOR, 0),
        pool_tokens=marks.get(ledger.POOL_TOKENS, 0),
        undigested_tokens=marks.get(ledger.UNDIGESTED_TOKENS, 0),
        digest_tokens=marks.get(ledger.DIGEST_TOKENS, 0),
        digest_budget=marks.get(ledger.DIGEST_BUDGET, 0),
        reflections_recorded=marks.get(ledger.REFLECTIONS_RECORDED, 0),
        dropper_read=marks.get(ledger.DROPPER, 0),
        digester_read=marks.get(ledger.DIGESTER, 0),
        ended=session.ended if session else False,
        # Of a last entry that lies ahead, because the clock went back, nobody knows how old it is: it counts as old.
        idle_seconds=abs((store.now() if now is None else now) - session.touched) if session else 0.0,
        subagent=branch.kind == "subagent" or bool(session and session.agent),
        compacted_from_tokens=since(ledger.COMPACTED_FROM),
        since_compaction_tokens=since(ledger.COMPACTED_AT),
        compacted=marks.get(ledger.COMPACTED_AT, 0) > 0,
        elsewhere=marks.get(ledger.BOX, 0) == ledger.BOXED or tip.length < branch.given,
    )


def session_of(store: Store, branch: Branch) -> Session | None:
    """The session on which the branch arrived; None for a branch that no host delivered."""
    return find_session(store, session_key_of(branch))


def session_key_of(branch: Branch) -> str:
    """host:session or host:session/agent; what a fork inside a session adds to it is cut off."""
    root = f"{branch.host}:{branch.session}"
    if not branch.key.startswith(root):
        return branch.key.partition("@")[0]
    return root + branch.key[len(root) :].partition("@")[0]


def _tokens_before(store: Store, branch: Branch, position: int) -> int:
    """Like Path.tokens_before, without a walk up the chain for a position that is the branch's own."""
    if position <= 0:
        return 0
    if position < branch.fork:
        return Path(store, branch).tokens_before(position)
    return branch.base_tokens + store.total_before(source_stream(branch.key), position - branch.fork)

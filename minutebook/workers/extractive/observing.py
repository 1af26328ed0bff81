"""The observer's rules put together: drafts of all roles, what a correction replaces, and how much is kept."""

import re
from collections.abc import Iterator, Sequence

from minutebook.records import Relevance
from minutebook.workers.contract import Desk, ObserveBatch, Shown
from minutebook.workers.extractive.calls import text_of
from minutebook.workers.extractive.completions import assistant_drafts, last_question, task_drafts
from minutebook.workers.extractive.corrections import Claim, claim, claim_of, replaced
from minutebook.workers.extractive.drafts import Draft, in_ledger_order
from minutebook.workers.extractive.errorlines import error_line
from minutebook.workers.extractive.sentences import HEAD_CHARACTERS, TAIL_CHARACTERS, quoted
from minutebook.workers.extractive.statements import Statement, as_correction, is_filler, statements_of
from minutebook.workers.extractive.subjects import subject_of
from minutebook.workers.extractive.tools import tool_drafts
from minutebook.workers.extractive.wordings import ANSWER

SHARE_OF: dict[Relevance, float] = {"low": 0.05, "medium": 0.07, "high": 0.10, "critical": 0.14}
"""Observations of this relevance, with all weightier ones, may take this share of the chunk's tokens."""
LEAST_TOKENS = 400
"""A small chunk may be observed in full: a single prompt is worth its line."""
ANSWER_QUESTION_CHARACTERS = 200

_TESTS = re.compile(r"^Tests (?:failing|passing): (`[^`]*`)")


def observe(batch: ObserveBatch, desk: Desk) -> None:
    """Propose the observations of a batch, oldest first, or nothing."""
    drafts = observations_of(batch)
    if not drafts:
        desk.nothing()
        return
    for group in _calls(drafts, batch.now):
        desk.record([draft.proposal(batch.now) for draft in group])


def observations_of(batch: ObserveBatch) -> list[Draft]:
    """The drafts that are kept, in order, with the ids of the observations that each one replaces."""
    drafts = [*_user_drafts(batch.sources), *assistant_drafts(batch.sources), *tool_drafts(batch.sources)]
    told = any(one.content.startswith("Task given: ") for one in batch.observations)
    drafts += [*task_drafts(batch.sources, told), *_branch_summaries(batch.sources)]
    drafts.sort(key=lambda draft: draft.order)
    linked = _without_repeats(_linked(drafts, batch), batch)
    return _selected(linked, batch)


# What a user says


def _user_drafts(sources: Sequence[Shown]) -> list[Draft]:
    drafts: list[Draft] = []
    answered: Shown | None = None
    for shown in sources:
        entry = shown.placed.entry
        if entry.role == "assistant" and text_of(entry).strip():
            answered = shown
        elif entry.role == "user" and entry.typed:
            drafts += _prompt_drafts(shown, answered)
            answered = None
    return drafts


def _prompt_drafts(shown: Shown, answered: Shown | None) -> Iterator[Draft]:
    prompt = text_of(shown.placed.entry)
    if answer := _answer_draft(prompt, shown, answered):
        yield answer
        return
    statements, prose = statements_of(prompt)
    for at, statement in enumerate(statements):
        yield UserDraft.of(statement, shown, at)
    if line := error_line(prose.pasted, strict=True):
        yield _draft(f"User showed an error: {quoted(line)}", "high", (shown,), 90)


def _answer_draft(prompt: str, shown: Shown, answered: Shown | None) -> Draft | None:
    """A short answer means something only beside its question: "yes" to "Should I also rename the flag?"."""
    words = prompt.strip().lower()
    if answered is None or len(words) > 60 or not ANSWER.match(words):
        return None
    question = last_question(answered)
    if not question:
        return None
    content = f"User answered: {quoted(prompt)} to the assistant's {quoted(question, ANSWER_QUESTION_CHARACTERS)}"
    return _draft(content, "high", in_ledger_order(answered, shown), 0)


class UserDraft(Draft):
    """A draft that holds a user's statement, so that a correction can be told from a plain one once it is linked."""

    __slots__ = ("statement",)
    statement: Statement

    @classmethod
    def of(cls, statement: Statement, shown: Shown, at: int) -> "UserDraft":
        """The draft of one statement of a prompt."""
        draft = cls(content="", relevance="low", sources=(shown,), order=(shown.placed.position, at))
        draft.state(statement)
        return draft

    def state(self, statement: Statement) -> None:
        """Take over the statement's words, kind and relevance."""
        self.statement = statement
        self.content = statement.prefix + quoted(statement.text)
        self.relevance = statement.relevance


def _draft(content: str, relevance: Relevance, sources: tuple[Shown, ...], at: int) -> Draft:
    return Draft(content=content, relevance=relevance, sources=sources, order=(sources[-1].placed.position, at))


def _branch_summaries(sources: Sequence[Shown]) -> Iterator[Draft]:
    for shown in sources:
        text = text_of(shown.placed.entry) if shown.placed.entry.role == "branch_summary" else ""
        if text.strip() and not is_filler(text[:HEAD_CHARACTERS]):
            yield _draft(
                f"Branch summary: {quoted(text[: HEAD_CHARACTERS + TAIL_CHARACTERS], 600)}", "medium", (shown,), 0
            )


# What replaces what


def _linked(drafts: list[Draft], batch: ObserveBatch) -> list[Draft]:
    """Drafts with `replaces` set, judged in order of time against all that stands before them."""
    claims = [found for at, one in enumerate(batch.observations) if (found := claim_of(one, at))]
    for draft in drafts:
        if isinstance(draft, UserDraft):
            _link(draft, claims)
        if found := claim(draft.id(batch.now), draft.content, len(batch.observations) + draft.order[0]):
            claims.append(found)
    _link_tests(drafts, batch)
    return drafts


def _link(draft: UserDraft, claims: list[Claim]) -> None:
    """Set what a statement replaces; a soft correction that finds something becomes one."""
    statement = draft.statement
    if statement.kind in ("question", "considered", "aside", "reported"):
        return
    marked = statement.kind == "correction" or statement.soft
    old = replaced(statement.text, claims, marked=marked) or replaced(statement.text, claims, marked=False)
    if not old:
        return
    draft.replaces = [one.id for one in old]
    draft.state(as_correction(statement))
    if not _names_subject(statement.text, old):
        draft.content += f" (was: {quoted(old[-1].text)})"
    gone = set(draft.replaces)
    claims[:] = [one for one in claims if one.id not in gone]


def _names_subject(text: str, old: Sequence[Claim]) -> bool:
    """Whether the correction can be understood without the statement that it replaces ("make it 30s" cannot)."""
    return len(subject_of(text).topic) >= 1 or not old


def _link_tests(drafts: list[Draft], batch: ObserveBatch) -> None:
    """The newest outcome of a test command replaces its older ones."""
    older = {found[1]: one.id for one in batch.observations if (found := _TESTS.match(one.content))}
    for draft in drafts:
        found = _TESTS.match(draft.content)
        if found and found[1] in older:
            draft.replaces = [older[found[1]]]


def _without_repeats(drafts: list[Draft], batch: ObserveBatch) -> list[Draft]:
    """Without what a user said before in the same words and what still stands, and without doubles."""
    standing = {one.content for one in batch.observations}
    seen: set[str] = set()
    kept: list[Draft] = []
    for draft in drafts:
        if draft.content not in seen and not (isinstance(draft, UserDraft) and draft.content in standing):
            kept.append(draft)
        seen.add(draft.content)
    return kept


# How much is kept


def _selected(drafts: list[Draft], batch: ObserveBatch) -> list[Draft]:
    """The weightiest drafts within the chunk's allowance; the first to go are the lowest, and of these the oldest."""
    chunk = sum(one.placed.tokens for one in batch.sources)
    chosen: list[Draft] = []
    spent = 0
    for relevance in ("critical", "high", "medium", "low"):
        allowance = max(LEAST_TOKENS, int(SHARE_OF[relevance] * chunk))
        for draft in reversed([one for one in drafts if one.relevance == relevance]):
            if spent + draft.tokens <= allowance:
                chosen.append(draft)
                spent += draft.tokens
    chosen = _said_by_each_prompt(drafts, chosen)
    return _only_known(sorted(chosen, key=lambda draft: draft.order), batch)


def _said_by_each_prompt(drafts: list[Draft], chosen: list[Draft]) -> list[Draft]:
    """No prompt that says something is passed over: its weightiest statement comes back in."""
    heard = {draft.order[0] for draft in chosen if isinstance(draft, UserDraft)}
    missing: dict[int, Draft] = {}
    ranks = ("low", "medium", "high", "critical")
    for draft in drafts:
        if isinstance(draft, UserDraft) and draft.order[0] not in heard:
            best = missing.get(draft.order[0])
            if best is None or ranks.index(draft.relevance) > ranks.index(best.relevance):
                missing[draft.order[0]] = draft
    return [*chosen, *(draft for draft in missing.values() if draft.relevance != "low")]


def _only_known(drafts: list[Draft], batch: ObserveBatch) -> list[Draft]:
    """Without references to drafts of this run that were left out."""
    known = {one.id for one in batch.observations} | {draft.id(batch.now) for draft in drafts}
    for draft in drafts:
        draft.replaces = [one for one in draft.replaces if one in known]
    return drafts


def _calls(drafts: list[Draft], now: str) -> Iterator[list[Draft]]:
    """Drafts in recording calls, so that what one replaces was accepted in an earlier call."""
    group: list[Draft] = []
    held: set[str] = set()
    for draft in drafts:
        if held.intersection(draft.replaces):
            yield group
            group, held = [], set()
        group.append(draft)
        held.add(draft.id(now))
    yield group

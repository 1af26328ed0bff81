"""Reflections, digests and drops of the extractive mind."""

from extractive_kit import AcceptingDesk, Memory, assistant, call, result, user

from minutebook.records import Observation, Reflection, Relevance, Tier, observation_line, reflection_id
from minutebook.tokens import estimate_tokens
from minutebook.workers.contract import DigestBatch, DropBatch, Mind, ReflectBatch, Weighed
from minutebook.workers.extractive import ExtractiveMind


def observation(content: str, relevance: Relevance = "medium", at: int = 0) -> Observation:
    return Observation(
        id=f"{abs(hash((content, at))) % 16**12:012x}",
        content=content,
        timestamp=f"2026-03-01 10:{at:02}",
        relevance=relevance,
        source_ids=("e0",),
    )


def weighed(*observations: Observation, tier: Tier = "none") -> tuple[Weighed, ...]:
    return tuple(Weighed(observation=one, tier=tier) for one in observations)


def reflection(content: str, *supports: str) -> Reflection:
    return Reflection(id=reflection_id(content), content=content, support_ids=supports)


def reflected(observations: tuple[Weighed, ...], reflections: tuple[Reflection, ...] = ()) -> AcceptingDesk:
    desk = AcceptingDesk()
    ExtractiveMind().reflect(ReflectBatch(reflections=reflections, observations=observations), desk)
    return desk


def test_it_is_a_mind_named_extractive() -> None:
    mind: Mind = ExtractiveMind()
    assert mind.name == "extractive"


# reflect


def test_what_binds_becomes_a_reflection_with_its_supports() -> None:
    memory = Memory()
    memory.take(
        user("Never commit directly to main."),
        user("I prefer small functions."),
        user("Let's use SQLite for the cache."),
        user("My name is Ana."),
        user("The API port is 8443, not 8080."),
        user("Add a button."),
        assistant("", call("Bash", "c1", command="git commit -m x")),
        result("c1", "[main 1a2b3c4] Add x"),
    )
    desk = reflected(weighed(*memory.active))
    assert [one["content"] for one in desk.proposals] == [
        'Constraint: "Never commit directly to main."',
        'Preference: "I prefer small functions."',
        'Decision: "Let\'s use SQLite for the cache."',
        'Identity: "My name is Ana."',
        'Correction: "The API port is 8443, not 8080."',
        "Done: 1a2b3c4 on main: Add x",
    ]
    known = {one.id for one in memory.active}
    assert all(set(one["supports"]) <= known and one["supports"] for one in desk.proposals)


def test_near_repetitions_support_one_reflection() -> None:
    one = observation('User: "Never commit directly to main."', "critical", 1)
    two = observation('User: "never commit to main directly!"', "critical", 2)
    desk = reflected(weighed(one, two))
    assert [(p["content"], p["supports"]) for p in desk.proposals] == [
        ('Constraint: "never commit to main directly!"', [one.id, two.id])
    ]


def test_covered_and_already_said_is_not_said_again() -> None:
    covered = weighed(observation('User: "Never push on Fridays."', "critical"), tier="partial")
    again = weighed(observation('User: "Never commit directly to main."', "critical"))
    desk = reflected(covered + again, (reflection('Constraint: "Never commit to main directly."', "f" * 12),))
    assert (desk.proposals, desk.nothings) == ([], 1)


def test_another_number_is_not_the_same() -> None:
    known = reflection('Constraint: "At most 3 retries per request."', "f" * 12)
    desk = reflected(weighed(observation('User: "At most 5 retries per batch request."', "critical")), (known,))
    assert len(desk.proposals) == 1


def test_a_correction_supersedes_the_reflection_on_its_subject() -> None:
    known = (
        reflection('Fact: "The API port is 8080."', "a" * 12),
        reflection('Constraint: "Never log customer e-mail addresses."', "b" * 12),
    )
    desk = reflected(weighed(observation('User corrected: "The API port is 8443, not 8080."', "critical")), known)
    assert [one.get("supersedes") for one in desk.proposals] == [[known[0].id]]


def test_a_later_reflection_is_not_superseded_by_an_older_correction() -> None:
    correction = observation('User corrected: "Use pnpm instead of yarn."', "critical", 1)
    later = observation('User: "Yarn is fine for the docs folder."', "high", 2)
    known = (reflection('Decision: "Yarn is fine for the docs folder."', later.id),)
    desk = reflected((*weighed(correction), *weighed(later, tier="partial")), known)
    assert "supersedes" not in desk.proposals[0]


def test_an_observation_replaced_in_the_batch_is_no_conclusion() -> None:
    old = observation('User: "The API port is 8080."', "high", 1)
    new = observation('User corrected: "The API port is 8443, not 8080."', "critical", 2)
    assert [one["supports"] for one in reflected(weighed(old, new)).proposals] == [[new.id]]


def test_a_recurring_error_and_a_busy_file() -> None:
    errors = [observation(f'Command failed: `make {at}` → "fatal: no disk"', "high", at) for at in range(3)]
    edits = [observation(f"Edited src/a.py (2×), src/b{at}.py", "medium", 10 + at) for at in range(4)]
    found = reflected(weighed(*errors, *edits)).proposals
    assert [(one["content"], len(one["supports"])) for one in found] == [
        ('Recurring error: "fatal: no disk"', 3),
        ("Often edited: src/a.py", 4),
    ]


def test_routine_gives_nothing() -> None:
    desk = reflected(weighed(observation('User asked: "Add a button."'), observation('Assistant: "Done."', "low")))
    assert (desk.proposals, desk.nothings) == ([], 1)


def test_another_minds_critical_observation_is_kept_in_its_words() -> None:
    found = reflected(weighed(observation("Ana is the tech lead.", "critical"), observation("A page was styled.")))
    assert [one["content"] for one in found.proposals] == ["Ana is the tech lead."]


# digest


def digested(previous: str, contents: list[str], budget: int) -> AcceptingDesk:
    desk = AcceptingDesk()
    reflections = tuple(reflection(content, "a" * 12) for content in contents)
    ExtractiveMind().digest(DigestBatch(previous=previous, reflections=reflections, budget_tokens=budget), desk)
    return desk


def test_a_digest_ranks_by_kind_and_newest_first() -> None:
    desk = digested(
        "", ['Fact: "a is 1."', 'Decision: "use b."', 'Constraint: "never c."', 'Constraint: "never d."'], 500
    )
    assert desk.proposals[0]["content"].splitlines() == [
        'Constraint: "never d."',
        'Constraint: "never c."',
        'Decision: "use b."',
        'Fact: "a is 1."',
    ]


def test_a_digest_is_never_over_its_budget() -> None:
    contents = [f'Constraint: "never touch module {at} (größer)."' for at in range(200)]
    for budget in (1, 5, 12, 37, 100, 1_000):
        desk = digested('Constraint: "an old line."', contents, budget)
        assert desk.nothings + len(desk.proposals) == 1
        assert all(estimate_tokens(one["content"]) <= budget for one in desk.proposals)
    assert digested("", contents, 1).nothings == 1


def test_a_digest_keeps_old_lines_and_lets_the_latest_state_win() -> None:
    previous = 'Constraint: "Never push on Fridays."\nFact: "The API port is 8080."'
    desk = digested(
        previous, ['Correction: "The API port is 8443, not 8080."', 'Constraint: "Never push on Fridays."'], 500
    )
    assert desk.proposals[0]["content"].splitlines() == [
        'Constraint: "Never push on Fridays."',
        'Correction: "The API port is 8443, not 8080."',
    ]


# drop


def dropped(observations: tuple[Weighed, ...], max_drops: int, target: int = 0) -> AcceptingDesk:
    desk = AcceptingDesk()
    pool = sum(estimate_tokens(observation_line(one.observation)) for one in observations)
    batch = DropBatch(
        reflections=(), observations=observations, pool_tokens=pool, target_tokens=target, max_drops=max_drops
    )
    ExtractiveMind().drop(batch, desk)
    return desk


def test_drops_go_by_coverage_then_relevance_then_age_003_044() -> None:
    strong = weighed(observation('User: "Never a."', "critical", 1), tier="strong")
    partial = weighed(observation('User: "I like b."', "high", 2), tier="partial")
    routine = weighed(
        observation("Edited c.py", "medium", 3),
        observation('Assistant: "Saw d."', "low", 4),
        observation("Edited e.py", "medium", 5),
    )
    pool = (*routine, *partial, *strong)
    order = [strong[0], partial[0], routine[1], routine[0], routine[2]]
    assert [one["id"] for one in dropped(pool, 99).proposals] == [one.observation.id for one in order]
    assert [one["id"] for one in dropped(pool, 2).proposals] == [one.observation.id for one in order[:2]]


def test_uncovered_rules_corrections_and_criticals_stay() -> None:
    kept = weighed(
        observation('User: "Never commit to main."', "critical", 1),
        observation('User corrected: "Use pnpm, not npm."', "critical", 2),
        observation('User: "Never touch b."', "medium", 3),
        observation("Committed 1a2b3c4 on main: x", "critical", 4),
        observation("Ana is the lead.", "critical", 5),
        observation('Tests failing: `pytest` → "1 failed"', "high", 6),
    )
    desk = dropped(kept, 99)
    assert (desk.proposals, desk.nothings) == ([], 1)


def test_no_more_is_dropped_than_the_pool_is_over() -> None:
    pool = weighed(*(observation(f"Edited file{at}.py", "medium", at) for at in range(10)))
    tokens = sum(estimate_tokens(observation_line(one.observation)) for one in pool)
    assert len(dropped(pool, 99, target=tokens - 1).proposals) == 1
    assert dropped(pool, 99, target=tokens).nothings == 1


def test_a_replaced_statement_goes_before_one_that_stands() -> None:
    old = observation('User asked: "Put the queue on Redis Streams."', "medium", 1)
    other = observation('User asked: "Add a button."', "medium", 0)
    new = observation('User corrected: "Use Postgres instead of Redis Streams."', "critical", 2)
    found = dropped(weighed(other, old, new), 1).proposals
    assert [(one["id"], one["reason"]) for one in found] == [(old.id, "replaced by a later statement")]

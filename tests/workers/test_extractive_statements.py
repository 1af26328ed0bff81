"""Which statements of a user are recorded, with which relevance (003-019), in many wordings."""

import pytest
from extractive_kit import assistant, contents, observed, user

CRITICAL, HIGH, MEDIUM, LOW = "critical", "high", "medium", "low"

WORDINGS = [
    # hard constraints
    ("Never commit directly to main.", CRITICAL),
    ("You must not touch the billing module.", CRITICAL),
    ("Always run the linter before you push.", CRITICAL),
    ("Please don't add any new dependencies.", CRITICAL),
    ("Don't ever log customer e-mail addresses.", CRITICAL),
    ("I don't want any mocks in the integration tests.", CRITICAL),
    ("No new dependencies.", CRITICAL),
    ("Response time has to stay under 200 ms at p95.", CRITICAL),
    ("We can't use anything GPL-licensed.", CRITICAL),
    ("At most 3 retries per request.", CRITICAL),
    ("No more than 50 connections to Postgres.", CRITICAL),
    ("The deadline is Friday.", CRITICAL),
    ("Only use the staging database for this.", CRITICAL),
    ("Only Maria may merge to release branches.", CRITICAL),
    ("The public API is off limits.", CRITICAL),
    ("Leave the legacy folder alone.", CRITICAL),
    ("Python 3.9 support is required.", CRITICAL),
    ("Under no circumstances drop the audit table.", CRITICAL),
    ("All timestamps must be UTC.", CRITICAL),
    ("omfg use rgb values in the themes, no rgb indices!", CRITICAL),
    ("The monthly budget is 400 euros.", CRITICAL),
    ("do it without downtime", CRITICAL),
    ("Migrations should never lock the orders table.", CRITICAL),
    ("we only support Postgres 14 and up", CRITICAL),
    ("Legal says we must keep logs for 90 days.", CRITICAL),
    ("Stripe webhooks need idempotency keys, that's non-negotiable.", CRITICAL),
    ("keep the bundle below 250kB", CRITICAL),
    ("Treat the orders table as append-only.", CRITICAL),
    ("pls no emojis in commit messages", CRITICAL),
    ("Tests live next to the code, not in a tests folder.", CRITICAL),
    ("rate limit: 100 req/min per key", CRITICAL),
    ("Secrets go in Vault, nowhere else.", CRITICAL),
    ("I need this to work offline.", CRITICAL),
    ("Ask before deleting anything.", CRITICAL),
    ("Commits need to be signed.", CRITICAL),
    ("btw I'm colorblind so don't rely on red/green", CRITICAL),
    ("Prod deploys happen only on Tuesdays.", CRITICAL),
    # corrections
    ("Actually, the deadline moved to Monday.", CRITICAL),
    ("No, it's the staging cluster that is broken.", CRITICAL),
    ("The API port is 8443, not 8080.", CRITICAL),
    ("Scratch that, we're moving from Redis Streams to plain Postgres LISTEN/NOTIFY.", CRITICAL),
    ("it's Maria who signs off, not Tom", CRITICAL),
    ("Sorry, I meant the eu-west-1 bucket.", CRITICAL),
    ("From now on use pnpm.", CRITICAL),
    ("I was wrong, the flag is called --dry-run.", CRITICAL),
    ("On second thought, keep the old endpoint.", CRITICAL),
    ("Change that to 30 seconds.", CRITICAL),
    # who the user is
    ("My name is Ana.", CRITICAL),
    ("I'm the tech lead of the payments team.", CRITICAL),
    ("I work at a hospital in Graz.", CRITICAL),
    ("My timezone is Europe/Vienna.", CRITICAL),
    # finished work
    ("The auth migration is done, don't touch it again.", CRITICAL),
    ("The import script has been deployed.", CRITICAL),
    # preferences
    ("I prefer small functions.", HIGH),
    ("I'd rather have explicit SQL than an ORM.", HIGH),
    ("I like tabs better than spaces.", HIGH),
    ("I'd like terse commit messages.", HIGH),
    # decisions
    ("Let's use SQLite for the cache.", HIGH),
    ("We'll go with option B.", HIGH),
    ("We decided to ship the beta on Android first.", HIGH),
    ("ok, use zod for validation", HIGH),
    ("We're going to store sessions in Redis.", HIGH),
    # facts with values
    ("The config lives in deploy/prod.yaml.", HIGH),
    ("The staging host is stg-2.internal:5433.", HIGH),
    ("The bad commit is 4f9c2ab.", HIGH),
    ("Maria owns the billing service.", HIGH),
    ("The on-call this week is Priya.", HIGH),
    ("error we keep hitting: `ECONNRESET: socket hang up at tls.js:312`", HIGH),
    ("Design doc is at docs/rfc/0042-queues.md.", HIGH),
    ("The rollback commit is 9fceb02d.", HIGH),
    ("We promised Globex a demo on the 14th.", HIGH),
    ("the service is named ledgerd", HIGH),
    ("Money is stored as integer cents.", HIGH),
    ("I'm on vacation next week", HIGH),
    # requests, questions, doubt
    ("Add a retry to the upload.", MEDIUM),
    ("can you also add a single retry?", MEDIUM),
    ("fix lint", MEDIUM),
    ("why does this method only work on unix?", MEDIUM),
    ("the preview box is too bad", MEDIUM),
    ("The README says always use tabs.", MEDIUM),
    # musing and chat
    ("Maybe we could use Mongo some day.", LOW),
    ("What if we moved it all to Rust, just an idea.", LOW),
    ("I love pizza.", LOW),
    ("haha, this codebase is older than my dog", LOW),
    # other languages
    ("Nunca hagas commit en main.", CRITICAL),
    ("Ne touche jamais au dossier legacy.", CRITICAL),
    ("Die Tabelle darf nicht gelöscht werden.", CRITICAL),
    ("不要修改公共接口。", CRITICAL),
    ("开发者需要看的东西不要放到这里", CRITICAL),
    ("不对，端口是 8443，而不是 8080。", CRITICAL),
    ("En realidad el puerto es 8443.", CRITICAL),
    ("Ich meinte den Server in Frankfurt.", CRITICAL),
    ("Prefiero funciones pequeñas.", HIGH),
    ("请你优化仓库 readme", MEDIUM),
]


@pytest.mark.parametrize(("words", "relevance"), WORDINGS)
def test_wording_is_quoted_and_rated_003_019(words: str, relevance: str) -> None:
    found = observed(user(words))
    assert [(one["relevance"], words in one["content"]) for one in found] == [(relevance, True)]


def test_a_correction_is_labelled() -> None:
    assert contents(user("The API port is 8443, not 8080.")) == ['User corrected: "The API port is 8443, not 8080."']


def test_one_fact_a_record() -> None:
    assert contents(
        user("The API port is 8080. Never commit to main! I prefer tabs; and Tom owns the billing service.")
    ) == [
        'User: "The API port is 8080."',
        'User: "Never commit to main!"',
        'User: "I prefer tabs; and Tom owns the billing service."',
    ]


def test_a_rule_about_it_keeps_its_antecedent() -> None:
    assert contents(user("The demo is on Thursday. It must not slip.")) == [
        'User: "The demo is on Thursday. It must not slip."'
    ]


def test_a_bare_no_goes_with_what_follows() -> None:
    assert contents(user("No. Use the v2 endpoint.")) == ['User corrected: "No. Use the v2 endpoint."']


def test_an_idea_taken_back_is_only_considered() -> None:
    found = observed(user("Maybe we could use Mongo for this... no, scratch that. Fix the login page."))
    assert [(one["relevance"], "Mongo" in one["content"]) for one in found] == [(LOW, True), (MEDIUM, False)]
    assert found[0]["content"].startswith("User considered: ")


def test_a_question_stays_a_question() -> None:
    assert contents(user("Should we always use tabs?")) == ['User\'s question: "Should we always use tabs?"']


def test_fillers_and_slash_commands_leave_nothing() -> None:
    for text in ("ok", "yes, thanks!", "continue", "/compact", "👍", "", "   ", "[Request interrupted by user]"):
        assert contents(user(text)) == [], text


def test_a_short_answer_is_kept_with_its_question() -> None:
    found = observed(assistant("I can do that. Should I also rename the flag to `--dry-run`?"), user("yes"))
    kept = [one for one in found if one["content"].startswith("User answered")]
    assert [one["content"] for one in kept] == [
        'User answered: "yes" to the assistant\'s "Should I also rename the flag to `--dry-run`?"'
    ]
    assert kept[0]["sources"] == ["s0", "s1"]


DECOYS = [
    "Look at this:\n```\nIMPORTANT: always use tabs\n```\nWhy does the formatter fail?",
    "> You must always use tabs.\n\nWhy does the formatter fail?",
    "Here is the README of the vendor:\n\n# Widget\nYou must always use tabs.\n\nWhy does the formatter fail?",
    "The log says:\n2026-03-01 10:00:01 ERROR always use tabs\n10:00:02 INFO bye\n\nWhy does the formatter fail?",
    "<system-reminder>\nYou must always use tabs.\n</system-reminder>\nWhy does the formatter fail?",
]


@pytest.mark.parametrize("prompt", DECOYS)
def test_pasted_rules_are_not_the_users(prompt: str) -> None:
    found = contents(user(prompt))
    assert any("Why does the formatter fail?" in one for one in found)
    assert not any("tabs" in one and not one.startswith("User showed an error") for one in found)


def test_untyped_user_entries_and_tool_results_state_nothing() -> None:
    from extractive_kit import call, result

    entries = (
        user("ok"),
        user("You must always use tabs.", typed=False),
        assistant("", call("Read", "c1", file_path="README.md")),
        result("c1", "IMPORTANT: always use tabs. Never commit to main.", tool="Read"),
    )
    assert contents(*entries) == []


def test_a_list_of_own_rules_is_not_a_paste() -> None:
    prompt = "Here are the rules for this repo:\n- never push to main\n- tests must pass before a commit\n"
    assert contents(user(prompt))[-2:] == ['User: "never push to main"', 'User: "tests must pass before a commit"']


def test_the_error_in_a_paste_is_kept_as_shown() -> None:
    prompt = (
        "I get this when I start it:\n\nTraceback (most recent call last):\n"
        "  File \"a.py\", line 3, in <module>\nKeyError: 'region'\n"
    )
    assert "User showed an error: \"KeyError: 'region'\"" in contents(user(prompt))


def test_wrapped_lines_are_one_sentence() -> None:
    prompt = (
        "The importer reads the nightly dump from the shared bucket and then\nmust never write to the orders table."
    )
    assert contents(user(prompt)) == ['User: "' + prompt.replace("\n", " ") + '"']


def test_a_long_sentence_is_cut_outside_of_the_quotation() -> None:
    (content,) = contents(user("We must never " + "very " * 100 + "do it."))
    assert content.endswith('very" …')
    assert len(content) < 340

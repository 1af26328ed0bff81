"""What Codex's hooks print around a compaction, in each order in which it may ask."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders import observed, remember

from minutebook.hosts import bell
from minutebook.hosts.answering import answer, compacted_at, opened
from minutebook.hosts.codex.hooks import HOST
from minutebook.hosts.commands import command_in
from minutebook.hosts.delivering import deliver
from minutebook.hosts.hook import handed_over
from minutebook.pipeline.folds import read_proposal
from minutebook.pipeline.intake import own_branch
from minutebook.pipeline.quoting import CLOSING, OPENING
from tests.hosts.test_codex_reader import event, message, row, turn

THREAD = "01a22c3c-184c-7a82-8c4c-81c5d19a1be9"
KEY = f"codex:{THREAD}"


class Session:
    """A thread of Codex: its rollout grows, and its hooks are asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rollout = folder / f"rollout-2026-01-01T10-00-00-{THREAD}.jsonl"
        self.store_path = str(folder / "data" / "minutebook.sqlite")
        Path(self.store_path).parent.mkdir()
        self.write(row("session_meta", {"id": THREAD, "cwd": str(folder), "cli_version": "0.171.0"}))

    def write(self, *rows: dict[str, Any]) -> None:
        with self.rollout.open("a") as file:
            file.writelines(json.dumps(each) + "\n" for each in rows)

    def ask(self, name: str, **fields: Any) -> str:
        """As hook.py does."""
        payload = {"session_id": THREAD, "transcript_path": str(self.rollout), "cwd": str(self.folder), **fields}
        asks_for_it = name in ("UserPromptSubmit", "PostToolUse") and self.owed
        if asks_for_it or fields.get("source") == "compact":
            handed = handed_over(self.store_path, HOST, name, THREAD)
            if handed is not None:
                bell.remove_handover(self.store_path, HOST, THREAD)
                bell.settle(self.store_path, HOST, THREAD)
                return handed
        text = answer(HOST, name, payload, self.store_path)
        if name != "PreCompact":
            bell.settle(self.store_path, HOST, THREAD)
        return text

    def remember(self, text: str) -> None:
        """What a worker would have recorded by now."""
        with opened(self.store_path) as store:
            deliver(store, HOST, self.rollout)
            remember(store, own_branch(store, KEY), observations=[observed(text, sources=("u1",))])

    def compacts(self) -> None:
        """Codex's own rows of a compaction."""
        self.write(row("compacted", {"message": "Another language model … summary"}), event("item_completed"))

    def is_shown(self, text: str) -> None:
        """A hook's text goes into the context."""
        self.write(message("developer", text))

    @property
    def owed(self) -> bool:
        return bell.owes_memory(self.store_path, HOST, THREAD)

    def owe(self) -> None:
        """As the hook of PostCompact does."""
        bell.owe_memory(self.store_path, HOST, THREAD)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path / "data"))
    made = Session(tmp_path)
    made.write(*turn(1), *turn(2))
    return made


def whole(text: str) -> bool:
    return text.startswith(OPENING) and text.endswith(CLOSING)


def test_composed_before_and_printed_after(session: Session):
    session.remember("The export keeps its order.")
    assert session.ask("PreCompact", trigger="auto") == ""
    session.compacts()
    text = session.ask("SessionStart", source="compact")
    assert whole(text) and "The export keeps its order." in text
    session.is_shown(text)
    assert session.ask("SessionStart", source="resume") == ""
    with opened(session.store_path) as store:
        branch = own_branch(store, KEY)
        proposal = read_proposal(store, branch)
        assert proposal is not None and not proposal.open
        assert proposal.boundary == compacted_at(store, branch)


def test_longer_than_other_hosts_could_print_and_in_one_piece(session: Session):
    with opened(session.store_path) as store:
        deliver(store, HOST, session.rollout)
        made = [observed(f"{number}: " + "x" * 300, sources=("u1",)) for number in range(150)]
        remember(store, own_branch(store, KEY), observations=made)
    session.ask("PreCompact", trigger="auto")
    text = session.ask("SessionStart", source="compact")
    assert whole(text) and len(text) > 45_000


def test_what_came_since_the_composition_does_not_change_it(session: Session):
    """After a compaction by hand the memory is asked for with the next turn, perhaps much later."""
    session.remember("The export keeps its order.")
    session.ask("PreCompact", trigger="manual")
    session.compacts()
    session.remember("Recorded while nobody asked.")
    assert "while nobody asked" not in session.ask("SessionStart", source="compact")


def test_without_a_pre_compact_it_is_composed_afterwards(session: Session):
    session.remember("The export keeps its order.")
    session.compacts()
    text = session.ask("SessionStart", source="compact")
    assert "The export keeps its order." in text
    with opened(session.store_path) as store:
        proposal = read_proposal(store, own_branch(store, KEY))
        assert proposal is not None and not proposal.open


def test_a_compaction_that_never_came_to_its_end_is_followed_by_another(session: Session):
    session.remember("The export keeps its order.")
    session.ask("PreCompact", trigger="auto")
    session.write(*turn(3))
    session.ask("PreCompact", trigger="auto")
    text = session.ask("SessionStart", source="compact")
    assert "ask 3" in text


def test_no_memory_is_no_text(session: Session):
    assert session.ask("PreCompact", trigger="auto") == ""
    session.compacts()
    session.owe()
    assert session.ask("SessionStart", source="compact") == ""
    assert session.ask("UserPromptSubmit", prompt="go on") == ""
    assert not session.owed


def test_a_session_that_is_not_known_gets_nothing(session: Session, tmp_path: Path):
    session.rollout = tmp_path / "rollout-that-is-not-written-yet.jsonl"
    for name, fields in (
        ("SessionStart", {"source": "fork"}),
        ("PreCompact", {}),
        ("UserPromptSubmit", {"prompt": "x"}),
    ):
        assert session.ask(name, **fields) == ""


@pytest.mark.parametrize(("name", "fields"), [("UserPromptSubmit", {"prompt": "go on"}), ("PostToolUse", {})])
@pytest.mark.parametrize("composed", [True, False])
def test_the_next_hook_gives_back_what_session_start_did_not(session: Session, name: str, fields: Any, composed: bool):
    session.remember("The export keeps its order.")
    if composed:
        session.ask("PreCompact", trigger="auto")
    session.compacts()
    session.owe()
    printed = json.loads(session.ask(name, **fields))["hookSpecificOutput"]
    assert printed["hookEventName"] == name
    assert whole(printed["additionalContext"])
    assert session.ask(name, **fields) == ""


def test_a_resumed_session_that_lost_it(session: Session):
    session.remember("The export keeps its order.")
    session.ask("PreCompact", trigger="manual")
    session.compacts()
    text = session.ask("SessionStart", source="resume")
    assert whole(text)
    session.is_shown(text)
    assert session.ask("SessionStart", source="resume") == ""


def test_resumed_and_compacted_before_the_first_turn(session: Session):
    """Codex then asks twice in that turn; between the two nothing is written into its file."""
    session.remember("The export keeps its order.")
    session.ask("PreCompact", trigger="manual")
    session.compacts()
    session.owe()
    assert whole(session.ask("SessionStart", source="resume"))
    assert session.ask("SessionStart", source="compact") == ""
    assert session.ask("UserPromptSubmit", prompt="go on") == ""


# -- commands ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("om:status", ["status"]),
        (" /om:view  full\n", ["view", "full"]),
        ("om:recall 0123456789ab 2", ["recall", "0123456789ab", "2"]),
        ("om:recall 0123456789ab 2 more", None),
        ("om:nothing", None),
        ("om: status", None),
        ("what does om:status do?", None),
        ("", None),
    ],
)
def test_which_prompts_are_commands(prompt: str, words: list[str] | None):
    assert command_in(prompt) == words


def said(printed: str) -> str:
    held = json.loads(printed)
    assert held["decision"] == "block"
    return str(held["reason"])


def test_commands_are_held_back_and_answered(session: Session):
    session.remember("The export keeps its order.")
    assert KEY in said(session.ask("UserPromptSubmit", prompt="om:status"))
    assert "om:view full shows" in said(session.ask("UserPromptSubmit", prompt="om:view"))
    view = said(session.ask("UserPromptSubmit", prompt="/om:view full"))
    assert "The export keeps its order." in view
    record = view.split("## Observations (1)\n[")[1][:12]
    assert "ask 1" in said(session.ask("UserPromptSubmit", prompt=f"om:recall {record}"))
    assert "ask 1" in said(session.ask("UserPromptSubmit", prompt=f"om:recall [{record.upper()}],"))
    assert said(session.ask("UserPromptSubmit", prompt="om:recall x")).startswith("Usage: om:recall ID")


def test_a_command_before_anything_is_known(session: Session):
    session.rollout.unlink()
    assert "nothing of this session" in said(session.ask("UserPromptSubmit", prompt="om:status"))

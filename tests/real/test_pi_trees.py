"""Real Pi: moves in the tree, forks, clones and new sessions: each branch has its own memory."""

from builders import observed, remember
from scripted_server import Answer

from minutebook.pipeline.branches import Path as BranchPath
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.sessions import list_sessions
from minutebook.records import Branch
from tests.real.pi_lab import DRIVER, PiLab, Rpc, until

FILLER = "These are many words about it. " * 20


def texts(lab: PiLab, branch: Branch) -> list[str]:
    """The first words of what a branch holds."""
    with lab.store() as store:
        entries = [placed.entry for placed in BranchPath(store, branch).read()]
    return [entry.parts[0].text.partition(".")[0] for entry in entries if entry.parts]


def turn(lab: PiLab, pi: Rpc, name: str) -> None:
    lab.agent.queue.append(Answer(text=f"Answer {name}. {FILLER}"))
    pi.prompt(f"Prompt {name}. {FILLER}")


def quiet(lab: PiLab) -> None:
    """No worker interferes: the tests say themselves what is remembered."""
    lab.settings('passive = true\nmodel = "extractive"\n')


def entry_of(pi: Rpc, words: str) -> str:
    """The id of the entry that says so."""
    entries = pi.call("get_entries")["data"]["entries"]
    return next(each["id"] for each in entries if words in str(each.get("message", {}).get("content", "")))


def seen(lab: PiLab, words: str) -> None:
    """Wait until the ledger has it."""
    until(lambda: lab.has_session() and any(words in each for each in texts(lab, lab.branch())), words)


def note(lab: PiLab, branch: Branch, content: str) -> None:
    with lab.store() as store:
        first = BranchPath(store, branch).read(branch.fork, branch.fork + 1)[0].entry.id
        remember(store, branch, observations=[observed(content, "critical", sources=(first,))])


def test_a_move_in_the_tree_opens_a_branch_and_compactions_know_where_they_are(pi_lab: PiLab) -> None:
    quiet(pi_lab)
    with pi_lab.rpc("-e", str(DRIVER)) as pi:
        for name in ("one", "two", "three"):
            turn(pi_lab, pi, name)
        seen(pi_lab, "Answer three")
        root, back = pi_lab.branch(), entry_of(pi, "Answer three")
        note(pi_lab, root, "Known of the first way.")
        pi.prompt(f"/test:tree {entry_of(pi, 'Answer one')}")
        for name in ("four", "five"):
            turn(pi_lab, pi, name)
        seen(pi_lab, "Answer five")
        other = pi_lab.branch()
        assert (other.parent, other.fork) == (root.key, 2)
        assert texts(pi_lab, other) == [
            "Prompt one",
            "Answer one",
            "Prompt four",
            "Answer four",
            "Prompt five",
            "Answer five",
        ]
        note(pi_lab, other, "Known of the second way.")
        there = pi.call("compact")["data"]["summary"]
        assert "Known of the second way." in there
        assert "Known of the first way." not in there
        pi.prompt(f"/test:tree {back}")
        here = pi.call("compact")["data"]["summary"]  # nothing was said since the move
        assert "Known of the first way." in here
        assert "Known of the second way." not in here
        assert pi_lab.agent.summaries == []
        assert not [event for event in pi.events if event["type"] == "extension_error"]


def test_a_clone_keeps_the_memory_that_it_shares(pi_lab: PiLab) -> None:
    """A clone has it all; each goes its own way then."""
    quiet(pi_lab)
    with pi_lab.rpc() as pi:
        for name in ("one", "two"):
            turn(pi_lab, pi, name)
        seen(pi_lab, "Answer two")
        first = pi_lab.branch()
        note(pi_lab, first, "Known of both.")
        assert pi.call("clone")["success"]
        turn(pi_lab, pi, "three")
        seen(pi_lab, "Answer three")
        clone = pi_lab.branch()
        assert (clone.parent, clone.fork) == (first.key, 4)
        assert texts(pi_lab, clone)[-2:] == ["Prompt three", "Answer three"]
        assert "Known of both." in pi.call("compact")["data"]["summary"]
        assert texts(pi_lab, first) == ["Prompt one", "Answer one", "Prompt two", "Answer two"]
    assert len(pi_lab.sessions()) == 2
    assert pi_lab.processes("om-hook") == []


def test_a_fork_from_an_earlier_prompt_has_what_was_known_before_it(pi_lab: PiLab) -> None:
    quiet(pi_lab)
    with pi_lab.rpc() as pi:
        turn(pi_lab, pi, "one")
        seen(pi_lab, "Answer one")
        first = pi_lab.branch()
        note(pi_lab, first, "Known of both.")
        turn(pi_lab, pi, "two")
        seen(pi_lab, "Answer two")
        note(pi_lab, first, "Known of the first alone.")
        forked = pi.call("fork", entryId=entry_of(pi, "Prompt two"))
        assert forked["success"] and forked["data"]["text"].startswith("Prompt two")
        for name in ("three", "four"):
            turn(pi_lab, pi, name)
        seen(pi_lab, "Answer four")
        fork = pi_lab.branch()
        assert (fork.parent, fork.fork) == (first.key, 2)
        summary = pi.call("compact")["data"]["summary"]
        assert "Known of both." in summary and "Known of the first alone." not in summary
        assert texts(pi_lab, first)[2:] == ["Prompt two", "Answer two"]
        assert texts(pi_lab, fork)[:4] == ["Prompt one", "Answer one", "Prompt three", "Answer three"]
        assert pi_lab.agent.summaries == []
    assert sorted(session.prompts for session in pi_lab.sessions()) == [2, 2]
    assert pi_lab.processes("om-hook") == []


def test_a_new_session_knows_nothing_of_the_old_one_and_has_its_own_child(pi_lab: PiLab) -> None:
    quiet(pi_lab)
    with pi_lab.rpc() as pi:
        turn(pi_lab, pi, "one")
        seen(pi_lab, "Answer one")
        note(pi_lab, pi_lab.branch(), "Known of the old one.")
        before = pi_lab.child(pi)
        assert pi.call("new_session")["success"]
        for name in ("two", "three"):
            turn(pi_lab, pi, name)
        seen(pi_lab, "Answer three")
        assert pi_lab.child(pi) != before
        assert "Known of the old one." not in pi.call("compact")["data"]["summary"]
    old = next(session for session in pi_lab.sessions() if session.title.startswith("Prompt one"))
    assert old.ended


def test_a_session_that_is_opened_again_goes_on(pi_lab: PiLab) -> None:
    quiet(pi_lab)
    with pi_lab.rpc() as pi:
        turn(pi_lab, pi, "one")
    with pi_lab.rpc("-c") as pi:
        turn(pi_lab, pi, "two")
    (session,) = pi_lab.sessions()
    with pi_lab.store() as store:
        branch = load_branch(store, list_sessions(store)[0].branch)
    assert texts(pi_lab, branch) == ["Prompt one", "Answer one", "Prompt two", "Answer two"]
    assert (session.versions, session.replaced) == (0, 0)


def test_the_extension_is_loaded_again_and_the_session_goes_on(pi_lab: PiLab) -> None:
    quiet(pi_lab)
    with pi_lab.rpc("-e", str(DRIVER)) as pi:
        turn(pi_lab, pi, "one")
        seen(pi_lab, "Answer one")
        before = pi_lab.child(pi)
        pi.prompt("/test:reload")
        turn(pi_lab, pi, "two")
        seen(pi_lab, "Answer two")
        assert pi_lab.child(pi) != before
        assert not pi_lab.sessions()[0].ended
        assert not [event for event in pi.events if event["type"] == "extension_error"]
    assert pi_lab.sessions()[0].ended

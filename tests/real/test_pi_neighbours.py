"""Real Pi beside other extensions that have our names: Pi starts, and each keeps what is its own."""

from pathlib import Path

import pytest
from builders import observed, remember
from scripted_server import Answer

from minutebook.pipeline.branches import Path as BranchPath
from minutebook.records import RECALLED
from tests.real.pi_lab import DRIVER, PiLab, until

NEIGHBOUR = """\
import { Type } from "typebox";
const tool = (name) => ({
  name, label: name, description: "Another memory's.", parameters: Type.Object({}),
  execute: async () => ({ content: [{ type: "text", text: `the other ${name}` }], details: {} }),
});
export default (pi) => {
  for (const name of NAMES) pi.registerTool(tool(name));
  const handler = async (_words, ctx) => ctx.ui.notify("the other status", "info");
  pi.registerCommand("om:status", { description: "Another's", handler });
};
"""
RENAMED = 'info: Minutebook: another extension has a tool "recall", so the agent\'s tool is named om_recall here'


def neighbour(lab: PiLab, file: str, *names: str) -> Path:
    """Another extension with tools of these names and a command of ours. Pi loads them in the order of their files."""
    path = lab.agent_folder / "extensions" / file
    path.write_text(NEIGHBOUR.replace("NAMES", str(list(names))))
    return path


def offered(lab: PiLab) -> dict[str, str]:
    """The tools that the model was offered last, name → description."""
    tools = [each["function"] for each in lab.agent.requests[-1].body["tools"]]
    return {tool["name"]: tool["description"] for tool in tools}


@pytest.mark.parametrize("file", ["a.ts", "z.ts"])
def test_beside_another_recall_ours_has_another_name_and_works(pi_lab: PiLab, file: str) -> None:
    """Loaded before ours or after. What both tell is kept and not observed; only ours knows our ids."""
    neighbour(pi_lab, file, "recall")
    pi_lab.settings("passive = true\n")
    with pi_lab.rpc() as pi:
        pi_lab.agent.queue.append(Answer(text="The port is 8443."))
        pi.prompt("Which port?")
        until(pi_lab.has_session, "the session")
        with pi_lab.store() as store:
            source = BranchPath(store, pi_lab.branch()).read()[0].entry.id
            fact = observed("The port is 8443.", sources=(source,))
            remember(store, pi_lab.branch(), observations=[fact])
        pi_lab.agent.queue += [Answer(calls=[("om_recall", {"id": fact.id})]), Answer(calls=[("recall", {})])]
        pi.prompt("Recall it.")
        mine, theirs = [turn.text for turn in pi_lab.agent.requests[-1].messages if turn.role == "tool"]
        assert mine.startswith(f"Recalled [{fact.id}]")
        assert theirs == "the other recall"
        assert "This is the recall tool of Minutebook's memory" in offered(pi_lab)["om_recall"]
        assert offered(pi_lab)["recall"] == "Another memory's."
        assert pi.notices() == [RENAMED]
        numbered = sorted(each["name"] for each in pi.call("get_commands")["data"]["commands"] if "om:" in each["name"])
        assert numbered == ["om:recall", "om:status:1", "om:status:2", "om:view"]
    assert pi.process.returncode == 0
    with pi_lab.store() as store:
        entries = [placed.entry for placed in BranchPath(store, pi_lab.branch()).read()]
    told = [(entry.tool_name, entry.custom_type) for entry in entries if entry.role == "tool_result"]
    assert told == [("om_recall", RECALLED), ("recall", RECALLED)]


def test_where_both_names_are_taken_the_rest_works(pi_lab: PiLab) -> None:
    neighbour(pi_lab, "a.ts", "recall", "om_recall")
    with pi_lab.rpc() as pi:
        pi.prompt("Hello.")
        until(pi_lab.has_session, "the session")
        assert "so the agent has none here" in pi.told("other extensions have the tools")
        assert set(offered(pi_lab).values()) >= {"Another memory's."}
        assert "Usage: /om:recall ID" in str([pi.prompt("/om:recall"), pi.notices()])


def test_in_print_mode_pi_starts_as_well(pi_lab: PiLab) -> None:
    neighbour(pi_lab, "a.ts", "recall")
    pi_lab.agent.queue.append(Answer(text="Here."))
    done = pi_lab.run("-p", "Are you there?")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "Here.", "")
    assert {"recall", "om_recall"} <= set(offered(pi_lab))


def test_alone_it_keeps_its_name_in_every_session_and_when_it_is_loaded_again(pi_lab: PiLab) -> None:
    with pi_lab.rpc("-e", str(DRIVER)) as pi:
        for then in ("/new", "/test:reload", ""):
            pi.prompt("Hello.")
            assert {"recall", "om_recall"} & set(offered(pi_lab)) == {"recall"}
            if then == "/new":
                assert pi.call("new_session")["success"]
            elif then:
                pi.prompt(then)
        assert pi.notices() == []

"""A model that answers about one session, over real HTTP."""

from pathlib import Path

from modelbench import task_of, turns
from scripted_server import Answer, Asked, ScriptedServer

from evals.planted import PerfectModel

ROLES = ("observer", "reflector", "digester", "dropper")


def answer_about(server: ScriptedServer, session: Path) -> None:
    """From here on the server's model knows what is planted in this session."""
    model = PerfectModel(session, group=3)

    def answer(asked: Asked) -> Answer:
        calls = model.answer(asked.role, task_of(asked), turns(asked))
        return Answer(text="" if calls else "done", calls=calls)

    server.defaults = dict.fromkeys(ROLES, answer)


def model_words(server: ScriptedServer) -> list[str]:
    """Words of a command line that name the model."""
    return ["--set", "model=openai/scripted", "--set", f"model_base_url={server.url}"]

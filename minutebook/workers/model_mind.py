"""The mind that asks a model: a batch becomes a request, and the model's calls go to the role's desk."""

import time
from collections.abc import Callable, Mapping, Sequence

from minutebook.errors import ProviderFailed
from minutebook.settings import ModelChoice, Settings
from minutebook.workers import prompting, toolloop
from minutebook.workers.contract import Desk, DigestBatch, DropBatch, JudgeBatch, Mind, ObserveBatch, ReflectBatch
from minutebook.workers.exchange import Message, Reply, Request
from minutebook.workers.roletools import ROLE_TOOLS
from minutebook.workers.textcalls import json_mode
from minutebook.workers.toolloop import Ask, Tool

Instead = Callable[[Exception], Mind | None]
NO_TOOLS = "no_tools"
"""reason of a ProviderFailed: the model cannot call tools, so its calls are asked for as text."""


class ModelMind:
    """Thinks with one model, or with the fallback that answered in its stead.

    ask: one request to the model. session, branch: on whose behalf, for the accounts. window: its context window, None
    when unknown. tools_supported: False asks for JSON instead of tool calls. deadline: seconds of time.monotonic().
    instead: why no model can be asked → the mind that thinks then, None to wait. name: provider/id of the last answer.
    """

    def __init__(
        self,
        choice: ModelChoice,
        ask: Ask,
        settings: Settings,
        *,
        session: str,
        branch: str,
        window: int | None = None,
        tools_supported: bool = True,
        deadline: float | None = None,
        instead: Instead = lambda error: None,
    ) -> None:
        self.name = f"{choice.provider}/{choice.id}"
        self.window = window
        self.instead = instead
        self._choice = choice
        self._ask_model = ask
        self._settings = settings
        self._session = session
        self._branch = branch
        self._tools_supported = tools_supported
        self._deadline = deadline

    def observe(self, batch: ObserveBatch, desk: Desk) -> None:
        """Propose observations of the sources."""
        self._think("observer", prompting.observer_values(batch), desk)

    def reflect(self, batch: ReflectBatch, desk: Desk) -> None:
        """Propose reflections on the observations."""
        self._think("reflector", prompting.reflector_values(batch), desk)

    def digest(self, batch: DigestBatch, desk: Desk) -> None:
        """Propose one replacement text."""
        self._think("digester", prompting.digester_values(batch), desk)

    def drop(self, batch: DropBatch, desk: Desk) -> None:
        """Propose observations to retire."""
        self._think("dropper", prompting.dropper_values(batch), desk)

    def judge(self, batch: JudgeBatch, desk: Desk) -> None:
        """Rank the records that help with a question, while its asker waits."""
        ends_at = time.monotonic() + batch.seconds
        self._deadline = ends_at if self._deadline is None else min(self._deadline, ends_at)
        self._think("judge", prompting.judge_values(batch), desk)

    def request(self, role: str, values: Mapping[str, object], tools: Sequence[Tool]) -> Request:
        """The first request of a run. Raises BadInput when the role's prompt file cannot be used."""
        prompt = prompting.load_prompt(role, self._settings.prompts_folder)
        specs = tuple(tool.spec for tool in tools)
        as_text = json_mode([(spec.name, spec.description, spec.schema) for spec in specs])
        return Request(
            role=role,
            session=self._session,
            branch=self._branch,
            choice=self._choice,
            system=prompt.system if self._tools_supported else f"{prompt.system}\n\n{as_text}",
            messages=(Message(role="user", text=prompt.filled(values)),),
            tools=specs if self._tools_supported else (),
            deadline=self._deadline,
        )

    def _think(self, role: str, values: Mapping[str, object], desk: Desk) -> None:
        try:
            self._converse(role, values, desk)
        except ProviderFailed as error:
            if error.reason != NO_TOOLS or not self._tools_supported:
                raise
            self._tools_supported = False
            self._converse(role, values, desk)

    def _converse(self, role: str, values: Mapping[str, object], desk: Desk) -> None:
        tools = ROLE_TOOLS[role](desk)
        toolloop.run(self._ask, self.request(role, values, tools), tools, max_turns=self._settings.agent_max_turns)

    def _ask(self, request: Request) -> Reply:
        reply = self._ask_model(request)
        self.name = reply.model
        return reply

"""Asking the scripted server through real litellm: settings, requests, a model of either protocol."""

from dataclasses import replace
from typing import Any

from scripted_server import ScriptedServer

from minutebook.settings import ModelChoice, Settings
from minutebook.store.kernel import Store
from minutebook.workers.exchange import Message, Reply, Request, ToolSpec
from minutebook.workers.models import ask_model

OPENAI = ModelChoice(provider="openai", id="scripted")
ANTHROPIC = ModelChoice(provider="anthropic", id="claude-haiku-4-5")
TOOL = ToolSpec(
    name="record_observations",
    description="Record what happened.",
    schema={"type": "object", "properties": {"observations": {"type": "array", "items": {"type": "string"}}}},
)


def settings_for(server: ScriptedServer, choice: ModelChoice = OPENAI, **more: Any) -> Settings:
    """One try and no pause between failures, unless `more` says otherwise."""
    given = {"model": choice, "model_base_url": server.url, "model_tries": 1, "model_cooldown_seconds": 0, **more}
    return Settings(**given)


def request_of(choice: ModelChoice = OPENAI, **more: Any) -> Request:
    """A small request of the observer."""
    request = Request(
        role="observer",
        session="s1",
        branch="b1",
        choice=choice,
        system="You observe.",
        messages=(Message(role="user", text="What happened?"),),
        tools=(TOOL,),
    )
    return replace(request, **more)


def ask(store: Store, settings: Settings, **more: Any) -> Reply:
    """Ask the settings' model."""
    assert settings.model is not None
    return ask_model(request_of(settings.model, **more), store=store, settings=settings)

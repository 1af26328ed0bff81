"""Small programs in the place of `claude` and `codex`, which say what a test wants."""

import json
from collections.abc import Callable
from pathlib import Path

from minutebook.settings import ModelChoice, Settings

CLAUDE = ModelChoice(provider="host", id="claude")
CODEX = ModelChoice(provider="host", id="codex")
RESULT = {
    "type": "result",
    "is_error": False,
    "result": "It rained.",
    "stop_reason": "end_turn",
    "total_cost_usd": 0.25,
    "usage": {
        "input_tokens": 7,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 300,
        "output_tokens": 5,
    },
}
TURN = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "item.completed", "item": {"type": "error", "message": "a setting is ignored"}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "It rained."}},
    {"type": "turn.completed", "usage": {"input_tokens": 1000, "cached_input_tokens": 300, "output_tokens": 50}},
]
Install = Callable[..., Path]


def saying(*values: object) -> str:
    """A program that reads its input, then prints these lines of JSON."""
    lines = "\n".join(json.dumps(value) for value in values)
    return f"cat > $SEEN/stdin\ncat <<'END'\n{lines}\nEND\n"


def settings(choice: ModelChoice = CLAUDE, **more: object) -> Settings:
    return Settings(**{"model": choice, "model_tries": 1, "model_cooldown_seconds": 0, **more})  # type: ignore[arg-type]

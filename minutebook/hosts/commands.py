"""om:status, om:view [full], om:recall ID [PAGE], typed as a prompt: the prompt hook answers it and holds it back.

So no model is asked, and nothing of it is in the session.
"""

from collections.abc import Callable

from minutebook.errors import MinutebookError
from minutebook.hosts.answering import Payload, opened, standing
from minutebook.hosts.pi import telling
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store

PREFIX = "om:"
MOST_WORDS = 3

Tell = Callable[[Store, Branch, Settings, list[str]], str]


def command_in(prompt: str) -> list[str] | None:
    """The words of a command that is the whole prompt, its name first; None for any other prompt."""
    words = prompt.split(maxsplit=MOST_WORDS)
    if not words or len(words) > MOST_WORDS:
        return None
    first = words[0].removeprefix("/")
    name = first.removeprefix(PREFIX)
    return [name, *words[1:]] if first.startswith(PREFIX) and name in _TOLD else None


def told(host: str, payload: Payload, store_path: str, *, slash: str = "/") -> str:
    """What the person reads in place of sending a command; "" for any other prompt. slash: how this host writes it."""
    words = command_in(str(payload.get("prompt")))
    if words is None:
        return ""
    return _answered(host, words, payload, store_path).replace(f"/{PREFIX}", f"{slash}{PREFIX}")


def _answered(host: str, words: list[str], payload: Payload, store_path: str) -> str:
    """What is wrong is said in the same place."""
    name, *more = words
    try:
        with opened(store_path) as store:
            found = standing(store, host, payload)
            return _TOLD[name](store, found.branch, found.settings, more) if found else telling.NOTHING_YET
    except MinutebookError as error:
        return str(error)


def _status(store: Store, branch: Branch, settings: Settings, words: list[str]) -> str:
    return telling.status(store, branch, settings, words, None)


def _recall(store: Store, branch: Branch, settings: Settings, words: list[str]) -> str:
    return telling.command_recall(store, branch, words)


_TOLD: dict[str, Tell] = {"status": _status, "view": telling.view, "recall": _recall}

"""What a model is told: one prompt file for each role, and a batch as the message that follows it.

A prompt file is a system text, which never changes between requests so that providers cache it, a line
`<!-- message -->`, and the message with {{placeholders}}. In the message, what changes rarely comes first.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from minutebook.errors import BadInput
from minutebook.records import observation_line, reflection_line
from minutebook.workers.contract import DigestBatch, DropBatch, JudgeBatch, ObserveBatch, ReflectBatch, Shown
from minutebook.workers.showing import NONE_YET, SEPARATOR, candidate_line, lines_or_none, shown_text, weighed_line

OURS = Path(__file__).with_name("prompts")
MESSAGE = "<!-- message -->\n"
PLACEHOLDERS: Mapping[str, frozenset[str]] = {
    "observer": frozenset({"reflections", "observations", "left_out", "now", "zone", "sources"}),
    "reflector": frozenset({"reflections", "observations", "left_out"}),
    "digester": frozenset({"previous", "reflections", "budget", "words"}),
    "dropper": frozenset(
        {"reflections", "observations", "left_out", "pool", "target", "percent", "over", "maximum"},
    ),
    "judge": frozenset({"records", "question", "limit"}),
}
"""What the message of each role must hold, in any order and nothing else."""
TOKENS_A_WORD = 4 / 3
_VERSION = re.compile(r"<!-- version: (\w+) -->\n")
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_FORGED_HEADER = re.compile(r"^\[(s[0-9]+)\]", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One prompt file. path: where it was read. version: as its first line says, "" where it does not."""

    path: str
    version: str
    system: str
    message: str

    def filled(self, values: Mapping[str, object]) -> str:
        """The message with its placeholders filled; what is filled in is not looked at again."""
        return _PLACEHOLDER.sub(lambda found: str(values[found[1]]), self.message)


def load_prompt(role: str, folder: str | None = None) -> Prompt:
    """The prompt of a role: the file of that name in the folder, else ours. Raises BadInput, naming the file."""
    own = Path(folder).expanduser() if folder else OURS
    if not own.is_dir():
        raise BadInput(f"prompts_folder = {folder}: there is no such folder; make it, or unset prompts_folder")
    path = own / f"{role}.md"
    path = path if path.is_file() else OURS / f"{role}.md"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: the prompt cannot be read: {error}") from error
    return parse_prompt(role, text, str(path))


def parse_prompt(role: str, text: str, path: str) -> Prompt:
    """A prompt file's text, checked. Raises BadInput, naming the file and what is wrong."""
    version = _VERSION.match(text)
    system, cut, message = text[version.end() if version else 0 :].partition(MESSAGE)
    if not cut or not system.strip():
        raise BadInput(f"{path}: a prompt is a system text, a line {MESSAGE.strip()}, and a message")
    found, wanted = set(_PLACEHOLDER.findall(message)), PLACEHOLDERS[role]
    for word, names in (("lacks", wanted - found), ("has an unknown", found - wanted)):
        if names:
            raise BadInput(f"{path}: the message {word} {_named(names)}; it must hold {_named(wanted)}")
    if inside := _PLACEHOLDER.findall(system):
        raise BadInput(f"{path}: {_named(inside)} stands above {MESSAGE.strip()}, where nothing may change")
    return Prompt(path=path, version=version[1] if version else "", system=system.strip(), message=message.strip())


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"{{{{{name}}}}}" for name in sorted(names))


# -- batches -------------------------------------------------------------------------------------------------------


def observer_values(batch: ObserveBatch) -> dict[str, object]:
    """Old memory first, in the order in which it grows; the sources last."""
    return {
        "reflections": lines_or_none(map(reflection_line, batch.reflections)),
        "observations": lines_or_none(map(observation_line, batch.observations)),
        "left_out": left_out_line(batch.left_out),
        "now": batch.now,
        "zone": batch.zone,
        "sources": SEPARATOR.join(shown_text(_unforged(shown)) for shown in batch.sources),
    }


def reflector_values(batch: ReflectBatch) -> dict[str, object]:
    """Reflections, then observations with their tiers."""
    return {
        "reflections": lines_or_none(map(reflection_line, batch.reflections)),
        "observations": lines_or_none(map(weighed_line, batch.observations)),
        "left_out": left_out_line(batch.left_out),
    }


def digester_values(batch: DigestBatch) -> dict[str, object]:
    """The previous digest and what came after it; the budget in tokens, and in words because models count those."""
    return {
        "previous": batch.previous.strip() or NONE_YET,
        "reflections": lines_or_none(map(reflection_line, batch.reflections)),
        "budget": batch.budget_tokens,
        "words": max(1, int(batch.budget_tokens / TOKENS_A_WORD)),
    }


def dropper_values(batch: DropBatch) -> dict[str, object]:
    """Reflections, observations with their tiers, and how far the pool is over its target."""
    return {
        "reflections": lines_or_none(map(reflection_line, batch.reflections)),
        "observations": lines_or_none(map(weighed_line, batch.observations)),
        "left_out": left_out_line(batch.left_out),
        "pool": batch.pool_tokens,
        "target": batch.target_tokens,
        "percent": round(100 * batch.pool_tokens / max(1, batch.target_tokens)),
        "over": batch.pool_tokens - batch.target_tokens,
        "maximum": batch.max_drops,
    }


def judge_values(batch: JudgeBatch) -> dict[str, object]:
    """The records, then the question."""
    return {
        "records": lines_or_none(map(candidate_line, batch.records)),
        "question": batch.question,
        "limit": batch.limit,
    }


def left_out_line(count: int) -> str:
    """A line that counts the records that did not fit, "" for none."""
    return f"({count:,} more {'record is' if count == 1 else 'records are'} not shown.)\n" if count else ""


def _unforged(shown: Shown) -> Shown:
    """A text within a source cannot open a source of its own; the mark keeps its length."""
    return replace(shown, text=_FORGED_HEADER.sub(r"(\1)", shown.text))

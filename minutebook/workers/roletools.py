"""The tools of each role: their arguments as models, and how a call reaches the role's desk.

The models make the schemas and mend what is plainly meant (one id for a list of ids); the desk decides about each
proposal, so that a wrong one is refused alone, with the field named.
"""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from minutebook.workers.contract import Desk, Receipt
from minutebook.workers.salvaging import NotJson, read_json
from minutebook.workers.toolloop import Handled, Tool, WrongArguments

REFUSED_SHOWN = 20


def _ids(value: object) -> object:
    """One id, or several in one text, as a list; null as none."""
    if value is None:
        return []
    return [each for each in re.split(r"[,\s]+", value) if each] if isinstance(value, str) else value


Ids = Annotated[list[str], BeforeValidator(_ids)]


class Observed(BaseModel):
    """One observation."""

    content: str = Field(description="One fact, on one line, complete in itself.")
    timestamp: str = Field(description="When it happened: YYYY-MM-DD HH:MM, as the source shows it.")
    relevance: Literal["low", "medium", "high", "critical"]
    sources: Ids = Field(description="Labels of the sources that say it, such as s3.")
    supersedes: Ids = Field(default=[], description="Ids of the observations above that are no longer true.")


class RecordObservations(BaseModel):
    observations: list[Observed]


class Reflected(BaseModel):
    """One reflection."""

    content: str = Field(description="One durable conclusion, on one line, complete in itself.")
    supports: Ids = Field(description="Ids of all observations whose meaning it keeps, and of no other.")
    supersedes: Ids = Field(default=[], description="Ids of the reflections above that it replaces.")


class RecordReflections(BaseModel):
    reflections: list[Reflected]


class RecordDigest(BaseModel):
    content: str = Field(description="The whole new digest.")


class Dropped(BaseModel):
    """One observation to drop."""

    id: str = Field(description="Id of an observation above.")
    reason: str = Field(default="", description="A few words.")


class DropObservations(BaseModel):
    observations: list[Dropped]


class RankRecords(BaseModel):
    ids: Ids = Field(description="Ids of the records above, the most useful first.")


class Nothing(BaseModel):
    """No arguments."""


def observer_tools(desk: Desk) -> list[Tool]:
    """Recording, and the explicit nothing."""
    about = "Record new observations. May be called several times."
    return [
        _recording("record_observations", about, RecordObservations, Observed, desk),
        _nothing("nothing_to_record", "The sources hold nothing new that is worth keeping. Ends the run.", desk),
    ]


def reflector_tools(desk: Desk) -> list[Tool]:
    """Recording, and the explicit nothing."""
    about = "Record new reflections. May be called several times."
    return [
        _recording("record_reflections", about, RecordReflections, Reflected, desk),
        _nothing("nothing_to_record", "No new durable conclusion follows. Ends the run.", desk),
    ]


def digester_tools(desk: Desk) -> list[Tool]:
    """One accepted text ends the run."""

    def handle(value: Any) -> Handled:
        content = value.get("content") if isinstance(value, Mapping) else value
        receipt = desk.record([{"content": content}])
        done = bool(receipt.total or receipt.duplicate)  # a second over-long one is counted: lines are selected instead
        return Handled(receipt=as_told(receipt), trouble=not done, ends=done)

    about = "Record the complete digest, which replaces the previous one. Ends the run when it is accepted."
    return [Tool(name="record_digest", description=about, arguments=RecordDigest, handle=handle)]


def dropper_tools(desk: Desk) -> list[Tool]:
    """Dropping, and the explicit nothing."""
    about = "Propose observations to drop. May be called several times."
    return [
        _recording("drop_observations", about, DropObservations, Dropped, desk),
        _nothing("no_safe_drops", "No observation can be dropped without losing something. Ends the run.", desk),
    ]


def judge_tools(desk: Desk) -> list[Tool]:
    """One ranking ends the run: somebody waits for it. Without one known id in it, there is another turn."""

    def handle(value: Any) -> Handled:
        ids = ranked_ids(value)
        if not ids:
            desk.nothing()
            return Handled(receipt={"ended": True}, ends=True)
        receipt = desk.record([{"id": id_} for id_ in ids])
        done = bool(receipt.total)
        return Handled(receipt=as_told(receipt), trouble=not done, ends=done)

    about = "Rank the records that help, the most helpful first; an empty list if none does. Ends the run."
    return [Tool(name="rank_records", description=about, arguments=RankRecords, handle=handle)]


def ranked_ids(value: Any) -> list[str]:
    """The ids in a call's arguments: a list in its field or bare, of ids or of records with one.

    Raises WrongArguments.
    """
    inside = _read(value)
    inside = _ids(_read(inside.get("ids"))) if isinstance(inside, Mapping) and "ids" in inside else inside
    if not isinstance(inside, list):
        raise WrongArguments("ids: must be a list of ids, empty if no record helps")
    return [str(each.get("id", "") if isinstance(each, Mapping) else each) for each in inside]


def as_told(receipt: Receipt) -> dict[str, object]:
    """A receipt as the model reads it: counts, and a sentence for each refused proposal, of many the first ones."""
    told: dict[str, object] = {"recorded": receipt.recorded, "duplicate": receipt.duplicate}
    if receipt.refused:
        more = len(receipt.refused) - REFUSED_SHOWN
        told["refused"] = [*receipt.refused[:REFUSED_SHOWN], *([f"and {more} more"] if more > 0 else [])]
    if receipt.ignored:
        told["ignored_ids"] = receipt.ignored
    return {**told, "total": receipt.total}


def proposals_of(value: Any, arguments: type[BaseModel], item: type[BaseModel]) -> list[Any]:
    """The proposals in a call's arguments, mended where the meaning is plain, else as they came.

    Taken are the list in its field, a list or a single proposal for the arguments, and either as JSON text.
    Raises WrongArguments, naming the field.
    """
    (name,) = arguments.model_fields
    value = _read(value)
    if isinstance(value, Mapping):
        required = [each for each, field in item.model_fields.items() if field.is_required()]
        inside = value if name not in value and set(required) <= value.keys() else value.get(name)
    else:
        inside = value
    inside = _read(inside)
    found = [inside] if isinstance(inside, Mapping) else inside
    if not isinstance(found, list):
        raise WrongArguments(f"{name}: must be a list of objects, each with {', '.join(item.model_fields)}")
    if not found:
        raise WrongArguments(f"{name}: the list is empty; end the run with the other tool if there is nothing")
    return [_mended(_read(each), item) for each in found]


def _recording(name: str, about: str, arguments: type[BaseModel], item: type[BaseModel], desk: Desk) -> Tool:
    def handle(value: Any) -> Handled:
        receipt = desk.record(proposals_of(value, arguments, item))
        return Handled(receipt=as_told(receipt), trouble=bool(receipt.refused))

    return Tool(name=name, description=about, arguments=arguments, handle=handle)


def _nothing(name: str, about: str, desk: Desk) -> Tool:
    def handle(value: Any) -> Handled:
        desk.nothing()
        return Handled(receipt={"ended": True}, ends=True)

    return Tool(name=name, description=about, arguments=Nothing, handle=handle, ending=True)


def _read(value: Any) -> Any:
    """JSON within JSON, as some models write it; any other text as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return read_json(value)
    except NotJson:
        return value


def _mended(value: Any, item: type[BaseModel]) -> Any:
    try:
        return item.model_validate(value).model_dump(exclude_unset=True)
    except ValidationError:
        return value


ROLE_TOOLS: Mapping[str, Callable[[Desk], list[Tool]]] = {
    "observer": observer_tools,
    "reflector": reflector_tools,
    "digester": digester_tools,
    "dropper": dropper_tools,
    "judge": judge_tools,
}

"""What the roles' desks share: proposals are checked one by one, and each call gets a receipt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from minutebook.errors import SpanFailed
from minutebook.workers.contract import Proposal, Receipt

SHOWN_CHARACTERS = 40


class Refusal(Exception):
    """Why one proposal is refused: names the wrong field. Never leaves a desk."""


@dataclass(slots=True)
class Call:
    """The counts of one recording call."""

    recorded: int = 0
    duplicate: int = 0
    ignored: int = 0
    refused: list[str] = field(default_factory=list)


class RoleDesk:
    """A desk without a role: a subclass says what one proposal must be, and keeps what it accepts."""

    def __init__(self) -> None:
        self.said_nothing = False
        self.total = 0
        self.duplicates = 0
        self.refusals = 0

    def nothing(self) -> None:
        """The explicit end; ignored in a run that also recorded something."""
        self.said_nothing = True

    def record(self, proposals: Sequence[Proposal]) -> Receipt:
        """Check and keep proposals; a wrong one is refused alone."""
        call = Call()
        for number, proposal in enumerate(proposals, start=1):
            try:
                self._count(self.take(_object(proposal), call), call)
            except Refusal as why:
                call.refused.append(f"proposal {number}: {why}")
        self.total += call.recorded
        self.duplicates += call.duplicate
        self.refusals += len(call.refused)
        return Receipt(
            recorded=call.recorded,
            duplicate=call.duplicate,
            refused=tuple(call.refused),
            total=self.total,
            ignored=call.ignored,
        )

    def take(self, proposal: Proposal, call: Call) -> bool:
        """Keep one proposal: True when it is new, False for a duplicate; raises Refusal."""
        raise NotImplementedError

    def check_end(self, things: str) -> None:
        """Raise SpanFailed when the run ended without a sign that the mind has read its batch (003-010).

        A run that only repeated what is recorded has read it.
        """
        if self.total or self.duplicates or self.said_nothing:
            return
        refused = f" ({self.refusals} refused)" if self.refusals else ""
        error = SpanFailed(
            f"the mind ended without {things}{refused} and without saying that there is nothing to record"
        )
        error.reason = "all_refused" if self.refusals else "nothing_called"
        raise error

    @staticmethod
    def _count(new: bool, call: Call) -> None:
        if new:
            call.recorded += 1
        else:
            call.duplicate += 1


def text_field(proposal: Proposal, name: str) -> str:
    """A field that must be a text that is not empty, trimmed."""
    value = proposal.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Refusal(f"{name}: must be a text that is not empty")
    return value.strip()


def list_field(proposal: Proposal, name: str) -> list[str]:
    """A field that must be a list of ids with at least one in it."""
    value = proposal.get(name)
    if not isinstance(value, list | tuple) or not value:
        raise Refusal(f"{name}: must be a list with at least one id")
    return [item.strip() if isinstance(item, str) else quoted(item) for item in value]


def optional_ids(proposal: Proposal, name: str) -> list[str]:
    """The ids of a field that may be missing, each once."""
    value = proposal.get(name)
    items = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    return list(dict.fromkeys(item.strip() for item in items if isinstance(item, str) and item.strip()))


def quoted(value: Any) -> str:
    """A value as a receipt may show it: on one line, short."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def _object(proposal: Any) -> Proposal:
    if not isinstance(proposal, Mapping):
        raise Refusal("must be an object with named fields")
    return proposal

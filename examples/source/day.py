"""What the three parts of the day share: the session, the pretend repository, and the marks of planted facts."""

from datetime import datetime, timezone
from pathlib import Path

from session_builder import Dice, Session
from source.entities import ENTITIES
from source.templates import files
from source.workshop import Workshop

REPO = Path(__file__).parent / "repo"
HISTORY = (
    ("b19c0de", "ORD-371: expire reservations in batches"), ("5e02f7a", "ORD-377: answer 409 when a reservation is taken twice"),
    ("90ad113", "ORD-380: carrier_ref in shipments"), ("f4417c2", "ORD-384: keep raw webhooks for a month"),
    ("1d8ab90", "ORD-391: read-only session for list routes"), ("c0ffa12", "ORD-395: drop the offset parameter"),
    ("77e6b3d", "ORD-399: refunds above 250 need a second clerk"), ("2ab5519", "ORD-402: anonymise customers on request"),
    ("e38d06f", "ORD-405: version 5.3.2"),
)  # fmt: skip


def pretend_repository() -> dict[str, str]:
    """Path → text: the files under repo/, and one set of generated files for each table."""
    found = {str(p.relative_to(REPO).as_posix()): p.read_text(encoding="utf-8") for p in sorted(REPO.rglob("*")) if p.is_file()}
    for entity in ENTITIES:
        found |= files(entity)
    return found


class Day:
    """`s` is the session, `w` the tools, `dice` the noise; `marks` says which entry states which fact."""

    def __init__(self, seed: str) -> None:
        start = datetime(2025, 10, 14, 7, 4, 11, tzinfo=timezone.utc)
        self.s = Session(seed, "/home/ines/src/orders-service", "feature/order-events", start)
        self.w = Workshop(self.s, pretend_repository())
        self.w.log = [(sha, text, "") for sha, text in HISTORY]
        self.dice = Dice(seed + "/noise")
        self.marks: dict[str, str] = {}

    def say(self, text: str, *marks: str, after: float | None = None) -> None:
        """A typed prompt that states these facts."""
        self.mark(self.s.say(text, after=after), *marks)

    def mark(self, uuid: str, *marks: str) -> None:
        """This entry states these facts."""
        for name in marks:
            if name in self.marks:
                raise ValueError(f"stated twice: {name}")
            self.marks[name] = uuid

    def size(self, path: str) -> int:
        return self.w.files[path].count("\n") + 1

    def tests(self, *names: str) -> list[str]:
        """Paths of the test files of these tables (all without names)."""
        every = [p for p in sorted(self.w.files) if p.startswith("tests/") and "/test_" in p]
        return [p for p in every if not names or any(p.endswith(f"test_{n}.py") for n in names)]

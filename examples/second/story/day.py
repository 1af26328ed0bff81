"""What the parts of the day share: the session, the pretend repository, and the marks of planted facts."""

from datetime import datetime, timezone
from pathlib import Path

from second.story import devices, small_files, stations
from second.story.device import registry, rust
from second.story.rustshop import Rustshop
from session_builder import Dice, Session

REPO = Path(__file__).resolve().parent.parent / "repo"
HISTORY = (
    ("c2e71d0", "🚀 Add Swift One support ✨"), ("0b8f3a6", "🎨 Refactor station files 🎨"), ("3fa9c1d", "🐦 Tune weights for rooks and bitterns"),
    ("e9914b7", "⚡ Faster merge of windows"), ("71d02ce", "✨ Species filter for detect"), ("a80c55f", "🔧 Bump clap"),
    ("48be117", "🐛 Fix the viewer build 🐛"), ("d3370e9", "🔖 0.8.3"),
)  # fmt: skip


def pretend_repository() -> dict[str, str]:
    """Path → text: the files under repo/, the recorders, the stations and some small files."""
    found = {p.relative_to(REPO).as_posix(): p.read_text(encoding="utf-8") for p in sorted(REPO.rglob("*")) if p.is_file()}
    for device in devices.DEVICES:
        found[f"crates/grajo-core/src/devices/{device.module}.rs"] = rust(device)
    found["crates/grajo-core/src/devices/mod.rs"] = registry(devices.DEVICES)
    return found | stations.files() | small_files.FILES


class Day:
    """`s` is the session, `w` the tools, `dice` the noise; `marks` says which entry states which fact."""

    def __init__(self, seed: str) -> None:
        start = datetime(2025, 11, 4, 7, 21, 40, tzinfo=timezone.utc)
        self.s = Session(seed, "/home/ruben/dev/grajo", "cards-and-push", start)
        self.s.slug = "soft-humming-rook"
        self.w = Rustshop(self.s, pretend_repository())
        self.w.log = [(sha, text, "") for sha, text in HISTORY]
        self.dice = Dice(seed + "/noise")
        self.marks: dict[str, str] = {}

    def say(self, text: str, *marks: str, after: float | None = None) -> None:
        """A typed prompt that states these facts."""
        pause = self.dice.between(160, 420) if after is None else after
        self.mark(self.s.say(text, after=2.0 * pause), *marks)  # reads slowly, is called away often

    def mark(self, uuid: str, *marks: str) -> None:
        """This entry states these facts."""
        for name in marks:
            if name in self.marks:
                raise ValueError(f"stated twice: {name}")
            self.marks[name] = uuid

    def device(self, module: str) -> str:
        return f"crates/grajo-core/src/devices/{module}.rs"

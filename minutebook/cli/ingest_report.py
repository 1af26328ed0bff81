"""What came of one file that `om ingest` was given."""

from collections import Counter
from dataclasses import dataclass, field

from minutebook.hosts.delivering import Delivered
from minutebook.pipeline.deliveries import Reading
from minutebook.pipeline.sessions import session_key
from minutebook.pipeline.sourcetext import entry_tokens
from minutebook.records import SourceEntry


@dataclass(slots=True, kw_only=True)
class Report:
    """What came of one file. tokens: of the entries read, an estimate. purged: its session was removed on purpose."""

    path: str
    host: str = ""
    session: str = ""
    agent: str = ""
    new: int = 0
    duplicates: int = 0
    versions: int = 0
    prompts: int = 0
    entries: int = 0
    tokens: int = 0
    replaced: bool = False
    unknown: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    broken: list[int] = field(default_factory=list)
    branches: dict[str, None] = field(default_factory=dict)
    error: str = ""
    purged: bool = False

    def add(self, reading: Reading) -> None:
        """Count what a reading holds."""
        if reading.head is not None and not self.session:
            self.session, self.agent = session_key(reading.head), reading.head.agent
        sources = [event for event in reading.events if isinstance(event, SourceEntry)]
        self.entries += len(sources)
        self.prompts += sum(entry.typed for entry in sources)
        self.tokens += sum(entry_tokens(entry) for entry in sources)
        self.replaced = self.replaced or reading.replaced
        self.unknown.update(reading.unknown)
        self.skipped.update(reading.skipped)
        self.broken += reading.broken

    def came(self, done: Delivered) -> None:
        """Note what came of taking it in."""
        self.session = done.session or self.session
        self.purged = done.purged
        self.new, self.duplicates, self.versions = done.new, done.duplicates, done.versions
        self.branches.update(dict.fromkeys(done.branches))

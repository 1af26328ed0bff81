"""The command `om` and the list of its commands."""

import click

from minutebook.cli.lazy import Lazy, LazyGroup
from minutebook.version import __version__

HERE = "minutebook.cli"

SECTIONS = {
    "Try it": {
        "replay": Lazy(f"{HERE}.replaying:replay", "play recorded sessions as if live, and report"),
        "ingest": Lazy(f"{HERE}.ingesting:ingest", "take session files in"),
    },
    "In your agent": {
        "install": Lazy(f"{HERE}.installing:install", "put Minutebook into Claude Code, Codex or Pi"),
        "uninstall": Lazy(f"{HERE}.installing:uninstall", "take it out again"),
        "pause": Lazy(f"{HERE}.pausing:pause", "record nothing of a project, or of anything, for now"),
        "resume": Lazy(f"{HERE}.pausing:resume", "record again"),
        "mcp": Lazy(f"{HERE}.mcp:mcp", "recall and search as tools of an agent, over MCP"),
    },
    "Look": {
        "sessions": Lazy(f"{HERE}.sessions:sessions", "the sessions in the store"),
        "status": Lazy(f"{HERE}.status:status", "what is recorded, visible, due or failing"),
        "view": Lazy(f"{HERE}.viewing:view", "the memory itself"),
        "recall": Lazy(f"{HERE}.recalling:recall_command", "a record and the exact source behind it"),
        "search": Lazy(f"{HERE}.searching:search_command", "records and turns by words"),
        "compact": Lazy(f"{HERE}.viewing:compact", "what an agent would get back at a compaction"),
        "jobs": Lazy(f"{HERE}.jobs:jobs", "work that is pending or running, and gaps"),
    },
    "Correct": {
        "note": Lazy(f"{HERE}.correcting:note", "add an observation of your own"),
        "retire": Lazy(f"{HERE}.correcting:retire", "take a record back"),
    },
    "Run and set up": {
        "worker": Lazy(f"{HERE}.working:worker", "do the background work"),
        "sync": Lazy(f"{HERE}.syncing:sync", "send sessions to a team box, and bring their memory back"),
        "models": Lazy(f"{HERE}.models:models", "the models of each role, and what they cost"),
        "settings": Lazy(f"{HERE}.settings:settings", "every setting, its value and where it came from"),
        "trust": Lazy(f"{HERE}.settings:trust", "let a project's file decide where text goes"),
        "doctor": Lazy(f"{HERE}.doctor:doctor", "check this installation, one fix for each fault"),
    },
    "Keep and remove": {
        "export": Lazy(f"{HERE}.exporting:export_command", "sessions with their memory as one JSONL file"),
        "import": Lazy(f"{HERE}.exporting:import_command", "take such a file into a store"),
        "backup": Lazy(f"{HERE}.backup:backup", "a copy of the whole store, made while it is used"),
        "retention": Lazy(f"{HERE}.erasing:retention", "remove sessions by their age"),
        "purge": Lazy(f"{HERE}.erasing:purge", "remove a session or a user with everything that rests on them"),
    },
    "Run a team box": {
        "serve": Lazy(f"{HERE}.serving:serve", "the box's HTTP door"),
        "token": Lazy(f"{HERE}.tokens:token", "who may use the box, and for which projects"),
    },
}

EPILOG = "Each command has its own --help with an example. Most take --json."


@click.group(
    cls=LazyGroup,
    sections=SECTIONS,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="Minutebook", message="%(prog)s %(version)s")
def om() -> None:
    """Minutebook: the memory of a long coding-agent session, kept coherent across compaction."""

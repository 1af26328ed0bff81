"""The reference of all settings as Markdown: `python -m minutebook.settings_reference > docs/settings.md`."""

import sys

from minutebook.settings import SETTINGS, Setting
from minutebook.settings_loading import OWN_VARIABLES, WITHOUT_A_SWITCH, shown

_HEAD = """\
# Settings

This page is made from the code by `python -m minutebook.settings_reference`; a test holds the two together.

Nothing has to be set. Later levels win, key by key: defaults, the global file, the project's file, environment
variables, flags. A model is replaced as a whole.

- The global file is `minutebook.toml` in the configuration folder (`~/.config/minutebook`, on macOS
  `~/Library/Application Support/minutebook`).
- A project's file is `.minutebook.toml` in its root. Without `om trust` only the settings marked *yes* below count
  from it; *not higher* means that it may lower the value, and raise it only when trusted; *adds* that its list comes
  to what counts without it, and replaces that when trusted (up to 100 globs without trust, with at most one
  `*` in a name and one at the end, and `**` at the beginning or end, or once behind `/` or `~/`). Trust ends when the
  file changes.
- The variable of a setting is its name in capitals after `MINUTEBOOK_`: `MINUTEBOOK_OBSERVE_AFTER_TOKENS=5000`.
  For yes and no: 1, true, yes, on, 0, false, no, off. For a model: `provider/id`, `provider/id@thinking` or
  `extractive`. For a list of models: these, with commas between them.

For sessions of Pi the section `observational-memory` of Pi's own settings counts too, with the same names in camel case
(`observeAfterTokens`): that of `~/.pi/agent/settings.json` (or below `PI_CODING_AGENT_DIR`) just above our global file,
that of a project's `.pi/settings.json` just above its `.minutebook.toml`, with the same rules of trust.
`PI_OBSERVATIONAL_MEMORY_PASSIVE` counts below `MINUTEBOOK_PASSIVE`. A key there that is unknown, or that an older
version had, is a warning. `om settings --pi` shows what is in force.

A wrong value, an unknown key or a file that cannot be read is an error that says where it stands and what is allowed;
nothing falls back in silence. Settings are read once, when a hook, a command or a worker starts; a worker
that hooks started starts anew some seconds after a file has changed, when no job is in its hands. `om settings` shows
each value and where it came from.

```toml
observe_after_tokens = 5000

[model]
provider = "anthropic"
id = "claude-haiku-4-5"
thinking = "low"
```
"""

_PROJECT = {"free": "yes", "lower": "not higher", "add": "adds", "trusted": "no"}


def reference_markdown() -> str:
    """The whole page docs/settings.md."""
    rows = [_row(setting) for setting in SETTINGS]
    table = ["| setting | default | allowed | without trust | what it does |", "|---|---|---|---|---|", *rows]
    own = "\n".join(f"- `{variable}`: {sentence}" for variable, sentence in OWN_VARIABLES.items())
    fixed = "\n".join(f"- `{name}`: {sentence}." for name, sentence in WITHOUT_A_SWITCH.items())
    return (
        f"{_HEAD}\n## All settings\n\n" + "\n".join(table) + f"\n\n## Variables that name places\n\n{own}\n"
        f"\n## No settings\n\n{fixed}\n"
    )


def _row(setting: Setting) -> str:
    default = f"unset: {setting.unset}" if setting.unset else f"`{shown(setting.default)}`"
    cells = (f"`{setting.name}`", default, setting.rule.allowed, _PROJECT[setting.project], setting.sentence)
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.stdout.write(reference_markdown())

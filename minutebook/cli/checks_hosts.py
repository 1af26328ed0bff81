"""What `om doctor` checks of each agent that Minutebook is in: its files, its trust, and that om-hook runs."""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import which

from minutebook.cli.check import Check
from minutebook.cli.showing import counted
from minutebook.cli.showing_install import PROGRAMS, short
from minutebook.errors import MinutebookError
from minutebook.hosts import installing
from minutebook.hosts.edits import Target
from minutebook.hosts.installing_plan import Planned, names_us
from minutebook.hosts.installing_record import Record, key_of, read_records
from minutebook.hosts.installing_targets import HOSTS, TITLES, host_folder, target_of, wiring_of
from minutebook.places import data_dir
from minutebook.version import __version__

HOOK_SECONDS = 10.0
PLUGIN = "om@minutebook"


def host_checks(project: Path, environ: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """All agents, those that Minutebook is in and those that are there without it; none of them raises."""
    try:
        records = read_records(data_dir(environ))
        om, om_hook = (installing.program_of_ours(name, installing.program_folders()) for name in ("om", "om-hook"))
    except MinutebookError as error:
        yield _failed("agents", error)
        return
    hosts = []
    for host in HOSTS:
        found = list(_host(host, project, records, environ, om, om_hook))
        hosts += [host] if any(check.verdict != "info" for check in found) else []
        yield from found
    if hosts:
        yield hook_runs(om_hook)


def installed_hosts(data: Path) -> list[str]:
    """Hosts that Minutebook is noted to be in, for whatever scope."""
    try:
        return sorted({record.host for record in read_records(data).values()})
    except MinutebookError:
        return []


def _host(
    host: str, project: Path, records: Mapping[str, Record], environ: Mapping[str, str], om: str, om_hook: str
) -> Iterator[Check]:
    """For the user, and for this project; nothing where the agent is not used and Minutebook is not in it."""
    scopes = []
    for folder in (None, project):
        record = records.get(key_of(host, str(folder or "")))
        plugin = record.plugin if record else False
        target = target_of(host, environ, om=om, om_hook=om_hook, project=folder, plugin=plugin)
        if record is not None or _is_in(target):
            scopes.append(target)
            yield files(target, record)
    if not scopes and (host_folder(host, environ).is_dir() or which(PROGRAMS[host])):
        yield Check(host, "info", f"Minutebook is not in {TITLES[host]}; `om install {host}` puts it there")
    yield from twice(host, scopes)
    if host == "claude-code" and any(_json(file).get("disableAllHooks") is True for file in _settings(scopes)):
        yield Check(host, "fail", "its settings say disableAllHooks: no hook runs", "take disableAllHooks out")
    if host == "codex" and scopes:
        yield codex_trust(scopes[0], project, environ)


def _settings(scopes: list[Target]) -> list[Path]:
    """Where Claude Code looks for them."""
    files = [scope.folder / "settings.json" for scope in scopes[:1]]
    names = ("settings.json", "settings.local.json")
    return [*files, *(scope.project / ".claude" / name for scope in scopes if scope.project for name in names)]


def _is_in(target: Target) -> bool:
    """Whether the files look as if Minutebook were there, though nothing is noted of it."""
    try:
        return bool(installing.uninstall(data_dir(), target, wiring_of(target).edits, dry_run=True).changed)
    except (MinutebookError, OSError):
        return False


def files(target: Target, record: Record | None) -> Check:
    """Whether the agent's files hold what this version of Minutebook puts there."""
    name, fix = target.host, f"om install {target.host}{' --project' if target.project else ''}"
    fix += " --plugin" if target.plugin else ""
    try:
        done = installing.would_install(data_dir(), target, wiring_of(target).edits)
    except (MinutebookError, OSError) as error:
        return _failed(name, error)
    if done.changed:
        return Check(name, "fail", _difference(done.changed, target, record), fix)
    where = f"for {short(str(target.project))}" if target.project else "for every project"
    how = "as a plugin" if target.plugin else f"in {short(_where(done.plans[0]))}" if done.plans else "installed"
    if target.plugin and (missing := _plugin_missing(target)):
        return Check(name, "fail", missing, fix)
    return Check(name, "ok", f"Minutebook is in {TITLES[name]}, {where}, {how}")


def _where(first: Planned) -> str:
    """The file, or the folder that is ours with all that is in it."""
    folder = os.path.dirname(first.file)  # noqa: PTH120
    return f"{folder}/" if os.path.basename(folder) == "minutebook" else first.file  # noqa: PTH119


def _difference(changed: tuple[Planned, ...], target: Target, record: Record | None) -> str:
    """Why files differ, as far as it can be told."""
    where = ", ".join(short(plan.file) for plan in changed[:3]) + (" …" if len(changed) > 3 else "")
    other = {path for plan in changed for path in _hooks_in(plan.before or b"")} - {target.om_hook}
    if other:
        called = sorted(other)[0]
        gone = "" if os.path.exists(called) else ", which is not there"  # noqa: PTH110
        return f"{where}: its hooks call {short(called)}{gone}; this installation's is {short(target.om_hook)}"
    if record is not None and record.version != __version__:
        return f"{where}: put there by Minutebook {record.version}; this is {__version__}"
    holds = [names_us(plan.before or b"") for plan in changed]
    return f"{where}: {'not as this version wants it' if any(holds) else 'Minutebook is not there any more'}"


def _hooks_in(content: bytes) -> list[str]:
    return [found.decode(errors="replace") for found in re.findall(rb"(/[^\s\"'\\]*om-hook)\b", content)]


def _plugin_missing(target: Target) -> str:
    """Whether the agent's own list of plugins has ours; "" where it does."""
    if target.host != "claude-code":
        return ""  # of Codex the list of hooks tells
    folders = [target.folder / "settings.json"]
    folders += [target.project / ".claude" / "settings.local.json"] if target.project else []
    enabled = [_json(file).get("enabledPlugins") for file in folders]
    if any(isinstance(each, dict) and each.get(PLUGIN) is True for each in enabled):
        return ""
    return f"{short(str(folders[-1]))}: the plugin {PLUGIN} is not enabled any more"


def twice(host: str, scopes: list[Target]) -> Iterator[Check]:
    """Whether Minutebook is in an agent by two ways, so that each hook does its work twice (a memory is printed once).

    Claude Code runs equal hooks once.
    """
    if len(scopes) > 1 and (host != "claude-code" or scopes[0].plugin != scopes[1].plugin):
        said = "for the user and for this project, which does the same work twice"
        yield Check(host, "fail", said, f"om uninstall {host} --project")
    if host != "claude-code" or not scopes:
        return
    enabled = _json(scopes[0].folder / "settings.json").get("enabledPlugins")
    if isinstance(enabled, dict) and enabled.get(PLUGIN) is True and not all(scope.plugin for scope in scopes):
        said = "as a plugin, and by its settings too"
        yield Check(host, "fail", said, f"claude plugin uninstall {PLUGIN}, or om uninstall {host}")


def codex_trust(target: Target, project: Path, environ: Mapping[str, str]) -> Check:
    """Whether Codex runs our hooks: it skips in silence those that nobody has trusted."""
    from minutebook.hosts.codex.app_server import listed_hooks
    from minutebook.hosts.codex.wiring import UNSEEN, ours, untrusted

    program = which("codex")
    if program is None:
        return Check("codex trust", "info", "codex is not on PATH, so it cannot be asked")
    try:
        listed, complaints = listed_hooks(program, str(project), {**environ, "CODEX_HOME": str(target.folder)})
    except MinutebookError as error:
        return _failed("codex trust", error)
    fix = f"om install codex{' --plugin' if target.plugin else ''}, or /hooks in codex"
    if left := untrusted(listed):
        return Check("codex trust", "fail", f"Codex does not run {counted(len(left), 'hook')} of ours", fix)
    if not ours(listed):
        said = f"Codex sees no hook of ours. {' '.join(complaints) or UNSEEN}"
        return Check("codex trust", "fail", said, f"mend that, then {fix}")
    if len({bool(hook.plugin) for hook in ours(listed)}) > 1:
        return Check("codex trust", "fail", "as a plugin, and by hooks.json too", f"codex plugin remove {PLUGIN}")
    return Check("codex trust", "ok", f"Codex trusts {counted(len(ours(listed)), 'hook')} of ours")


def hook_runs(om_hook: str) -> Check:
    """Runs om-hook as an agent does, with a store of its own of which all is paused: it must leave without a word."""
    name = "om-hook"
    payload = {"session_id": "doctor", "transcript_path": "/doctor.jsonl", "cwd": "/", "hook_event_name": "Stop"}
    with tempfile.TemporaryDirectory() as folder:
        paused, log = Path(folder) / "minutebook.sqlite.paused", Path(folder) / "hook.log"
        paused.write_text('{"pauses": [{"scope": "all", "name": ""}]}')
        hidden = ("MINUTEBOOK_STORE", "MINUTEBOOK_OFF", "MINUTEBOOK_CONFIG")
        kept = {key: value for key, value in os.environ.items() if key not in hidden}
        try:
            done = subprocess.run(
                [om_hook, "claude-code", "Stop"],
                input=json.dumps(payload).encode(),
                capture_output=True,
                timeout=HOOK_SECONDS,
                env={**kept, "MINUTEBOOK_HOME": folder},
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return Check(name, "fail", f"{om_hook} does not run: {error}", "install Minutebook again")
        said = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
        said += log.read_text().splitlines() if log.exists() else []
    if done.returncode or said:
        what = f"{om_hook} ended with {done.returncode}{': ' if said else ''}{said[-1] if said else ''}"
        return Check(name, "fail", what, "install Minutebook again")
    return Check(name, "ok", f"{om_hook} runs")


def _json(file: Path) -> dict[str, object]:
    try:
        data = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _failed(name: str, error: Exception) -> Check:
    """Errors of installing say what to do after their last semicolon."""
    said, _, advice = str(error).partition("; ")
    return Check(name, "fail", said, advice.removesuffix(", nothing was changed").strip() or "look at it")

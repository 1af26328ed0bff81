"""The real programs that Minutebook lives in: where they are, and how to get them.

A variable (CLAUDE_BIN, CODEX_BIN, NODE_BIN, PI_BIN, TSC_BIN) names one that is there already. Else they are in .hosts,
where `python -m tests.real.programs install` puts them with npm. One that is missing is skipped, but not in CI.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / ".hosts"
MODULES = FOLDER / "node_modules"
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
SYSTEM = f"{sys.platform}-{MACHINES.get(platform.machine(), platform.machine())}"
PACKAGES = {
    "@anthropic-ai/claude-code": "2.1.332",
    "@openai/codex": "0.171.0",
    f"node-{SYSTEM}": "22.23.3",
    "@earendil-works/pi-coding-agent": "1.6.0",
    "@earendil-works/pi-agent-core": "1.6.0",
    "@earendil-works/pi-ai": "1.6.0",
    "typebox": "1.3.27",
    "typescript": "5.9",
    "@types/node": "22",
}
NAMED = {name: os.environ.get(name, "") for name in ("CLAUDE_BIN", "CODEX_BIN", "NODE_BIN", "PI_BIN", "TSC_BIN")}
"""As they were when the tests began: a test's own environment is a clean one."""


def claude() -> str:
    """Claude Code's program."""
    return _needed("CLAUDE_BIN", f"@anthropic-ai/claude-code-{SYSTEM}/claude")


def codex() -> str:
    """Codex's program."""
    return _needed("CODEX_BIN", f"@openai/codex-{SYSTEM}/vendor/*/bin/codex")


def node() -> str:
    """A node that runs Pi."""
    return _needed("NODE_BIN", f"node-{SYSTEM}/bin/node")


def pi() -> str:
    """Pi's cli.js, which node() runs."""
    return _needed("PI_BIN", "@earendil-works/pi-coding-agent/dist/bundle/cli.js")


def tsc() -> str:
    """The TypeScript compiler's tsc, which node() runs."""
    return _needed("TSC_BIN", "typescript/bin/tsc")


def pi_modules() -> Path:
    """The node_modules in which Pi and its types stand."""
    return next(parent for parent in Path(pi()).resolve().parents if parent.name == "node_modules")


def found(variable: str, pattern: str) -> str:
    """The path of a program; "" if it is not there."""
    named = NAMED[variable]
    if named and Path(named).is_file():
        return named
    return next((str(path) for path in sorted(MODULES.glob(pattern)) if path.is_file()), "")


def pi_if_there() -> tuple[str, str]:
    """Pi's cli.js and a node, "" for what is not there."""
    at_hand = found("NODE_BIN", f"node-{SYSTEM}/bin/node") or shutil.which("node") or ""
    return found("PI_BIN", "@earendil-works/pi-coding-agent/dist/bundle/cli.js"), at_hand


def _needed(variable: str, pattern: str) -> str:
    path = found(variable, pattern)
    if not path:
        what = f"no {pattern.rpartition('/')[2]}: `make test-hosts` installs it, or {variable} names it"
        pytest.fail(what) if os.environ.get("CI") else pytest.skip(what)
    return path


def _is_installed() -> bool:
    return all((MODULES / name / "package.json").is_file() for name in PACKAGES)


def install() -> int:
    """Install with npm what is neither named nor in the folder; the exit code."""
    if _is_installed() or all(map(_named, NAMED)):
        return 0
    if shutil.which("npm") is None:
        sys.stderr.write("no npm (Debian: apt-get install npm); it fetches the programs into .hosts\n")
        return 1
    FOLDER.mkdir(exist_ok=True)
    wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
    options = ["--prefix", str(FOLDER), "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    return subprocess.run(["npm", "install", *options, *wanted], cwd=FOLDER).returncode


def _named(variable: str) -> bool:
    return Path(NAMED[variable]).is_file() if NAMED[variable] else False


def main(arguments: Sequence[str]) -> int:
    if list(arguments) != ["install"]:
        sys.stderr.write("usage: python -m tests.real.programs install\n")
        return 2
    return install()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

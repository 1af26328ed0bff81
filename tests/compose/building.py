"""The Dockerfile's own steps, run here: each stage is a folder, its RUN lines see it as their root."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from compose.broken import Broken
from compose.dockerfile import Instruction, Stage
from compose.ignoring import is_ignored
from compose.sandbox import Root, Who, confined, said

BUILD_SECONDS = 900.0
PASSED_ON = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_")
"""Variables of the machine that a build sees as well, as pip needs them to reach its index."""


def build(stages: Sequence[Stage], context: Path, ignored: Sequence[str], folder: Path) -> Path:
    """Run all stages below folder; returns the last one's root. The check's own Python stands for that of the base."""
    roots: dict[str, Path] = {}
    for number, stage in enumerate(stages):
        root = folder / f"{number}-{stage.name or 'image'}"
        root.mkdir(mode=0o755)
        _build_stage(stage, root, roots, context, ignored)
        roots[stage.name] = root
    return root


def _build_stage(stage: Stage, root: Path, roots: dict[str, Path], context: Path, ignored: Sequence[str]) -> None:
    environment: dict[str, str] = {}
    folder = "/"
    for step in stage.steps:
        match step.name:
            case "WORKDIR":
                folder = os.path.join(folder, step.words[0])  # noqa: PTH118 (of the image)
                (root / folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
            case "ENV":
                environment = stage.environment()
            case "COPY":
                _copy(step, root, folder, roots, context, ignored)
            case "RUN":
                _run(step, root, Who(environment, folder=folder))


def _copy(
    step: Instruction, root: Path, folder: str, roots: dict[str, Path], context: Path, ignored: Sequence[str]
) -> None:
    *sources, target = step.words
    to = root / os.path.join(folder, target).lstrip("/")  # noqa: PTH118
    base = roots[step.flags["from"]] if "from" in step.flags else context
    for source in sources:
        path = base / source.lstrip("/")
        if not path.exists():
            raise Broken(f"Dockerfile, line {step.line}: there is no {source}")
        if path.is_dir():
            skip = None if "from" in step.flags else _skipping(context, ignored)
            shutil.copytree(path, to, symlinks=True, ignore=skip, dirs_exist_ok=True)
        else:
            to.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, to / path.name)
    if owner := step.flags.get("chown"):
        user, _, group = owner.partition(":")
        subprocess.run(["chown", "-R", f"{user}:{group or user}", str(to)], check=True)


def _skipping(context: Path, ignored: Sequence[str]):  # type: ignore[no-untyped-def]  # a function for copytree
    def skip(folder: str, names: list[str]) -> list[str]:
        below = Path(folder).relative_to(context)
        return [name for name in names if is_ignored(str(below / name), ignored)]

    return skip


def _run(step: Instruction, root: Path, who: Who) -> None:
    """The machine's pip and Python come first on PATH; they are those of the environment that runs the check."""
    passed = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
    tools = f"{sys.prefix}/bin"
    environment = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": "/tmp", **passed, **who.environment}
    here = Root(root, writable=True, binds={sys.prefix: (Path(sys.prefix), True)}, tmpfs={"/tmp": ""})
    argv = confined(here, Who(environment, folder=who.folder), ["sh", "-ec", step.text])
    said(argv, BUILD_SECONDS, f"Dockerfile, line {step.line}: RUN")

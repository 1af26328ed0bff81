"""A Dockerfile as stages of typed instructions, and what of it can be judged by reading it."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from compose.broken import Broken
from compose.ignoring import is_ignored

KNOWN = ("FROM", "ARG", "WORKDIR", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT", "CMD", "EXPOSE", "LABEL", "STOPSIGNAL")
"""HEALTHCHECK is left out: compose says how a service is watched. ADD, VOLUME, SHELL and ONBUILD do too much."""
_TAG = re.compile(r"[a-z0-9./_-]+:[A-Za-z0-9._-]*[0-9]+\.[0-9]+[A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Instruction:
    """words: without flags. flags: such as {"from": "build"}. text: all of it after the name, as it stands."""

    name: str
    line: int
    text: str
    words: tuple[str, ...]
    flags: Mapping[str, str]


@dataclass(slots=True)
class Stage:
    """A FROM and what follows it."""

    base: str
    name: str
    steps: list[Instruction] = field(default_factory=list)

    def last(self, name: str) -> Instruction | None:
        """The last instruction of that name, which is the one that counts."""
        return next((step for step in reversed(self.steps) if step.name == name), None)

    def environment(self) -> dict[str, str]:
        """What its ENV lines set."""
        pairs = [word.partition("=") for step in self.steps if step.name == "ENV" for word in shlex.split(step.text)]
        return {name: value for name, _, value in pairs}

    def command(self, name: str) -> list[str]:
        """The argv of ENTRYPOINT or CMD; empty where there is none."""
        step = self.last(name)
        if step is None:
            return []
        try:
            argv = json.loads(step.text)
        except ValueError:
            argv = None
        if not isinstance(argv, list) or not all(isinstance(each, str) for each in argv):
            raise Broken(
                f'Dockerfile, line {step.line}: write {name} as a list, such as ["om"]; a shell takes no signal'
            )
        return argv


def read_dockerfile(path: Path) -> list[Stage]:
    """Its stages; raises Broken, naming the line, for what is unknown or wrong."""
    stages: list[Stage] = []
    for step in _instructions(path.read_text()):
        if step.name == "FROM":
            stages.append(_stage(step, stages))
        elif not stages:
            raise Broken(f"Dockerfile, line {step.line}: {step.name} before the first FROM")
        else:
            stages[-1].steps.append(step)
    if not stages:
        raise Broken("Dockerfile: has no FROM")
    return stages


def check_dockerfile(stages: Sequence[Stage], context: Path, ignored: Sequence[str]) -> None:
    """Raise Broken for a source that is not there or ignored, and for an image that would run as root."""
    names = {stage.name for stage in stages}
    for step in (step for stage in stages for step in stage.steps if step.name == "COPY"):
        if "from" in step.flags:
            if step.flags["from"] not in names:
                raise Broken(f"Dockerfile, line {step.line}: there is no stage {step.flags['from']!r}")
            continue
        for source in step.words[:-1]:
            if not (context / source).exists():
                raise Broken(f"Dockerfile, line {step.line}: there is no {source}")
            if is_ignored(source, ignored):
                raise Broken(f"Dockerfile, line {step.line}: {source} is left out by .dockerignore")
    user = stages[-1].last("USER")
    if user is None or user.words[0].split(":")[0] in ("root", "0"):
        raise Broken("Dockerfile: the image runs as root; end it with USER and a number")
    if not user.words[0].split(":")[0].isdecimal():
        raise Broken(f"Dockerfile, line {user.line}: a USER by number needs no list of users in the image")
    if not stages[-1].command("ENTRYPOINT"):
        raise Broken("Dockerfile: has no ENTRYPOINT")


def _stage(step: Instruction, before: Sequence[Stage]) -> Stage:
    base, *rest = step.words
    if rest and (len(rest) != 2 or rest[0].upper() != "AS"):
        raise Broken(f"Dockerfile, line {step.line}: write FROM image:tag AS name")
    if base not in {stage.name for stage in before} and not _TAG.fullmatch(base):
        raise Broken(f"Dockerfile, line {step.line}: {base} names no version; write image:1.2-…")
    return Stage(base, rest[1] if rest else "")


def _instructions(text: str) -> Iterator[Instruction]:
    for number, line in _whole_lines(text):
        name, _, rest = line.strip().partition(" ")
        if name not in KNOWN:
            raise Broken(f"Dockerfile, line {number}: unknown instruction {name!r}; known are {', '.join(KNOWN)}")
        words = rest.split()
        flags = [word[2:].partition("=") for word in words if word.startswith("--")] if name in ("COPY", "FROM") else []
        plain = tuple(word for word in words if not (flags and word.startswith("--")))
        if not plain:
            raise Broken(f"Dockerfile, line {number}: {name} says nothing")
        if name == "COPY" and len(plain) < 2:
            raise Broken(f"Dockerfile, line {number}: COPY needs a source and a target")
        for flag, _, _ in flags:
            if flag not in ("from", "chown"):
                raise Broken(f"Dockerfile, line {number}: unknown flag --{flag}")
        yield Instruction(name, number, rest.strip(), plain, {flag: value for flag, _, value in flags})


def _whole_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with those that a backslash at the end continues; comments and empty lines aside."""
    start, gathered = 0, ""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("#") or not line.strip():
            continue
        start = start or number
        gathered += line.rstrip().removesuffix("\\")
        if not line.rstrip().endswith("\\"):
            yield start, gathered
            start, gathered = 0, ""
    if gathered:
        raise Broken(f"Dockerfile, line {start}: ends in a backslash")

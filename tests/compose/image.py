"""What a built image has in it: the package and nothing else of the tree, its data, and a command line that works."""

from collections.abc import Sequence
from pathlib import Path

from compose.broken import Broken
from compose.dockerfile import Stage
from compose.ignoring import is_ignored
from compose.sandbox import Root, Who, confined, said

PACKAGE = "minutebook"
COMMAND_SECONDS = 120.0
TOOLS = ("pip", "setuptools", "wheel", "hatchling")
EXTRAS = ("fastapi", "litellm", "prometheus_client", "redis", "uvicorn")
NEEDED = ("store/lua/*.lua", "store/migrations/*.sql", "workers/prompts/*.md", "py.typed")


def check_image(image: Path, stage: Stage, context: Path, ignored: Sequence[str]) -> str:
    """Raise Broken for what is missing or too much, or does not run; returns a line that says what was seen."""
    check_contents(image, context, ignored)
    version = _om(image, stage, "--version").strip()
    for command in ("serve", "worker", "token"):
        if f"om {command}" not in _om(image, stage, command, "--help"):
            raise Broken(f"om {command} --help says nothing of itself in the image")
    if "calls tools" not in _om(image, stage, "models", MINUTEBOOK_MODEL="openai/gpt-4o-mini", OPENAI_API_KEY="none"):
        raise Broken("om models knows nothing of a model in the image")
    megabytes = sum(file.lstat().st_size for file in (image / "opt").rglob("*")) / 1e6
    return f"{version}; {megabytes:,.0f} MB beside Python"


def check_contents(image: Path, context: Path, ignored: Sequence[str]) -> None:
    """Raise Broken for what is missing or too much, from looking alone."""
    site = _site(image)
    _check_files(site, context, ignored)
    for name in TOOLS:
        if (site / name).exists():
            raise Broken(f"the image has a build tool in it: {name}")
    for name in EXTRAS:
        if not (site / name).is_dir():
            raise Broken(f"the image lacks {name}")


def _site(image: Path) -> Path:
    found = list(image.glob(f"opt/*/lib/python3*/site-packages/{PACKAGE}"))
    if len(found) != 1:
        raise Broken(f"the image has {PACKAGE} installed {len(found)} times")
    return found[0].parent


def _check_files(site: Path, context: Path, ignored: Sequence[str]) -> None:
    """The wheel holds the whole package, its data as well, and nothing of tests or benchmarks."""
    source = context / PACKAGE
    all_of_it = {str(path.relative_to(context)) for path in source.rglob("*") if path.is_file()}
    wanted = {path for path in all_of_it if not is_ignored(path, ignored)}
    record = next(site.glob(f"{PACKAGE}-*.dist-info")) / "RECORD"
    listed = {line.rsplit(",", 2)[0] for line in record.read_text().splitlines()}
    own = {path for path in listed if "__pycache__" not in path and ".dist-info/" not in path}
    has = {path for path in own if not path.startswith("../")}
    if has != wanted:
        wrong = sorted(has ^ wanted)
        raise Broken(f"the wheel and {PACKAGE}/ differ in {len(wrong)} files, such as {wrong[0]}")
    for pattern in NEEDED:
        if not list((site / PACKAGE).glob(pattern)):
            raise Broken(f"the wheel has no {pattern}")


def _om(image: Path, stage: Stage, *words: str, **environment: str) -> str:
    user = stage.last("USER")
    own = {**stage.environment(), "MINUTEBOOK_HOME": "/tmp", **environment}
    who = Who(own, int(user.words[0].split(":")[0]) if user else 0)
    argv = confined(Root(image, tmpfs={"/tmp": ""}), who, [*stage.command("ENTRYPOINT"), *words])
    return said(argv, COMMAND_SECONDS, f"om {' '.join(words)} in the image")

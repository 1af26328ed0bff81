"""The Dockerfile and .dockerignore hold; each way to break them is seen, and said in a clear word."""

from pathlib import Path

import pytest
from compose.__main__ import ROOT
from compose.broken import Broken
from compose.dockerfile import check_dockerfile, read_dockerfile
from compose.ignoring import is_ignored, read_ignored


def checked(text: str, tmp_path: Path, ignored: list[str] | None = None) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text(text)
    check_dockerfile(read_dockerfile(file), ROOT, read_ignored(ROOT / ".dockerignore") if ignored is None else ignored)


def test_the_dockerfile_holds() -> None:
    stages = read_dockerfile(ROOT / "Dockerfile")
    check_dockerfile(stages, ROOT, read_ignored(ROOT / ".dockerignore"))
    assert [stage.name for stage in stages] == ["build", ""]
    assert stages[-1].command("ENTRYPOINT") == ["om"] and stages[-1].environment()["MINUTEBOOK_CONFIG"] == "/config"
    assert [step.name for step in stages[-1].steps].count("RUN") == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("WORKDIR /src", "WORKDRI /src", "line 3: unknown instruction 'WORKDRI'"),
        ("COPY minutebook ./minutebook", "COPY minutbook ./minutebook", "there is no minutbook"),
        ("COPY minutebook ./minutebook", "COPY tests ./tests", "tests is left out by .dockerignore"),
        ("COPY --from=build /opt", "COPY --from=bild /opt", "there is no stage 'bild'"),
        ("USER 10001:10001", "USER 0:10001", "the image runs as root"),
        ("USER 10001:10001", "USER root", "the image runs as root"),
        ("USER 10001:10001\n", "", "the image runs as root"),
        ("USER 10001:10001", "USER minutebook", "by number"),
        ('ENTRYPOINT ["om"]', "ENTRYPOINT om", "write ENTRYPOINT as a list"),
        ('ENTRYPOINT ["om"]\n', "", "has no ENTRYPOINT"),
        ("FROM python:3.11-slim-bookworm AS build", "FROM python AS build", "names no version"),
        ("FROM python:3.11-slim-bookworm AS build", "FROM python:latest AS build", "names no version"),
        ("FROM python:3.11-slim-bookworm AS build\n", "", "before the first FROM"),
        ('CMD ["--help"]', "HEALTHCHECK CMD om", "unknown instruction 'HEALTHCHECK'"),
        ("RUN mkdir /state", "ADD https://example.com/x /state", "unknown instruction 'ADD'"),
        ("--chown=10001:10001", "--chmod=777", "unknown flag --chmod"),
        ('CMD ["--help"]', "ENV A=1 \\", "ends in a backslash"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert old in text
    with pytest.raises(Broken) as error:
        checked(text.replace(old, new, 1), tmp_path)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("minutebook", False),
        ("minutebook/store/lua/append.lua", False),
        ("minutebook/cli/__pycache__/root.cpython-311.pyc", True),
        ("tests/conftest.py", True),
        (".env", True),
        (".git/config", True),
        ("docs/team-box.md", True),
    ],
)
def test_what_reaches_the_image(path: str, ignored: bool) -> None:
    assert is_ignored(path, read_ignored(ROOT / ".dockerignore")) is ignored


def test_a_pattern_ends_where_its_folder_does() -> None:
    assert is_ignored("a/b.txt", ["*/b.txt"]) and not is_ignored("a/c/b.txt", ["*/b.txt"])
    assert is_ignored("a/c/b.txt", ["**/b.txt"]) and is_ignored("b.txt", ["**/b.txt"])
    assert not is_ignored("ab", ["a"]) and is_ignored("a/b", ["a"]) and not is_ignored("a/b", ["a", "!a/b"])

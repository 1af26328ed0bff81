"""Which paths a glob keeps out, and which tool calls name one."""

import json

import pytest

from minutebook.pipeline.ignoring import LINE_PLACEHOLDER, Globs, names_ignored, without_ignored_lines
from minutebook.settings_rules import are_harmless_globs

HOME = "/home/ines"


def globs(*each: str) -> Globs:
    return Globs.of(each, home=HOME)


@pytest.mark.parametrize(
    ("glob", "path", "kept_out"),
    [
        (".env", "/w/app/.env", True),
        (".env", "/w/app/.env.example", False),
        (".env*", "/w/app/.env.local", True),
        ("*.pem", "/w/keys/a.PEM", True),
        ("secrets", "/w/secrets/deep/a.txt", True),
        ("secrets/", "/w/secrets/a.txt", True),
        ("secrets/**", "/w/secrets/deep/a.txt", True),
        ("secrets/*.txt", "/w/secrets/a.txt", True),
        ("secrets/*.txt", "/w/secrets/deep/a.txt", False),
        ("secrets/**/*.txt", "/w/secrets/a.txt", True),
        ("secrets/**/*.txt", "/w/secrets/b/c/a.txt", True),
        ("secrets", "/w/nosecrets/a.txt", False),
        ("~/clients", "/home/ines/clients/acme/a", True),
        ("~/clients/**", "/home/ines/clients", True),
        ("~/clients", "/home/ines/clients2", False),
        ("~/clients", "/backup/home/ines/clients", False),
        ("/srv/*/private", "/srv/a/private/x", True),
        ("/srv/*/private", "/srv/a/b/private/x", False),
        ("a[0-9].txt", "/w/a7.txt", True),
        ("a[!0-9].txt", "/w/a7.txt", False),
        ("a?.txt", "/w/ab.txt", True),
        ("[", "/w/[", True),
        ("a+b(c)", "/w/a+b(c)", True),
        ("**", "/w/anything", True),
        ("**/keys/*.pem", "/w/keys/a.pem", True),
        ("**/keys/*.pem", "keys/a.pem", True),
        ("**/keys", "/w/donkeys", False),
        ("[z-a]", "/w/[z-a]", True),
        ("a[b||c]d", "/w/a[b||c]d", True),
        ("\\", "/w/\\", True),
    ],
)
def test_globs(glob: str, path: str, kept_out: bool) -> None:
    assert globs(glob).match(path) is kept_out


@pytest.mark.parametrize("glob", ["*a*/b", "**a*b", "a/**/b", "~other/**/b", "/a/**/b/**/c", "**/**/b", "**//b"])
def test_a_glob_that_takes_the_square_of_a_paths_length_is_no_strangers(glob: str) -> None:
    """A hundred of `**a*b` took 43 s for one line of 4 KB."""
    assert not are_harmless_globs([glob])


@pytest.mark.parametrize(
    "glob",
    [
        *("*.pem", ".env*", "*secret*", "secrets/*.pem", "src/*/out/*", "**", "**/*.key", "secrets/**"),
        *("~/clients/**", "~/a/**/b*c", "/srv/**/*"),
    ],
)
def test_what_people_write_may_be_a_strangers(glob: str) -> None:
    assert are_harmless_globs([glob])


@pytest.mark.parametrize(
    "arguments",
    [
        {"file_path": "/w/app/secrets/prod.env"},
        {"file_path": "secrets/prod.env"},
        {"path": "src/../secrets/prod.env"},
        {"command": "cat secrets/prod.env | head"},
        {"command": "cat 'secrets/prod.env'"},
        {"command": "KEY=$(<secrets/prod.env) run"},
        {"command": "cat ~/app/secrets/prod.env"},
        {"command": "cat $HOME/app/secrets/prod.env"},
        {"url": "file:///w/secrets/prod.env"},
        {"edits": [{"deep": ["x", {"file": "./secrets/prod.env"}]}]},
        {"input": "*** Update File: secrets/prod.env\n@@"},
        {"command": "cat my\\ dir/secrets/prod.env"},
        {"secrets/prod.env": 1},
    ],
)
def test_calls_that_name_an_ignored_path(arguments: object) -> None:
    assert names_ignored(json.dumps(arguments), globs("secrets/*.env"), "/w/app")


@pytest.mark.parametrize(
    "arguments", ["{}", '{"file_path": "src/app.py"}', '{"command": "ls secrets"}', "not json", '{"n": 1}', "[" * 9999]
)
def test_other_calls(arguments: str) -> None:
    assert not names_ignored(arguments, globs("secrets/*.env"), "/w/app")


def test_arguments_that_are_no_json_are_looked_at_as_text() -> None:
    assert names_ignored("cat secrets/prod.env", globs("secrets/*.env"), "")
    assert names_ignored('{"cut": "secrets/prod.env', globs("secrets/*.env"), "")


def test_a_name_with_spaces() -> None:
    assert names_ignored('{"command": "cat \\"my notes/a b.txt\\""}', globs("my notes"), "/w")
    assert names_ignored('{"command": "cat my\\\\ notes/a"}', globs("my notes"), "/w")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a.py:1:x\nsecrets/prod.env:3:KEY=1\nb.py:2:y", f"a.py:1:x\n{LINE_PLACEHOLDER}\nb.py:2:y"),
        ("./secrets/prod.env-4-KEY=1\na.py-1-x", f"{LINE_PLACEHOLDER}\na.py-1-x"),
        ("/w/app/secrets/prod.env:KEY=1", LINE_PLACEHOLDER),
        (
            "secrets/prod.env\nsecrets: none, see secrets/prod.env",
            "secrets/prod.env\nsecrets: none, see secrets/prod.env",
        ),
        (
            "diff --git a/secrets/prod.env b/secrets/prod.env\n+KEY=1\ndiff --git a/b.py b/b.py\n+x",
            f"{LINE_PLACEHOLDER}\ndiff --git a/b.py b/b.py\n+x",
        ),
        ("plain text", "plain text"),
        ("", ""),
    ],
)
def test_lines_of_a_search_and_of_a_diff(text: str, left: str) -> None:
    assert without_ignored_lines(text, globs("secrets/*.env"), "/w/app") == left
    assert without_ignored_lines(text, globs(), "/w/app") == text


def test_no_globs_keep_nothing_out() -> None:
    assert not globs() and not globs().match("/w/a")
    assert not names_ignored('{"path": "a"}', globs(), "/w")

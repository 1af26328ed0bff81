"""What a project is called on every machine: by its repository, not by its folder. Standard library only.

`github.com/acme/orders` for a repository with a remote, else the name of the folder. Git itself is not run: its files
are read, and whatever is odd about them only means that the folder's name is used.
"""

import os
import re
import stat
from collections.abc import Iterator
from functools import lru_cache

NO_PROJECT = "no-project"
"""The name of what has none: a session without a folder, or the root of the file system."""
NAME_MAX_CHARACTERS = 200
CONFIG_MAX_BYTES = 1_000_000
POINTER_MAX_BYTES = 5_000
"""Of a `.git` file and of `commondir`, which hold one path."""
DIGEST_CHARACTERS = 8

_URL = re.compile(r"(?:[a-z0-9]+\+)?([a-z][a-z0-9]*)://([^/?#]*)([^?#]*)", re.IGNORECASE)
_SCP = re.compile(r"(?:[^/@]*@)?(\[[^\]/]*\]|[^/:@\[\]]+):([^?#]*)")
_AUTHORITY = re.compile(r"(?:.*@)?(?:\[([^\]]*)\]|([^:\[\]]*))(?::[0-9]*)?", re.DOTALL)
_SECTION = re.compile(r'\s*\[\s*([^\s"\]]*)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\](.*)', re.DOTALL)
_ADDRESS = re.compile(r"\s*url\s*=(.*)", re.IGNORECASE | re.DOTALL)
_VALUE = re.compile(r'\\(.)|(")|([#;])|([^\\"#;]+)', re.DOTALL)


@lru_cache(maxsize=4096)
def project_name(folder: str) -> str:
    """The name of a folder's project, the same in every worktree and on every machine; never raises.

    What is no absolute path is a name already, and comes back as the rule of names wants it. Answers are kept for the
    life of the process.
    """
    if not os.path.isabs(folder):  # noqa: PTH117 (a text of any machine, and no path of this one yet)
        return fitting(folder)
    try:
        real = os.path.realpath(folder)
    except (OSError, ValueError):  # a NUL in it
        return fitting(os.path.basename(folder.rstrip("/")))  # noqa: PTH119
    root = _repository(real)
    if root is None:
        return fitting(os.path.basename(real))  # noqa: PTH119
    git = _common_folder(os.path.join(root, ".git"))  # noqa: PTH118
    config = _text(os.path.join(git, "config"), CONFIG_MAX_BYTES)  # noqa: PTH118
    return name_of_remote(remote_of(config)) or fitting(_own_name(root, git))


@lru_cache(maxsize=4096)
def project_key(folder: str) -> str:
    """What tells projects apart on this machine; never raises. The same in every worktree and folder of a repository.

    A repository's name by its remote, without one its common git folder, without a repository the folder itself: two
    folders of one name are two projects. What is no absolute path is a name already.
    """
    if not folder or not os.path.isabs(folder):  # noqa: PTH117
        return fitting(folder) if folder else ""
    try:
        real = os.path.realpath(folder)
    except (OSError, ValueError):
        return folder
    root = _repository(real)
    if root is None:
        return real
    git = _common_folder(os.path.join(root, ".git"))  # noqa: PTH118
    remote = remote_of(_text(os.path.join(git, "config"), CONFIG_MAX_BYTES))  # noqa: PTH118
    return name_of_remote(remote) or os.path.realpath(git)


def _repository(folder: str) -> str | None:
    """The nearest folder upwards that has a `.git`. That of a home folder counts for the home folder alone."""
    home, at = os.path.realpath(os.path.expanduser("~")), folder  # noqa: PTH111
    while True:
        if os.path.lexists(os.path.join(at, ".git")) and (at == folder or at not in (home, "/")):  # noqa: PTH118
            return at
        above = os.path.dirname(at)  # noqa: PTH120
        if above == at:
            return None
        at = above


def _common_folder(git: str) -> str:
    """Where the configuration is: the `.git` folder itself, or what a worktree's or a submodule's `.git` file names."""
    pointer = _text(git, POINTER_MAX_BYTES)
    if not pointer.startswith("gitdir:"):
        return git
    own = _joined(os.path.dirname(git), pointer.removeprefix("gitdir:"))  # noqa: PTH120
    common = _text(os.path.join(own, "commondir"), POINTER_MAX_BYTES)  # noqa: PTH118
    return _joined(own, common) if common.strip() else own


def _joined(folder: str, line: str) -> str:
    named = line.strip().partition("\n")[0].rstrip("\r")
    return os.path.normpath(os.path.join(folder, named))  # noqa: PTH118


def _own_name(root: str, git: str) -> str:
    """Of a repository without a remote: the folder of its main worktree, which has the name in all of them."""
    folder, name = os.path.split(git)
    if name == ".git":
        return os.path.basename(folder)  # noqa: PTH119
    return name.removesuffix(".git") if name.endswith(".git") else os.path.basename(root)  # noqa: PTH119


def _text(path: str, max_bytes: int) -> str:
    """The text of a regular file; "" where there is none, it cannot be read, or it is larger than such a file is."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        content = os.read(handle, max_bytes + 1)
        return content.decode("utf-8", "replace") if len(content) <= max_bytes else ""
    except OSError:
        return ""
    finally:
        os.close(handle)


def remote_of(config: str) -> str:
    """The address of the remote `origin` in a git configuration, else of the only one; "" without. Pure."""
    addresses: dict[str, str] = {}
    remote: str | None = None
    for line in _lines(config):
        if section := _SECTION.match(line):
            remote = section[2] if section[1].lower() == "remote" else None
            line = section[3]
        if remote is not None and (address := _ADDRESS.match(line)):
            addresses.setdefault(remote, _value(address[1]))
    if "origin" in addresses or len(addresses) != 1:
        return addresses.get("origin", "")
    return next(iter(addresses.values()))


def _lines(config: str) -> Iterator[str]:
    """Lines, those that end with a backslash together with the next one."""
    begun = ""
    for line in config.splitlines():
        begun += line
        if line.endswith("\\"):
            begun = begun[:-1]
            continue
        yield begun
        begun = ""
    yield begun


def _value(text: str) -> str:
    """A value without its quotes, escapes and comment."""
    found, quoted = [], False
    for escaped, quote, comment, plain in _VALUE.findall(text):
        if quote:
            quoted = not quoted
        elif comment and not quoted:
            break
        else:
            found.append(escaped or comment or plain)
    return "".join(found).strip()


def name_of_remote(address: str) -> str:
    """host/path of a remote's address, without user, password, port, query and `.git`; "" for a local one. Pure."""
    if re.match(r"[\w-]+::", address):  # a helper program and what it is given
        return ""
    if url := _URL.fullmatch(address.partition("?")[0].partition("#")[0]):
        authority = _AUTHORITY.fullmatch(url[2])
        host, path = (authority[1] or authority[2] or "") if authority else "", url[3]
    elif scp := _SCP.fullmatch(address.partition("?")[0].partition("#")[0]):
        host, path = scp[1].strip("[]"), scp[2]
        host = "" if re.fullmatch(r"[A-Za-z]", host) else host  # a drive of Windows
    else:
        return ""
    segments = [segment for segment in _unquoted(path).split("/") if segment]
    if segments and segments[0] == "~":
        segments = segments[1:]
    path = "/".join(segments).removesuffix(".git").strip("/")
    return fitting(f"{host.lower()}/{path}") if host and path else ""


def _unquoted(path: str) -> str:
    from urllib.parse import unquote

    return unquote(path) if "%" in path else path


def fitting(name: str) -> str:
    """The name as the rule of names wants it: letters and digits first, then . _ - / too, at most 200. Pure.

    Accents are dropped; where letters had to be, or the end of a long name, a digest tells it from others.
    """
    folded, lost = _folded(name)
    segments = (re.sub(r"[^A-Za-z0-9._-]+", "-", segment) for segment in folded.split("/"))
    plain = "/".join(filter(None, (re.sub(r"\.{2,}", ".", segment) for segment in segments)))
    plain = re.sub(r"(?:^|/)\.(?=/|$)", "", plain).lstrip("._/-").rstrip("/")
    if not (lost or len(plain) > NAME_MAX_CHARACTERS):
        return plain or NO_PROJECT
    kept = plain[: NAME_MAX_CHARACTERS - DIGEST_CHARACTERS - 1].rstrip("/-")
    return f"{kept}-{_digest(name)}" if kept else f"project-{_digest(name)}"


def _folded(name: str) -> tuple[str, bool]:
    """Without accents, and whether anything else was no ASCII."""
    if name.isascii():
        return name, False
    from unicodedata import combining, normalize

    letters = [c for c in normalize("NFKD", name) if not combining(c)]
    return "".join(c if c.isascii() else "-" for c in letters), not all(c.isascii() for c in letters)


def _digest(name: str) -> str:
    from hashlib import sha256

    return sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARACTERS]

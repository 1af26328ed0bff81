"""Secrets told by their name: PASSWORD=…, "api_key": "…", token: …, --password …; in shell, JSON, YAML and source code.

Most of this module decides what is *not* a secret: variables, placeholders, counters, calls, type annotations.
"""

import re
from functools import lru_cache

SHORTEST_VALUE = 6
LONGEST_VALUE = 4096

NAME_BEFORE = 48
"""How far before its keyword a name may begin."""
NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789_.-"
_REST = (
    r"[a-z0-9_-]{0,32}+"  # the rest of the name
    r"(?P<close>(?:\\{0,7}[\"'`])?)\]?"  # its closing quote, escaped as often as JSON was put into JSON
    r"(?:\s?\[[^\]\n]{0,24}\])?"  # AWS Secret Access Key [None]:
    r"(?:\??\s{0,2}:\s{0,2}(?:str|string|bytes|secretstr|&str|&'static str|str \| none|string \| null)(?=\s{0,2}=))?"
)
_SEPARATOR = r"(?P<sep>\s{0,16}+(?::=|=>|[!=]?={1,2}|:)[ \t]{0,16}+)"
FOLLOW = re.compile(rf"{_REST}(?:{_SEPARATOR}|(?P<flag>,?[ \t]{{1,4}}+))")
KEYWORDS = ("key", "pass", "pwd", "secret", "token", "credential")
"""One of them is in every name that assigned_secret knows."""
_OWNED_KEY = r"key(?:(?<=[a-z0-9_.-]key)|(?<=[istengr] key))"  # an API key, but not sorted(each, key=…)
ASSIGNED = {word: re.compile(rf"{_OWNED_KEY if word == 'key' else word}(?={_REST}{_SEPARATOR})") for word in KEYWORDS}
"""Stops at a keyword only where something is assigned to the name that it is in."""
OPTION = re.compile(rf"--(?!-)[a-z0-9_.-]{{0,46}}?(?:{'|'.join(KEYWORDS)})")
"""In a text where this is not found, nothing else is a secret told by its name."""
OPENING = re.compile(r"[rbuRBU]{0,2}(\\{0,7}[\"'`])")
BARE = re.compile(r"[^\s\"'`,;&|<>()\[\]{}\\=]{1,4096}+={0,2}")
BARE_IN_SHELL = re.compile(r"[^\s\"'`\\]{1,4096}+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SECRET_ENDINGS = (
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "credential",
    "credentials",
    "apikey",
    "accesskey",
    "privatekey",
    "secretkey",
    "authkey",
    "accountkey",
)
KEY_OWNERS = _words(
    "api access secret private auth encryption encrypt signing account master service deploy storage admin shared "
    "subscription webhook jwt session hmac cipher root license functions host"
)
HARMLESS_BEFORE = _words(
    "max min num n total input output prompt completion page next continuation cursor bos eos pad unk mask sep cls "
    "special stop per design lex color theme no not is has forgot show toggle invalid missing expected unexpected "
    "cancellation syntax first last current prev previous"
)
HARMLESS_AFTER = _words(
    "count counts limit limits type types id ids name names url uri path file dir folder expiry expires expiration "
    "length len size usage field fields header prefix suffix pattern regex env var index budget ttl policy version "
    "label input error errors message endpoint kind class required enabled valid status estimate per seconds ms max "
    "min total rate price cost window position pos start end offset map list set hint placeholder text title "
    "description column arn ref provider store manager service handler client func fn callback changed updated at "
    "rotation format scheme scope scopes source strategy tokenizer stream"
)
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
KEY_PHRASE = re.compile(r"(?:(?:aws )?secret )?(?:api|access|secret|private|encryption|signing|account|master) \Z")
KEY_PHRASE_ENDS = ("api ", "access ", "secret ", "private ", "encryption ", "signing ", "account ", "master ")

NOT_A_VALUE = re.compile(
    r"""(?: [$%]\(?\{{0,2}[A-Za-z_@] | \$\( | [<{\[*.…] | %[({] | \#\{
      | (?:process|os|sys|import\.meta|self|this|config|settings|args|options|env|ctx|req|request|props|state)[.?\[]
      | \#[0-9a-fA-F]{3,8}\Z | \( | \^ | https?:// | \.{0,2}/[\w.-]{1,255}+(?:/|\Z) | ~/ | \d{4}-\d\d-\d\d | --? )""",
    re.VERBOSE | re.ASCII,
)
PLACEHOLDER_WORDS = re.compile(
    r"change[_-]?(?:me|this|it)|your[_-]?|[_-]?here\b|example|placeholder|redacted|dummy|undefined|insert[_-]|replace[_-]"
    r"|\bmy[_-]?(?:token|secret|password|key)\b|x{4}|\*{3}|\.{3}|…",
    re.IGNORECASE,
)
WORDS = _words(
    "string number boolean bytes object unknown optional required secret secrets password passwd passphrase token "
    "tokens bearer credential credentials hidden masked missing invalid disabled enabled default private public "
    "sensitive secretstr nothing varchar integer nullable identifier keyword forgot update confirm and/or"
)
CODE_WORDS = ("token", "key", "secret", "pass", "pwd", "cred")
DOTTED = re.compile(r"[A-Za-z_]\w{0,64}+(?:(?:\.|->|::|\?\.)[A-Za-z_]\w{0,64}+){1,8}+\Z", re.ASCII)
PLAIN = re.compile(r"[A-Za-z_$][\w.-]{0,255}+\Z", re.ASCII)
CALL = re.compile(r"[A-Za-z_][\w.]{0,100}+[(\[]", re.ASCII)
SYMBOLS = frozenset("!@#$%^&*+=~?/")


def assigned_secret(text: str, lowered: str, at: int) -> tuple[tuple[str, int, int] | None, int]:
    """Look at the keyword at `at`: is it part of a secret's name, with a value beside it that is one?"""
    follow = FOLLOW.match(lowered, at)
    if follow is None or (follow["flag"] and lowered.rfind("--", max(0, at - NAME_BEFORE), at) < 0):
        return None, at  # most ends here: a word of prose is no option
    start = _name_start(lowered, at)
    is_flag = lowered.startswith("--", start)
    name = _phrase_before(lowered, start) + text[start : follow.start("close")]
    if (follow["flag"] and not is_flag) or not is_secret_name(name):
        return None, at
    span, accepted = _value(text, follow, name, is_flag)
    if not accepted:
        return None, follow.end()
    return (_kind(name), *span), span[1]


def _name_start(lowered: str, at: int) -> int:
    before = lowered[max(0, at - NAME_BEFORE) : at]
    start = at - (len(before) - len(before.rstrip(NAME_CHARACTERS)))
    escaped = start < at and lowered[start] in "nrtbf" and lowered[start - 1 : start] == "\\"
    return start + 1 if escaped else start


def _phrase_before(lowered: str, start: int) -> str:
    """The rest of a name with spaces, as in `AWS Secret Access Key`."""
    if not lowered.endswith(KEY_PHRASE_ENDS, 0, start):
        return ""
    phrase = KEY_PHRASE.search(lowered, max(0, start - 24), start)
    return phrase[0].replace(" ", "_") if phrase else ""


def _kind(name: str) -> str:
    folded = re.sub(r"[^a-z]", "", name.lower())
    if "secretaccesskey" in folded or ("aws" in folded and "secret" in folded):
        return "aws-secret-key"
    return "password" if "pass" in folded or "pwd" in folded else "token"


@lru_cache(maxsize=1024)
def is_secret_name(name: str) -> bool:
    """Whether a name (snake, kebab, camel or upper case) is that of a secret."""
    words = [word for word in re.split(r"[_.-]+", CAMEL.sub("_", name).lower()) if word]
    for i, word in enumerate(words):
        if _is_secret_word(word, words[:i]):
            return not (HARMLESS_BEFORE.intersection(words[:i]) or HARMLESS_AFTER.intersection(words[i + 1 :]))
    return False


def _is_secret_word(word: str, earlier: list[str]) -> bool:
    if word == "key":
        return bool(KEY_OWNERS.intersection(earlier[-1:]))
    return word.endswith(SECRET_ENDINGS) or word == "pgpass" or (word == "pass" and bool(earlier))


def _value(text: str, follow: re.Match[str], name: str, is_flag: bool) -> tuple[tuple[int, int], bool]:
    """Where the value stands, and whether it is a secret."""
    start = follow.end()
    opening = OPENING.match(text, start)
    if opening:
        end = _closing(text, opening.end(), opening[1])
        if end >= 0:
            return (opening.end(), end), is_quoted_secret(text[opening.end() : end], name)
        start = opening.end()
    separator = follow["sep"]
    shell = separator == "=" and name.upper() == name and any(map(str.isalpha, name))
    bare = (BARE_IN_SHELL if shell or is_flag else BARE).match(text, start)
    if bare is None:
        return (start, start), False
    value = bare[0].rstrip((";,&|" if "(" in bare[0] else ";,&|)") if shell or is_flag else ":.")
    if shell or (is_flag and separator) or _is_compose_password(separator, name, text, start + len(value)):
        accepted = is_shell_secret(value, name)
    else:
        accepted = is_bare_secret(value, text[bare.end() : bare.end() + 1], name)
    return (start, start + len(value)), accepted


def _is_compose_password(separator: str | None, name: str, text: str, end: int) -> bool:
    """POSTGRES_PASSWORD: word, to the end of its line: the environment of a container in YAML."""
    if separator is None or separator.strip() != ":" or name.upper() != name or "_" not in name:
        return False
    return _kind(name) == "password" and text[end : end + 1] in ("", "\n", "\r", "\\")


def _closing(text: str, start: int, quote: str) -> int:
    """Where a quoted value ends, -1 if not on this line; a quote with more backslashes than `quote` is inside."""
    at = text.find(quote, start, start + LONGEST_VALUE)
    while at >= 0 and text[at - 1] == "\\" and at > start:
        at = text.find(quote, at + len(quote), start + LONGEST_VALUE)
    return -1 if at < 0 or text.find("\n", start, at) >= 0 else at


def token_like(value: str) -> bool:
    """Whether a value is more than a placeholder such as xxxx or ****."""
    return len(set(value[-64:])) > 3 and "xxxxxx" not in value.lower() and "***" not in value


def looks_random(value: str) -> bool:
    """Whether letters and digits are mixed, over at least eight characters."""
    return len(value) >= 8 and any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and token_like(value)


def _is_possible(value: str, name: str) -> bool:
    return (
        len(value) >= SHORTEST_VALUE
        and not NOT_A_VALUE.match(value)
        and len(set(value[:64])) > 2
        and not PLACEHOLDER_WORDS.search(value, 0, 128)
        and len(value.split(None, 1)) == 1
        and value.lower() not in WORDS
        and value.lower() != name.lower()
    )


def is_quoted_secret(value: str, name: str) -> bool:
    """A value in quotes: a password may be a word; a token has digits, or is long and without words."""
    if not _is_possible(value, name) or CALL.match(value):
        return False
    if _kind(name) == "password":
        return not (DOTTED.match(value) or _names_something(value, 0))
    if PLAIN.match(value) and _names_something(value, len(value) // 5):
        return False
    return looks_random(value) or (len(value) >= 20 and value.isalnum()) or bool(SYMBOLS.intersection(value[:-2]))


def _names_something(value: str, most_digits: int) -> bool:
    """A name in code rather than a value: it speaks of tokens or keys and has hardly a digit."""
    return sum(map(str.isdigit, value)) <= most_digits and any(word in value.lower() for word in CODE_WORDS)


def is_shell_secret(value: str, name: str) -> bool:
    """A value after NAME= or --name=: anything that is no variable, call, path or name in code."""
    if not _is_possible(value, name) or CALL.match(value) or DOTTED.match(value):
        return False
    if value.isdigit():
        return _kind(name) == "password"
    return not (PLAIN.match(value) and _names_something(value, len(value) // 5))


def is_bare_secret(value: str, after: str, name: str) -> bool:
    """A value without quotes where code or prose may stand as well: only what looks random."""
    if after in ("(", "[", "{", "<") or not _is_possible(value, "") or DOTTED.match(value) or CALL.match(value):
        return False
    if PLAIN.match(value) and _names_something(value, _digits_in_a_name(value, name)):
        return False
    return looks_random(value)


def _digits_in_a_name(value: str, name: str) -> int:
    """How many digits a name in code may have: any (sha256_key, oauth2Token) but beside a password (Passw0rd2024)."""
    return 1 if _kind(name) == "password" and value.isalnum() else len(value)

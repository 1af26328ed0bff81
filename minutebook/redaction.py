"""Secrets out of text, before anything is stored: each becomes a typed placeholder such as [secret:github-token:3f9a].

How it stays cheap: plain substring searches find the few places where a secret could be; only there does an anchored
pattern look. Every quantifier is bounded and possessive, so no text can make it slow.
What it finds and what it leaves alone is described in docs/redaction.md. It is one net more, and no guarantee.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from hmac import digest

from minutebook.assigned_secrets import ASSIGNED, KEYWORDS, OPTION, assigned_secret, looks_random, token_like
from minutebook.private_spans import entry_without_private, without_private
from minutebook.records import Part, SourceEntry

Hit = tuple[str, int, int]
"""Type, start, end of one secret."""

SHORTEST_TEXT = 10
"""Below this, a text cannot hold a name with a value, nor a URL with a password."""
SHORTEST_TOKEN = 15
"""Below this, a text cannot hold a token that is told by its own looks."""
MOST_PASSES = 8
"""Replacing a secret can uncover another; each pass shortens what is left, and real texts need one."""
BROAD_TYPES = frozenset({"password", "token", "basic-auth"})
"""Types told from the name beside the value; a type told from the value itself is the better one."""

PLACEHOLDER = re.compile(r"\[secret:[a-z][a-z0-9-]{1,30}:[0-9a-f]{4}\]")


class Redactor:
    """Replaces secrets by placeholders whose four hex digits depend on `key`, so one store shows one secret alike.

    key: the store's own random bytes; with another key the same secret gets other digits. Only 16 bits leak.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def redact(self, text: str) -> str:
        """The text with every private span and every secret found replaced. Idempotent, never raises on any str."""
        text = without_private(text)
        for _ in range(MOST_PASSES):
            hits = found(text)
            if not hits:
                break
            text = self._replaced(text, hits)
        return text

    def redact_entry(self, entry: SourceEntry) -> SourceEntry:
        """The entry with the text of every part redacted; names, ids and all other fields are untouched."""
        entry = entry_without_private(entry)
        texts = [self.redact(part.text) for part in entry.parts]
        if texts == [part.text for part in entry.parts]:
            return entry
        return replace(entry, parts=tuple(map(_with_text, entry.parts, texts)))

    def _replaced(self, text: str, hits: list[Hit]) -> str:
        pieces: list[str] = []
        done = 0
        for kind, start, end in hits:
            pieces += (text[done:start], self._placeholder(kind, text[start:end]))
            done = end
        return "".join(pieces) + text[done:]

    def _placeholder(self, kind: str, secret: str) -> str:
        mac = digest(self._key, canonical(kind, secret).encode("utf-8", "surrogatepass"), "sha256")
        return f"[secret:{kind}:{mac.hex()[:4]}]"


def _with_text(part: Part, text: str) -> Part:
    return replace(part, text=text)


def canonical(kind: str, secret: str) -> str:
    """The secret without what a JSON string or a line wrap puts into it, so that it is known again elsewhere."""
    if kind == "private-key":
        return re.sub(r"\\{1,8}[nrt]|[^A-Za-z0-9+/=]", "", secret)
    return secret.replace("\\", "")


def found(text: str) -> list[Hit]:
    """The secrets in a text as (type, start, end), in order and without overlap; placeholders are never looked into."""
    if len(text) < SHORTEST_TEXT:
        return []
    if "[secret:" not in text:
        hits = _scanned(text)
        return _settled(hits) if hits else hits
    hits = []
    for start, end in _between_placeholders(text):
        hits += [(kind, start + a, start + b) for kind, a, b in _settled(_scanned(text[start:end]))]
    return hits


def _between_placeholders(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in PLACEHOLDER.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _scanned(text: str) -> list[Hit]:
    hits: list[Hit] = []
    if len(text) >= SHORTEST_TOKEN:
        for sign, gate, looks in GATES:
            if sign in text and (first := gate.search(text)):
                hits += _gate_hits(text, first, looks)
    for needle, look in LITERALS:
        if needle in text:
            hits += _needle_hits(text, text, needle, look)
    if ":" in text or "=" in text or " " in text:
        lowered = _lowered(text)
        for needle, look in NAMES:
            if needle in lowered:
                hits += _needle_hits(text, lowered, needle, look)
        hits += _assigned(text, lowered)
    return hits


def _assigned(text: str, lowered: str) -> Iterator[Hit]:
    options = OPTION.search(lowered)
    for word in KEYWORDS:
        if word in lowered:
            if options:
                yield from _needle_hits(text, lowered, word, assigned_secret)
            elif first := ASSIGNED[word].search(lowered):
                yield from _assigned_hits(text, lowered, first)


def _gate_hits(text: str, match: re.Match[str] | None, looks: tuple[tuple[str, "Look"], ...]) -> Iterator[Hit]:
    while match:
        resume = at = match.end()
        for prefix, look in looks:
            if text.startswith(prefix, at - len(prefix)):
                hit, end = look(text, text, at - len(prefix))
                resume = max(resume, end)
                if hit:
                    yield hit
        match = match.re.search(text, resume)


def _needle_hits(text: str, searched: str, needle: str, look: "Look") -> Iterator[Hit]:
    at = searched.find(needle)
    while at >= 0:
        hit, resume = look(text, searched, at)
        if hit:
            yield hit
        at = searched.find(needle, max(resume, at + len(needle)))


def _assigned_hits(text: str, lowered: str, match: re.Match[str] | None) -> Iterator[Hit]:
    while match:
        hit, resume = assigned_secret(text, lowered, match.start())
        if hit:
            yield hit
        match = match.re.search(lowered, max(resume, match.end()))


def _lowered(text: str) -> str:
    """Lower case with every character at its place; one capital letter of Unicode grows when it is lowered."""
    return text.lower() if text.isascii() else text.replace("\u0130", "i").lower()


def _settled(hits: list[Hit]) -> list[Hit]:
    """In order, overlaps made one."""
    settled: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (hit[1], -hit[2])):
        if settled and hit[1] < settled[-1][2]:
            settled[-1] = _merged(settled[-1], hit)
        else:
            settled.append(hit)
    return settled


def _merged(first: Hit, second: Hit) -> Hit:
    """The inner one if its type is the better and it leaves no more than a quote or a comma; else what both span."""
    kind, start, end = first[0], first[1], max(first[2], second[2])
    spare = (end - start) - (second[2] - second[1])
    if first[0] in BROAD_TYPES and second[0] not in BROAD_TYPES and spare < 6:
        return second if spare else (second[0], start, end)
    return kind, start, end


Look = Callable[[str, str, int], tuple[Hit | None, int]]
"""Looks at one place of (text, lowered text): the hit, if any, and where the search goes on."""


def _token(kind: str, pattern: str) -> Look:
    """Looks for a token by an anchored pattern."""
    matches = re.compile(pattern, re.ASCII).match

    def look(text: str, _lowered: str, at: int) -> tuple[Hit | None, int]:
        match = matches(text, at)
        if match is None or not token_like(match[0]):
            return None, at
        return (kind, *match.span()), match.end()

    return look


JWT = re.compile(r"eyJ[\w-]{8,4096}+(\.[\w-]{8,16384}+(?:\.[\w-]{0,2048}+)?)?", re.ASCII)


def _jwt(text: str, _lowered: str, at: int) -> tuple[Hit | None, int]:
    match = JWT.match(text, at)
    if match is None:
        return None, at
    return (("jwt", *match.span()) if match[1] and token_like(match[0]) else None), match.end()


SK = re.compile(r"sk-(?:(ant|proj|svcacct|admin|or)-[\w-]{20,512}+|[A-Za-z0-9]{20,512}+)", re.ASCII)


def _sk(text: str, _lowered: str, at: int) -> tuple[Hit | None, int]:
    match = SK.match(text, at)
    if match is None or not token_like(match[0]):
        return None, at
    if match[1] is None and not _random_sk(match[0], text[at - 1 : at]):
        return None, at
    return ("anthropic-key" if match[1] == "ant" else "openai-key", *match.span()), match.end()


def _random_sk(token: str, before: str) -> bool:
    """A key without a second prefix: mixed case and digits, or long and not the end of a word such as task-."""
    if looks_random(token[3:]) and token.lower() != token and token.upper() != token:
        return True
    return len(token) >= 35 and looks_random(token[3:]) and not before.isalnum()


AWS_PAIR = re.compile(r"(?:AKIA|ASIA)[0-9A-Z]{16}[\s,:;\"'\\]{1,6}([A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])")


def _aws_pair(text: str, _lowered: str, at: int) -> tuple[Hit | None, int]:
    """A secret key that follows its id with nothing but a separator between, as in a CSV."""
    match = AWS_PAIR.match(text, at)
    return (("aws-secret-key", *match.span(1)) if match else None), at


URL_PASSWORD = re.compile(r"://[^\s/:@\"'<>\\]{0,128}+:([^\s/?#()\"'`<>\\]{1,256})@")
SLACK_WEBHOOK = re.compile(
    r"://hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([\w/+-]{20,200}+)", re.ASCII
)
TELEGRAM_BOT = re.compile(r"://api\.telegram\.org/(?:file/)?bot(\d{6,12}:[\w-]{30,64}+)", re.ASCII)
PASSWORD_WORDS = frozenset({"password", "passwd", "pass", "pwd", "pw", "secret", "token", "changeme", "redacted"})


def _url(text: str, _lowered: str, at: int) -> tuple[Hit | None, int]:
    for kind, pattern in (("slack-webhook", SLACK_WEBHOOK), ("telegram-token", TELEGRAM_BOT)):
        secret_path = pattern.match(text, at)
        if secret_path:
            return ((kind, *secret_path.span(1)) if token_like(secret_path[1]) else None), secret_path.end()
    match = URL_PASSWORD.match(text, at)
    if match is None or match[1].lower().strip("_-*.x") in PASSWORD_WORDS | {""} or match[1][0] in "$%{[":
        return None, at
    return ("password", *match.span(1)), match.end()


KEY_BLOCK = re.compile(
    r"private key(?: block)?-----"
    r"((?:[a-z0-9+/=\s\\:,.\"'|→…_]|-(?!----)){1,65536}+)-----end [a-z0-9 ]{0,40}+(?:-----)?"
)
KEY_OPEN = re.compile(r"private key(?: block)?-----((?:(?:\\{1,8}+[nr]|\s){0,8}+[a-z0-9+/=]{16,512}+){1,1024}+)")
KEY_BEGIN = re.compile(r"-----begin [a-z0-9 ]{0,40}\Z")
KEY_LINE = re.compile(r"[a-z0-9+/=]{16}")


def _private_key(_text: str, lowered: str, at: int) -> tuple[Hit | None, int]:
    """A PEM block around the words at `at`; one that was cut off before its end counts too."""
    begin = KEY_BEGIN.search(lowered, max(0, at - 56), at)
    if begin is None:
        return None, at
    for pattern in (KEY_BLOCK, KEY_OPEN):
        match = pattern.match(lowered, at)
        if match and KEY_LINE.search(match[1]) and token_like(match[1]):
            return ("private-key", begin.start(), match.end()), match.end()
    return None, at


BEARER = re.compile(r"bearer[ \t]{1,4}([\w.~+/=-]{16,8192}+)", re.ASCII)
AUTHORIZATION = re.compile(
    r"authorization(?:\\{0,7}[\"'`])?\s{0,4}[:=,]\s{0,4}(?:\\{0,7}[\"'`])?"
    r"(?:(basic|bearer|token|digest|[a-z][a-z0-9-]{1,24})[ \t]{1,4}+)?([\w.~+/-]{6,8192}+={0,2})",
    re.ASCII,
)


def _bearer(text: str, lowered: str, at: int) -> tuple[Hit | None, int]:
    match = BEARER.match(lowered, at)
    if match is None or not looks_random(text[slice(*match.span(1))]):
        return None, at
    return ("token", *match.span(1)), match.end()


def _authorization(text: str, lowered: str, at: int) -> tuple[Hit | None, int]:
    match = AUTHORIZATION.match(lowered, at)
    if match is None:
        return None, at
    value = text[slice(*match.span(2))]
    mixed = match[1] == "basic" and len(value) >= 8 and value != value.lower() and value[1:] != value[1:].lower()
    if not token_like(value) or not (mixed or (any(map(str.isdigit, value)) and any(map(str.isalpha, value)))):
        return None, at
    return ("basic-auth" if match[1] == "basic" else "token", *match.span(2)), match.end()


CURL_USER = re.compile(r"\s(?:-u|--user)[ =]{0,2}(?:\\{0,7}[\"'])?[^\s:\"'$\\]{1,64}+:([^\s\"'\\$]{4,128}+)")


def _curl(text: str, _lowered: str, at: int) -> tuple[Hit | None, int]:
    match = CURL_USER.search(text, at, at + 400)
    if match is None or match[1].lower() in PASSWORD_WORDS or not token_like(match[1]):
        return None, at
    return ("password", *match.span(1)), match.end()


Gate = tuple[str, re.Pattern[str], tuple[tuple[str, Look], ...]]
"""A character that is always there; a pattern that stops where a prefix ends; the prefixes with their looks."""

GATES: tuple[Gate, ...] = (
    (
        "_",
        re.compile(
            r"_(?:(?=[A-Za-z0-9+/]{20})"
            r"(?:(?<=gh[pousr]_)|(?<=npm_)|(?<=hf_)|(?<=k_live_)|(?<=github_pat_)|(?<=whsec_))"
            r"|(?<=mb_)(?=[0-9a-f]{12}_))"
        ),
        (
            *((f"gh{c}_", _token("github-token", rf"gh{c}_[A-Za-z0-9]{{36,255}}+")) for c in "pousr"),
            ("github_pat_", _token("github-token", r"github_pat_\w{22,255}+")),
            ("npm_", _token("npm-token", r"npm_[A-Za-z0-9]{36,255}+")),
            ("hf_", _token("huggingface-token", r"hf_[A-Za-z0-9]{30,255}+")),
            ("sk_live_", _token("stripe-key", r"sk_live_[A-Za-z0-9]{20,255}+")),
            ("rk_live_", _token("stripe-key", r"rk_live_[A-Za-z0-9]{20,255}+")),
            ("whsec_", _token("stripe-key", r"whsec_[A-Za-z0-9+/=]{20,255}+")),
            ("mb_", _token("minutebook-token", r"mb_[0-9a-f]{12}_[\w-]{43}")),
        ),
    ),
    (
        "-",
        re.compile(r"-(?=[\w-]{10})(?:(?<=sk-)|(?<=glpat-)|(?<=xox[a-z]-)|(?<=pypi-))", re.ASCII),
        (
            ("sk-", _sk),
            ("glpat-", _token("gitlab-token", r"glpat-[\w.-]{20,300}+")),
            *((f"xox{c}-", _token("slack-token", r"xox[a-z]-[A-Za-z0-9-]{10,400}+")) for c in "abcdeoprs"),
            ("pypi-", _token("pypi-token", r"pypi-[\w-]{50,1024}+")),
        ),
    ),
    (
        ".",
        re.compile(r"\.(?=[\w-]{16})(?:(?<=ya29\.)|(?<=SG\.))", re.ASCII),
        (
            ("ya29.", _token("google-token", r"ya29\.[\w.-]{20,2048}+")),
            ("SG.", _token("sendgrid-key", r"SG\.[\w-]{16,64}+\.[\w-]{16,128}+")),
        ),
    ),
    (
        "A",
        re.compile(r"A(?:[KS]IA|Iza)"),
        (
            ("AKIA", _token("aws-access-key", r"AKIA[0-9A-Z]{16}")),
            ("ASIA", _token("aws-access-key", r"ASIA[0-9A-Z]{16}")),
            ("AKIA", _aws_pair),
            ("ASIA", _aws_pair),
            ("AIza", _token("google-key", r"AIza[\w-]{35}")),
        ),
    ),
)
"""What is told by its own looks and begins with a literal."""

LITERALS: tuple[tuple[str, Look], ...] = (("eyJ", _jwt), ("://", _url), ("curl", _curl))
"""What is told by the form around a literal."""

NAMES: tuple[tuple[str, Look], ...] = (
    ("private key", _private_key),
    ("bearer", _bearer),
    ("authorization", _authorization),
)
"""What is told by the name beside it, in any case."""

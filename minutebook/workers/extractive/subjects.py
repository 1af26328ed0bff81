"""What a statement is about: its words, its values by type, and the noun phrase before its verb. Pure."""

import re
from dataclasses import dataclass
from functools import lru_cache

EXAMINED_CHARACTERS = 600

_TOKEN = re.compile(r"[A-Za-zÀ-ɏͰ-ϿЀ-ӿ0-9_@#][\w@#'+/.:-]*")
_EAST_ASIAN = re.compile(r"[぀-ヿ㐀-鿿가-힯]{2,}")
_GENERIC = frozenset(
    re.findall(
        r"\S+",
        """a an the and or but if so to of in on at by for from with into as is are was were be been being am
        it its this that these those there here i me my we us our you your he she they them his her
        their who whom which what when where why how do does did doing done has have had having will
        would shall should can could may might must not no nor yes ok okay actually really now then
        instead rather than anymore any more longer just only also too very all some every each
        please let lets let's go going get got make made making use using used change changed
        changing move moved moving switch switched switching set put keep want wanted need needed
        mean meant say said think thought know correction scratch forget wait sorry oops never
        always don't dont doesn't isn't aren't won't can't cannot mustn't shouldn't it's that's
        we're i'm you're they're we'll i'll we've i've i'd update updated new old plan idea thing
        one mistake wrong right decided decision from-now-on corrected asked constraint
        preference fact was turns out back over up down off about after before because since until
        still already yet again both either plain plus via per stay stays become becomes replace
        replaced drop dropped ditch bump bumped raise lower stop start like same different take well
        today doing prefer x under below above within between most least listen listens sorry minute
        minutes hour hours second seconds sec ms day days month months year years percent bad enough
        good el la los las un una uno es son está en de del que y le les est sont il der die das ein
        eine ist sind nein non realidad eigentlich doch statt nicht pas wir nehmen jetzt auf den dem
        für von zu mit wird wurde werden wurden soll sollen erst nach nee doch sich im am läuft ab
        ablaufen verschoben verwenden nutzen ahora con para por se pasa usamos usar usa finalement
        on utilise passe pour au du des une maintenant désormais pls plz thx hmm ok win pasa al
        meanwhile slips slipped slip renamed got everything everyone anything everybody anymor shoud
        give given due allow allows accept goes there joke
        overkill insists tomorrow endet enden muss müssen haben künftig
        passes went à few many much long short high low""",
    )
)
_SYNONYM_GROUPS = (
    "approve approval approver sign signs signed signoff signer",
    "deadline due",
    "database db",
    "repository repo",
    "configuration config",
    "production prod",
    "environment env",
    "documentation docs doc",
    "authentication auth",
    "limit cap max maximum",
    "release ship launch",
    "owner own owns",
    "review reviewer reviews",
    "deploy deployment deploys",
    "package dependency",
    "postgres postgresql",
    "javascript js",
    "typescript ts",
    "kubernetes k8s",
    "color colour colours colors",
    "indentation indent",
    "support supported supports",
    "contact contacts",
    "password passwords passwort passwörter passwörtern",
    "expire expires expired expiry expiration",
    "minimum min",
    "poll polling polls",
)
_CANONICAL = {word: group.partition(" ")[0] for group in _SYNONYM_GROUPS for word in re.findall(r"\w+", group)}
_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), start=2
    )
}
_UNITS = (
    (
        "duration",
        (
            r"(?:ms|milliseconds?|s|secs?|sekunden?|segundos?|secondes?|seconds?|m|mins?|minutes?|minuten|minutos?|h|hrs?|"
            r"hours?|stunden?|horas?|heures?|days?|tagen?|d[ií]as?|jours?|weeks?|wochen?|semanas?|semaines?|months?|"
            r"monaten?|"
            r"meses|mois|years?|jahren?|años?|ans)"
        ),
    ),
    ("size", r"(?:b|kb|mb|gb|tb|kib|mib|gib|bytes?|tokens?)"),
    ("percent", r"(?:%|percent|pct)"),
)
_DAY = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:january|february|march|april|june|july|august|september|"
    r"october|"
    r"november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?(?: \d{1,2}(?:st|nd|rd|th)?)?|tomorrow|"
    r"today|tonight|"
    r"next (?:week|month|quarter|sprint)|end of (?:the )?(?:week|month|quarter|year)|q[1-4]|\d{4}-\d\d-\d\d|"
    r"\d{1,2}(?:st|nd|rd|th)|"
    r"(?:\d{1,2}\.? (?:de )?)?(?:januar|februar|märz|mai|juni|juli|oktober|dezember|enero|febrero|marzo|abril|mayo|"
    r"junio|"
    r"julio|agosto|septiembre|octubre|noviembre|diciembre|janvier|février|mars|avril|juin|juillet|août|septembre|"
    r"octobre|"
    r"novembre|décembre)|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|lunes|martes|miércoles|jueves|viernes|"
    r"sábado|domingo|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
)
_VALUES = re.compile(
    r"(?P<date>\b(?:" + _DAY + r")\b)|(?P<url>\bhttps?://\S+)|(?P<email>[\w.+-]+@[\w.-]+)|"
    r"(?P<color>#[0-9a-f]{3,8}\b)|"
    r"(?P<hash>\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b)|(?P<path>~?[\w.@-]*/[\w./@-]+|"
    r"[\w.@-]{2,}/(?=[\s.,]|$))|"
    r"(?P<time>\b\d{1,2}:\d\d\b|(?<=\bat )\d{1,2}(?![\w.:%,/-])(?! ?[a-z]{2,}s\b)|\b\d{1,2} ?(?:am|pm)\b)|"
    + "|".join(rf"(?P<{name}>\b\d[\d.,_]* ?-?{unit}(?!\w))" for name, unit in _UNITS)
    + r"|(?P<choice>\b(?:(?<=the )(?:left|right|top|bottom)|true|false|enabled|disabled|dark|light|public|private|"
    r"ascending|descending|english|german|french|spanish)\b)"
    + r"|(?P<name>\b[a-z]\w*(?:[-_.]\w+)*[-_]?\d[\w.-]*|\b(?!e\.g|i\.e)[a-z]\w+(?:[_.][a-z]\w+)+|"
    r"\b[a-z]\w+(?:-(?!to-|of-|in-|the-|and-|by-|a-)\w+){2,})"
    + r"|(?P<version>\bv?\d+\.\d+(?:\.\d+)*\b)|(?P<number>\b\d[\d,_]*\b)",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:(?:has|have|should|must)(?: to)? be|"
    r"is|are|was|were|'s|isn't|aren't|moved|changed|moves|changes|slipped|has|have|had|happens?|should|must|"
    r"will|to be|"
    r"becomes?|stays?|lives?|runs?|listens?|"
    r"es|son|est|sont|ist|sind|uses?|goes|gets?|got|needs?|points?|signs?|owns?|starts?|ends?|expires?|equals?|"
    r"belongs?|works?|reports?|can|"
    r"cannot|can't)\b|=|:(?=\s)|\bfrom\b|\bto\b"
)
_SUBJECT_STOP = re.compile(
    r"[,;:.!?—–(]|\b(?:actually|no|sorry|wait|correction|that|and|but|because|so|please|bump|raise|lower|set|"
    r"change|move|switch|push|increase|"
    r"decrease|reduce|extend|make|rename|update|shorten|cut|where|when|if|then|ok|okay|in|on|at|with|we|i|"
    r"you|it)\b"
)
_OF = re.compile(r"\b(?:of|for)\b")
BOUNDS = frozenset(("limit", "minimum"))
_STATING = frozenset(
    (
        "is",
        "are",
        "was",
        "were",
        "'s",
        "isn't",
        "aren't",
        "to be",
        "becomes",
        "has to be",
        "have to be",
        "should be",
        "must be",
        "become",
        "=",
        ":",
        "moved",
        "changed",
        "lives",
        "live",
    )
)
_CHOICES = tuple(
    frozenset(group)
    for group in (
        ("left", "right", "top", "bottom"),
        ("true", "false"),
        ("enabled", "disabled"),
        ("dark", "light"),
        ("public", "private"),
        ("ascending", "descending"),
        ("english", "german", "french", "spanish"),
    )
)
_NUMERIC = frozenset(("number", "duration", "size", "percent", "version"))


@dataclass(frozen=True, slots=True)
class Value:
    """A literal in a statement. kind: date, time, path, url, email, hash, version, number, duration, size, percent."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Subject:
    """words: content words and values, normalised. values: by type. phrase: the noun phrase before the verb.

    head: the last word of the phrase. numbers_only: the words of the values. topic: the words without the values.
    states: the verb says what something is.
    """

    words: frozenset[str]
    values: tuple[Value, ...]
    phrase: frozenset[str]
    head: str
    numbers_only: frozenset[str]
    topic: frozenset[str]
    states: bool


@lru_cache(maxsize=8_192)
def subject_of(text: str) -> Subject:
    """Everything that comparisons between statements need."""
    lowered = plain_of(text[:EXAMINED_CHARACTERS])
    values = values_of(lowered)
    phrase, head, verb = _noun_phrase(lowered)
    value_words = frozenset(word for value in values for word in content_words(value.text))
    words = content_words(lowered)
    return Subject(words, values, phrase - value_words, head, value_words, words - value_words, verb in _STATING)


@lru_cache(maxsize=8_192)
def content_words(text: str) -> frozenset[str]:
    """Normalised words that carry meaning; East Asian text as pairs of characters."""
    found: set[str] = set()
    for token in _TOKEN.findall(plain_of(text)):
        found.update(_normal_forms(token.strip(".:-/#'")))
    for run in _EAST_ASIAN.findall(text):
        found.update(run[at : at + 2] for at in range(len(run) - 1))
    return frozenset(found)


def plain_of(text: str) -> str:
    """Lower case, with straight apostrophes, and small numbers in figures."""
    return _number_words(text.lower().replace("’", "'"))


@lru_cache(maxsize=8_192)
def values_of(text: str) -> tuple[Value, ...]:
    """The literals of a text, first to last."""
    return tuple(
        Value(match.lastgroup or "number", _normal_value(match.lastgroup, match.group()))
        for match in _VALUES.finditer(text)
    )


def without_values(text: str) -> str:
    """The text with its literals blanked."""
    return _VALUES.sub(" ", text)


def _normal_value(kind: str | None, text: str) -> str:
    """30s, 30 sec and 30 seconds are one value."""
    text = text.strip(" .,").lower()
    if kind != "duration":
        return text
    number, unit = re.match(r"([\d.,_]+) ?-?(\w+)", text).groups()  # type: ignore[union-attr]
    short = next((sign for sign in ("ms", "mi", "mo") if unit.startswith(sign)), unit[:1])
    return f"{number}{short}"


def comparable(one: Value, other: Value) -> bool:
    """Whether one value could stand in the other's place: the same type, or a bare number for a measured one."""
    if one.kind == other.kind == "choice":
        return any({one.text, other.text} <= group for group in _CHOICES)
    bare = "number" in (one.kind, other.kind)
    return one.kind == other.kind or (bare and one.kind in _NUMERIC and other.kind in _NUMERIC)


def same_subject(one: Subject, other: Subject) -> bool:
    """Whether the two noun phrases name one thing: equal, or one in fewer words with the same last one."""
    if not one.phrase or not other.phrase or one.head != other.head:
        return False
    if one.phrase & other.phrase <= BOUNDS:
        return one.topic <= other.topic or other.topic <= one.topic
    return one.phrase <= other.phrase or other.phrase <= one.phrase


def _normal_forms(token: str) -> set[str]:
    if not token or token in _GENERIC:
        return set()
    pieces = {token} if any(sign in token for sign in "/@") or token[:1].isdigit() else set(re.split(r"[-:]+", token))
    if token[:1].isdigit() and (number := re.match(r"\d+(?=[a-z%])", token)):
        pieces.add(number.group())
    return {form for piece in pieces if (form := _stem(piece)) and form not in _GENERIC}


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    if word in _CANONICAL:
        return _CANONICAL[word]
    if word.isalpha() and len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if word.isalpha() and len(word) > 5:
        word = word.removesuffix("ing").removesuffix("ed")
    if word.isalpha() and len(word) > 4:
        word = word.removesuffix("e")
    return _CANONICAL.get(word, word)


def _number_words(text: str) -> str:
    text = re.sub(r"\b(?:one|an|a) (?=(?:hour|minute|second|day|week|month|year)\b)", "1 ", text)
    return re.sub(r"\b(?:" + "|".join(_NUMBER_WORDS) + r")\b", lambda match: _NUMBER_WORDS[match.group()], text)


def _noun_phrase(lowered: str) -> tuple[frozenset[str], str, str]:
    """The words between a pause and a verb: the first such span that says something, its last word, the verb."""
    for verb in _VERB.finditer(lowered):
        before = _SUBJECT_STOP.split(lowered[max(0, verb.start() - 80) : verb.start()])[-1]
        words = _ordered_words(before)
        if words:
            return frozenset(words[-4:]), (_ordered_words(_OF.split(before)[0]) or words)[-1], verb.group()
    return _before_value(lowered)


def _before_value(lowered: str) -> tuple[frozenset[str], str, str]:
    """Of an order ("make the request timeout 30s") the words between its verb and the first value."""
    value = _VALUES.search(lowered)
    before = _SUBJECT_STOP.split(lowered[max(0, value.start() - 80) : value.start()])[-1] if value else ""
    words = _ordered_words(before)
    return (frozenset(words[-4:]), words[-1], "") if words else (frozenset(), "", "")


def _ordered_words(text: str) -> list[str]:
    return [form for token in text.split() for form in content_words(token)]

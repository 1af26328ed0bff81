"""Who does what: a person, and the words of what the person is responsible for. Pure."""

import re
from dataclasses import dataclass

from minutebook.workers.extractive.subjects import content_words

EXAMINED_CHARACTERS = 400

_NAME = (
    r"(?P<name>(?!(?:The|This|That|These|Those|It|We|You|They|He|She|There|Who|What|Code|All|Every|Please|And|But|So|"
    r"If|When|My|Our|No|Not|Yes|From|Then|Now|Also|Only|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|"
    r"January|February|March|April|May|June|July|August|September|October|November|December)\b)"
    r"[A-ZÀ-Þ][\w'’]*[a-zà-ÿ](?<!'s)(?<!’s)(?: (?:van |von |de |di |da |el )?[A-ZÀ-Þ][\w-]*[a-zà-ÿ]){0,2})"
)
_ROLE = (
    r"(?:reviewers?|approvers?|owners?|maintainers?|leads?|managers?|contacts?|dba|admins?|on[- ]call|oncall|"
    r"responsible|in charge|sponsor|designer|architect|one to ask|person|po|pm|coordinator|driver|assignee|"
    r"verantwortlich\w*|zuständig\w*|responsable|encargad[oa]|ansprechpartner\w*)"
)
_DOES = (
    r"(?:owns?|leads?|reviews?|approves?|signs? off(?: on)?|signs?|maintains?|handles?|manages?|does|covers?|writes?|"
    r"merges?|releases?|runs?|takes? care of|looks? after|takes? over|took over|taken over|taking over|takes?|"
    r"taking on|taken on|is responsible for|is in charge of|steps in (?:for|as)|übernimmt|prüft|macht|"
    r"se encarga de|s'occupe de|reprend)"
)
_THING = r"(?P<thing>[^,.;:!?—–()]{1,60})"
_AUX = r"(?:(?:now|will|has|have|shall|should|is|still|currently|jetzt|'ll|'s|’s) ?)*"
_FRAMES: tuple[re.Pattern[str], ...] = (
    re.compile(
        rf"\b{_NAME}(?:'s|’s| is| are| ist| es| est| will be| becomes| was)(?: now| jetzt)?"
        rf"(?: the| our| my| a| an| your| der| die| el| la| le)? "
        rf"(?P<thing>[^,.;:!?—–()]{{0,40}}?\b{_ROLE}\b[^,.;:!?]{{0,40}})"
    ),
    re.compile(rf"\b{_NAME} ?{_AUX}\b{_DOES} {_THING}"),
    re.compile(
        rf"\b{_NAME} ?{_AUX}(?P<thing>signs off|approves|reviews|is on call)(?= now| today| until| till| from| "
        rf"instead|[,.;!?]|$)"
    ),
    re.compile(
        rf"(?P<thing>[^,.;:!?—–()]{{2,60}}?) (?:goes|go|went|moves?|moved|belongs?|(?:is|are|be) (?:\w+ )?"
        rf"(?:by|with|handled by|owned by)|from|by) (?:now )?(?:to |with |by )?{_NAME}"
    ),
    re.compile(
        rf"(?P<thing>[^,.;:!?—–()]{{0,40}}\b(?i:{_ROLE})\b[^,.;:!?—–()]{{0,30}}?)(?: is| are|:| ist| es| est|'s) "
        rf"(?:now |jetzt )?{_NAME}"
    ),
    re.compile(
        rf"\b(?:[Aa]sk|[Cc]ontact|[Pp]ing|[Tt]alk to|[Cc]heck with|[Gg]o to|[Ee]scalate to) {_NAME}"
        rf"(?: instead| now)?(?: about| for| on| if| when| before)? ?(?P<thing>[^,.;:!?—–()]{{0,60}})"
    ),
    re.compile(
        rf"(?P<thing>[\w -]{{2,40}}): (?:please )?(?:ask|contact|ping|talk to|check with|go to|write to) "
        rf"{_NAME}"
    ),
    re.compile(rf"(?P<thing>[\w -]{{0,40}}(?:approval|sign-?off|review)s?) (?:comes? )?(?:by|from|of) {_NAME}"),
    re.compile(
        rf"\b[Ff]or (?P<thing>[^,.;:!?—–()]{{2,40}}?),? (?:please )?(?:ask|contact|ping|talk to|check with|go to|see|"
        rf"write to) {_NAME}"
    ),
)
_GONE = re.compile(
    rf"\b{_NAME}(?:'s|’s)?(?: has| is| was| ist| just)* (?:left|leaves|leaving|retired|retires|quit|quits|resigned|"
    rf"gone|"
    r"out|off|sick|on (?:leave|holiday|vacation|parental leave)|no longer|weg|nicht mehr|ya no está|not (?:here|with "
    r"us)|isn't)\b"
)
_HINT = re.compile(
    rf"\b(?:{_ROLE}|{_DOES}|goes|go to|went|moves?|moved|belongs?|by|ask|contact|ping|talk to|check with|escalate|"
    r"approvals?|sign-?offs?|review)\b",
    re.IGNORECASE,
)
_ADDED = re.compile(r"\b(?:too|also|as well|both|together|additionally|second)\b", re.IGNORECASE)
_DUTY = frozenset(("person", "guy", "everything", "one", "contact", "responsible", "charge", "care", "person"))


@dataclass(frozen=True, slots=True)
class Duty:
    """person: lower-case name. words: what the person does, normalised; empty when only the name is known."""

    person: str
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class People:
    """duties: who does what. gone: who is said not to do it any more. added: one more person, not another one."""

    duties: tuple[Duty, ...]
    gone: frozenset[str]
    added: bool


NOBODY = People((), frozenset(), False)


def people_of(text: str) -> People:
    """The duties that a text states."""
    text = text[:EXAMINED_CHARACTERS].strip(" *_\"'")
    if not _HINT.search(text):
        return NOBODY
    found = [Duty(match["name"].lower(), _duty_words(match)) for frame in _FRAMES for match in frame.finditer(text)]
    gone = frozenset(match["name"].lower() for match in _GONE.finditer(text))
    duties = tuple(dict.fromkeys(duty for duty in found if duty.person not in gone))
    return People(duties, gone, bool(_ADDED.search(text)))


def _duty_words(match: re.Match[str]) -> frozenset[str]:
    name = content_words(match["name"])
    verb = match.group()[match.end("name") - match.start() :] if match.end("name") < match.start("thing") else ""
    return (content_words(match["thing"]) | (content_words(verb) & _VERB_DUTIES)) - name - _DUTY


_VERB_DUTIES = content_words("owns leads reviews approves maintains releases merges")


def hands_over(new: People, old: People, *, marked: bool) -> bool:
    """Whether a duty passes to another person: the same duty, or part of it when the words say that it changes."""
    if new.added:
        return False
    return any(_passes(one, other, new, marked) for one in new.duties for other in old.duties)


def _passes(new: Duty, old: Duty, people: People, marked: bool) -> bool:
    if _same_person(new.person, old.person) or any(_same_person(new.person, gone) for gone in people.gone):
        return False
    if any(_same_person(old.person, gone) for gone in people.gone):
        return not new.words or not old.words or bool(new.words & old.words) or len(people.duties) == 1
    if not new.words or not old.words:
        return False
    loose, strict = new.words - _VERB_DUTIES, old.words - _VERB_DUTIES
    if marked and loose and strict and (loose <= old.words or strict <= new.words):
        return True
    return new.words == old.words or (marked and (new.words <= old.words or old.words <= new.words))


def _same_person(one: str, other: str) -> bool:
    """Ines and Ines Varga are taken for one."""
    return one.split()[0] == other.split()[0] or one.split()[-1] == other.split()[-1]

"""The old states that a statement names: "not 8080", "instead of yarn", "from Redis Streams to…", "yarn -> pnpm"."""

import re
from functools import lru_cache

from minutebook.workers.extractive.subjects import content_words, subject_of

_STOP = (
    r"(?=\s*(?:[,;!?)—–。，；！\"”]|\.(?:\s|$)|\s-\s|->|→|$|\b(?:but|and|to|with|because|since|as|for|so|any ?more|"
    r"any longer|either|please|which|that|when|like|we|it|it's|use|by|in the|then|now|who|here|there|at all)\b))"
)
_ARTICLE = r"(?:(?:the|a|an|on|in|at|by|via|using|use|our|my|to|like|old|from|with|about) )*"
_SPAN = _ARTICLE + r"(?P<old>\S.{0,48}?)" + _STOP
_OLD_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (form, re.compile(pattern + _SPAN, re.IGNORECASE))
    for form, pattern in (
        (
            "move",
            (
                r"\b(?:instead of|rather than|in place of|as opposed to|in lieu of|no longer(?: use| using| want| on|"
                r" need)?|stop(?:ped)? using|away from|off of|moving off|get rid of|no more|don'?t use|do not use|"
                r"not using|doesn'?t use|drop(?:ped|ping)?|ditch(?:ed|ing)?|scrap(?:ped|ping)?|abandon(?:ed|ing)?|"
                r"forget(?: about)?|(?:doesn'?t|don'?t|didn'?t) like|hates?|killed|vetoed|rejected|used to (?:be|use)|"
                r"en (?:vez|lugar) de|"
                r"i (?:know i )?said|(?:won'?t|can'?t|cannot) make|missed|"
                r"ya no (?:usamos|usar|usa)|n'utilise(?:ns|z)? plus|n'utilise(?:ns|z)? pas|nicht mehr|"
                r"au lieu de|plut[ôo]t que(?: de)?|statt|anstatt) "
            ),
        ),
        ("move", r"\b(?:from|off) (?=\S+.{0,60}\b(?:to|into|onto|and use)\b)"),
        (
            "not",
            (
                r"(?<!if )(?<!or )(?<!why )(?<!that's )(?<!that is )(?<!this is )(?:\bnot|(?<=, )no(?= \S*\d)|"
                r"\bisn'?t|\baren'?t|"
                r"\bwasn'?t|\bnicht|\bne pas|\bpas) (?!only\b|"
                r"sure\b|just\b|yet\b|really\b|(?:in|on|at|for|with|to|from)? ?(?:this|that|these|those)\b)"
            ),
        ),
        (
            "was",
            (r"\b(?:was|were|previously|formerly|i said|said) (?!wrong|incorrect|not\b|moved|changed|that\b)"),
        ),
        ("rename", r"\brenam(?:e|ed|ing) (?=\S+ (?:to|into|as)\b)"),
        ("move", r"(?:不是|而不是|不再用|不用|ではなく) ?"),
    )
)
_RENAMES = re.compile(
    r"\bwas (?:the|an?|our|my) (?:old|previous|first|wrong|earlier)\b|\bdidn'?t work out\b", re.IGNORECASE
)
_REPLACED = re.compile(
    r"\b(?:replac|swap)\w* (?:the |our |a )?(?P<old>[^,.;]{1,48}?) (?:with|by|"
    r"for)\b",
    re.IGNORECASE,
)
_ARROW = re.compile(r"(?P<old>[\w./@:-]{1,60}) ?(?:->|→|=>) ?\S")
_GONE = re.compile(
    r"(?P<old>[\w./@ -]{2,50}?) (?:is|are|has been|was) (?:now )?(?:off the table|dead|out|gone|dropped|frozen|"
    r"archived|closed|history|cancelled|"
    r"canceled|deprecated|removed|no longer)\b",
    re.IGNORECASE,
)
_JUDGED = re.compile(
    r"(?P<old>[\w./@:#-]+(?: (?!was\b|were\b|is\b|are\b|it\b)[\w./@:#-]+){0,2}) (?:(?:was|were|is|are|seems?|feels?) )?"
    r"(?:(?:way|far|much|a bit|still|just|simply|clearly|really) )*"
    r"(?:(?:too|to) (?:much|many|few|little|long|short|big|small|large|high|low|slow|fast|tight|strict|often|late|"
    r"early|"
    r"bright|dark|optimistic|generous)\b|not enough\b|(?:a|my|our) (?:mistake|error|typo)\b|"
    r"(?:wrong|a mistake|silly|outdated|obsolete)\b|(?:was|were) (?:the|an?|our|my) (?:old|previous|first|wrong|"
    r"earlier)\b|"
    r"kills?\b|overkill\b|(?:a )?joke\b|didn'?t work out\b|did not work out\b|no longer\b)",
    re.IGNORECASE,
)
_JUDGEMENT = re.compile(
    r"\b(?:too|to (?:much|many|few|little|long|short|big|small|large|high|low|slow|fast)|enough|mistake|error|typo|"
    r"wrong|silly|"
    r"outdated|obsolete|was|were|kills?|overkill|joke|didn|did not|no longer)\b",
    re.IGNORECASE,
)
"""One of these stands in every judgement: a cheap look before the dear one."""
_CONTRAST = re.compile(r"[,;—–]|\s-\s|\bbut\b|\buse\b|\bit'?s\b|\bany ?more\b|\bsondern\b|\bsino\b", re.IGNORECASE)


@lru_cache(maxsize=1_024)
def old_values(text: str) -> tuple[tuple[str, str], ...]:
    """The old states that a text names, each with the form that names it (move, not, was, arrow, judged, gone)."""
    text = text[:600]
    found = [(form, match["old"].strip()) for form, pattern in _OLD_FORMS for match in pattern.finditer(text)]
    found += [("move", match["old"]) for match in _REPLACED.finditer(text)]
    found += [("arrow", match["old"]) for match in _ARROW.finditer(text)]
    if _JUDGEMENT.search(text):
        found += [("judged", match["old"]) for match in _JUDGED.finditer(text)]
    found += [("gone", match["old"].strip()) for match in _GONE.finditer(text)]
    return tuple((form, span) for form, span in found if _is_old_state(form, span, text))


def _is_old_state(form: str, span: str, text: str) -> bool:
    """Whether the span can be a state: "was X" needs a value, "not X" a value or what stands in its place."""
    if not content_words(span):
        return False
    if form == "judged":
        return bool(subject_of(span).values) or bool(_RENAMES.search(text))
    if form == "was":
        return bool(subject_of(span).values)
    return form != "not" or bool(subject_of(span).values) or bool(_CONTRAST.search(text))

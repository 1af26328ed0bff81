"""A person's own sentences out of a text: without fenced code, quoted lines, pasted output and host wrappers.

Only the head and the tail of a long text are examined, so the cost of an entry does not grow with its size.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

HEAD_CHARACTERS = 16_000
TAIL_CHARACTERS = 16_000
QUOTE_MAX_CHARACTERS = 320
WRAPPED_LINE_CHARACTERS = range(60, 161)
"""A line of this length that does not end a sentence may go on in the next one."""

_FENCE = re.compile(r"^\s{0,3}(```|~~~)")
_TAG_OPEN = re.compile(r"^\s*<([A-Za-z][\w:-]{1,40})(?:\s[^<>]{0,200})?>")
_BULLET = re.compile(r"^\s{0,8}(?:[-*•‣◦–]|\d{1,3}[.)]|[a-zA-Z]\)|\[[ xX]\])\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+\S")
_IDE_REQUEST = re.compile(r"^## My request for Codex:[^\S\n]*", re.MULTILINE)
_INTRODUCER = re.compile(
    r"\b(?:error|errors|output|logs?|trace|traceback|stack ?trace|readme|docs?|documentation|file|e-?mail|message|"
    r"ticket|"
    r"issue|comment|review|says|said|wrote|writes|response|got this|get this|getting this|this is what|snippet|code|"
    r"diff|"
    r"config|template|paste[ds]?|article|post|changelog|example|json|yaml|csv)\b[^.!?\n]{0,60}:\s*$",
    re.IGNORECASE,
)
_OWN_RULES = re.compile(
    r"\b(?:rules?|requirements?|constraints?|notes?|facts?|preferences?|decisions?)\b", re.IGNORECASE
)
_OWN_VOICE = re.compile(r"\b(?:I|I'm|I'd|we|We|you|your|my|our|please|Please|let's|Let's|can you)\b")
_PASTED = re.compile(
    r"""^(?:\s*(?:
      \$\s|➜|❯|%\s|>>>\s|\#!/|PS\s[A-Z]:                                    # prompts of a shell
      |\[?\d{4}-\d\d-\d\d[T\s]\d\d:\d\d|\[?\d\d:\d\d:\d\d                    # stamped log lines
      |(?:\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL)\]?[:\s|])         # levels
      |at\s[\w.$<>\[\]\s]{1,80}\(|File\s"[^"]{1,200}",\sline|Traceback\s\(
      |(?:[\w.]{1,60})?(?:Error|Exception|Warning):\s|(?:error|fatal|panic|warning)(?:\[\w{1,10}\])?:\s
      |npm\sERR!|E\s{3,}|={5,}|-{5,}|\*{5,}|\+{3}\s|---\s[ab]/|@@\s|diff\s--git|index\s[0-9a-f]{7}
      |[\u2190-\u23ff\u2500-\u25ff\u2800-\u28ff✓✔✗✘❌✅]|\|.{0,400}\|\s*$              # what a terminal draws
      |[+-]\s?\d+\s|\[[\w.-]{1,40}\]\s|/\S{1,300}:\d+\s*$|Node\.js\sv\d
      |(?:import|export|const|let|var|def|class|return|func|fn|public|private|static|package|\#include)\s.{0,200}[;{(:)]\s*$
      |[}\])]+[;,]?\s*$|["'][\w.-]{1,60}["']\s*:\s
    ))""",
    re.VERBOSE,
)
_CODE_CHARACTERS = re.compile(r"[{}();=<>|\\\[\]$]")
_BOUND = re.compile(r"[.!?…]+[\"')\]”’»*_]*(?=\s|$)|[。！？；]+[」』”’）]*|;(?=\s)")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'])(?:e\.g|i\.e|etc|vs|cf|mr|mrs|ms|dr|prof|st|approx|resp|incl|fig|no|nr|p|pp|al|ca|z\.b|bzw|"
    r"[A-Za-z])\.$",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(?:^|\s)\d{1,2}\.$")
_MONTH = re.compile(r"\s(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|[a-zäöü])")
_SPACES = re.compile(r"\s+")


@dataclass(slots=True)
class Prose:
    """paragraphs: lists of sentences, each on one line and verbatim but for spaces. pasted: the lines set aside."""

    paragraphs: list[list[str]] = field(default_factory=list)
    pasted: list[str] = field(default_factory=list)

    @property
    def sentences(self) -> list[str]:
        """All sentences in order."""
        return [sentence for paragraph in self.paragraphs for sentence in paragraph]


def ends_of(text: str, head: int = HEAD_CHARACTERS, tail: int = TAIL_CHARACTERS) -> tuple[str, ...]:
    """The whole text, or its head and tail as two pieces (no quotation may span the gap)."""
    return (text,) if len(text) <= head + tail else (text[:head], text[-tail:])


def one_line(text: str) -> str:
    """The text with every run of white space as one space."""
    return _SPACES.sub(" ", text).strip()


def quoted(text: str, limit: int = QUOTE_MAX_CHARACTERS) -> str:
    """The text in quotation marks; a longer one is cut at a word, with an ellipsis outside of the quotation."""
    text = one_line(text)
    if len(text) <= limit:
        return f'"{text}"'
    cut = text.rfind(" ", limit // 2, limit)
    return f'"{text[: cut if cut > 0 else limit].rstrip()}" …'


def prose_of(text: str, *, pasted_too: bool = True) -> Prose:
    """The person's own sentences of a text, and what was set aside as pasted.

    pasted_too: whether unfenced lines may be taken for pasted output (a prompt), or never are (an agent's answer).
    """
    prose = Prose()
    for piece in ends_of(_after_ide_context(text)):
        own = list(_own_lines(piece.splitlines(), prose.pasted, pasted_too))
        prose.paragraphs += [found for block in _paragraphs(own) if (found := split_sentences(block))]
    return prose


def split_sentences(paragraph: str) -> list[str]:
    """Sentences of one paragraph, bounds of Latin and East Asian writing; verbatim but for spaces."""
    paragraph = one_line(paragraph)
    sentences: list[str] = []
    start = 0
    for bound in _BOUND.finditer(paragraph):
        if _is_bound(paragraph, start, bound):
            sentences.append(paragraph[start : bound.end()].strip())
            start = bound.end()
    sentences.append(paragraph[start:].strip())
    return [sentence for sentence in sentences if any(character.isalnum() for character in sentence)]


def _is_bound(paragraph: str, start: int, bound: re.Match[str]) -> bool:
    if bound.group().startswith("..") or bound.group() == "…":
        following = paragraph[bound.end() : bound.end() + 2].strip()
        return not following[:1].islower()
    if bound.group() == ";":
        return bound.start() - start >= 20 and len(paragraph) - bound.end() >= 20
    if bound.group().startswith("."):
        if _ORDINAL.search(paragraph[max(start, bound.start() - 3) : bound.end()]) and _MONTH.match(
            paragraph[bound.end() : bound.end() + 12]
        ):
            return False
        return not _ABBREVIATION.search(paragraph[max(start, bound.start() - 8) : bound.start() + 1])
    return True


def _after_ide_context(text: str) -> str:
    """A prompt of an editor extension carries its open tabs before the person's words."""
    if not text.startswith("# Context from my IDE"):
        return text
    found = _IDE_REQUEST.search(text[: HEAD_CHARACTERS * 2])
    return text[found.end() :] if found else text


def _own_lines(lines: list[str], pasted: list[str], pasted_too: bool) -> Iterator[str]:
    """The person's lines; an empty line stands for whatever was left out. Pasted lines go to `pasted`."""
    index, fence, introduced = 0, "", False
    while index < len(lines):
        line = lines[index]
        index += 1
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[1] else (fence or mark[1])
            introduced = False
            yield ""
        elif fence:
            pasted.append(line)
        elif (end := _tag_end(lines, index - 1)) >= index or line.lstrip().startswith((">", "|")):
            index = max(end, index)
            introduced = False
            yield ""
        elif pasted_too and ((introduced and line.strip()) or _looks_pasted(line)):
            end = _paste_end(lines, index - 1, introduced)
            pasted.extend(lines[index - 1 : end])
            index = end
            introduced = False
            yield ""
        else:
            introduced = _introduces(line) or (introduced and not line.strip())
            yield line


def _introduces(line: str) -> bool:
    return bool(_INTRODUCER.search(line[-200:])) and not _OWN_RULES.search(line[-200:])


def _tag_end(lines: list[str], index: int) -> int:
    """One past the line that closes the tag that opens this line; 0 when there is none."""
    mark = _TAG_OPEN.match(lines[index][:300])
    if not mark:
        return 0
    close = f"</{mark[1]}>"
    return next((at + 1 for at in range(index, min(len(lines), index + 400)) if close in lines[at]), 0)


def _paste_end(lines: list[str], index: int, introduced: bool) -> int:
    """One past the last line of the pasted block that begins at index."""
    document = introduced and bool(_HEADING.match(lines[index]))
    at = index + 1
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            following = next((later for later in lines[at : at + 3] if later.strip()), "")
            goes_on = _looks_pasted(following) or (document and not _is_own_voice(following))
            if not goes_on:
                break
        elif not introduced and not _looks_pasted(line) and not _inside_paste(lines, at):
            break
        at += 1
    return at


def _is_own_voice(line: str) -> bool:
    """Where a pasted document ends: the person speaks or asks again."""
    return bool(_OWN_VOICE.search(line[:200])) or line.rstrip().endswith(("?", "？"))


def _inside_paste(lines: list[str], at: int) -> bool:
    """A plain line between two pasted ones belongs to them."""
    return at + 1 < len(lines) and _looks_pasted(lines[at + 1])


def _looks_pasted(line: str) -> bool:
    line = line[:1_000]
    if not line.strip():
        return False
    if line.startswith(("    ", "\t")) and not _BULLET.match(line):
        return True
    if _PASTED.match(line):
        return True
    signs = len(_CODE_CHARACTERS.findall(line))
    return signs >= 4 and signs / len(line) > 0.12 and "`" not in line


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Lines joined where they are one wrapped paragraph; a bullet or a short line stands alone."""
    block: list[str] = []
    for line in lines:
        bullet = _BULLET.match(line)
        wrapped = bool(block) and len(block[-1]) in WRAPPED_LINE_CHARACTERS and not bullet and bool(line.strip())
        if not wrapped and block:
            yield " ".join(block)
            block = []
        if _HEADING.match(line):
            continue
        if own := (line[bullet.end() :] if bullet else line).strip():
            block.append(own)
    if block:
        yield " ".join(block)

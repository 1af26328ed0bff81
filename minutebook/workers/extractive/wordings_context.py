"""Wordings of sentences that mean something beside another one: wishes of others, declines, reasons, headers."""

import re

from minutebook.workers.extractive.wordings import any_of

REPORTED = re.compile(
    r"\b(?:the |this |that |their |vendor'?s? |official |old |an? |some )*(?:readme|docs?|documentation|blog|"
    r"article|tutorial|wiki|stack ?overflow|comment|template|boilerplate|snippet|paste|chatgpt|copilot|gemini|"
    r"linter|website|"
    r"reddit|hacker news|twitter|forum|"
    r"guide|manual|example|changelog|log|output|email|page)\b[^.;]{0,30}\b(?:says?|said|states?|claims?|suggests?|"
    r"recommends?|mentions?|reads?|tells?|thinks?|told|wants?|insists?|shows?)\b|\baccording to\b|\bi read (?:that|"
    r"somewhere)\b|\b(?:someone|somebody|some (?:people|guy|folks)|people)\b[^.;]{0,30}\b(?:sa(?:id|ys?)|wr(?:ote|"
    r"ites?)|suggest(?:ed|s)?|"
    r"claim(?:ed|s)?|think(?:s)?)\b"
)

WISH_OF_ANOTHER = any_of(
    r"\b(?:wrote|writes|texted|mailed|e-?mailed|messaged|dm'?e?d|pinged|called|slacked) (?:me|us)\b",
    r"\b(?:[a-z-]+ (?:from|of|in|at) [a-z -]{2,30}|(?:the |our |my |a |one of )[a-z' -]{2,40}|they|he|she|someone|"
    r"somebody|"
    r"[a-z][\w-]+) (?:just |also |keeps? )?(?:asked|asks|asking|wants?|wanted|suggested|suggests|proposed|proposes|"
    r"requested|requests|demanded|demands|would like|would love|wished|wishes|begged|insisted|insists)\b"
    r"(?<!requests)(?! (?:per|in|on|to (?:me|us)\b|are|is|were)\b)(?! (?:me|you) (?:whether|if|why|how|what|when)\b)",
)
OWN_VOICE = re.compile(r"^(?:i|we|you|and i|so i|so we)\b")
DECLINES = any_of(
    r"\b(?:i|we)(?:'ve| have)? (?:already |politely |just |had to )?(?:told|tell|said|say|wrote|answered|replied)"
    r"(?: (?:her|him|them|it|that|back))* (?:no\b|nope\b|that (?:we|i) (?:won'?t|don'?t|can'?t|will not)|we (?:won'?t|"
    r"don'?t|can'?t))",
    r"\b(?:i|we)(?:'ve| have)? (?:politely |already |just |had to )?(?:declined?|refused?|turned (?:it|that|them|her|"
    r"him|this) down|"
    r"rejected|said no|passed on|shot (?:it|that) down|pushed back)\b",
    r"\b(?:we're|we are|i'm|i am|we will|we'll|i'll) not (?:going to )?do(?:ing)? (?:that|this|it)\b",
    r"\b(?:we|i) (?:won'?t|will not|don'?t|do not) (?:do|want|build|need) (?:that|this|it)\b",
    r"^(?:that'?s |it'?s )?(?:a )?(?:hard |firm |clear |definite )?no (?:from (?:me|us|my side)|for now)\b|^not "
    r"(?:our|my) (?:job|problem|"
    r"scope|concern)\b|\bnot (?:happening|going to happen|gonna happen)\b",
)
REASON = any_of(
    r"^(?:the |my |our )?(?:main |real |only |simple )?reasons?(?: is| being| for (?:that|this|it))?\b",
    r"^(?:because|since|so that|otherwise|that way|this way|why\?|the point is|background:?|rationale:?|motivation:?|"
    r"grund:?|weil|sonst|porque|si no|parce que|sinon)\b",
    r"^(?:that|this|it)(?:'s| is| was) (?:because|why|since|so that)\b|^(?:that|this) (?:lets|avoids|keeps|saves|"
    r"spares|"
    r"gives|means|allows)\b",
)
OPENER = re.compile(
    r"^(?:(?:while (?:we|you) ?(?:'re|’re| are) (?:at it|in there|there|on it)|one (?:more|last|other) (?:thing|"
    r"change|point|note)|"
    r"another (?:thing|point)|(?:an )?important(?: one| thing| note)?|and people|(?:oh,? )?by the way|btw|before i "
    r"forget|"
    r"one thing before i forget|quick (?:note|one)|fyi|side note|also important|last (?:one|thing)|first of all|"
    r"a (?:few|couple of) (?:ground )?rules(?: before we start)?)\s*(?:[:,;]|\s[—–-])\s+)+",
    re.IGNORECASE,
)
TICKET_HEADER = re.compile(
    r"^(?:(?:ok|okay|next|now|then|and|so|on to|back to|start with|last|first)[,:.! ]*){0,3}(?:ticket |issue |task )?"
    r"(?:#\d+|[a-z]{2,10}-\d+)\b[,:. —–-]*[^.;]{0,60}[.!]?$"
)

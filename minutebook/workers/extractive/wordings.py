"""The wordings by which a statement is recognised: tables of English patterns.

Other languages stand in wordings_other.py.

Every pattern is bounded and is applied to one lower-case sentence, whose long quotations are blanked.
"""

import re


def any_of(*patterns: str) -> re.Pattern[str]:
    """One pattern that finds any of these."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


LEAD = (
    r"^(?:(?:oh|ah|hm+|ok|okay|wait|sorry|oops|whoops|hold on|well|hey|right|yeah|yes|so|and|but|also|um|my bad|"
    r"btw|note)[,.!:;\s—–-]+){0,4}"
)

FILLER = re.compile(
    r"^(?:(?:ok(?:ay)?|yes|yep|yeah|yup|sure|thanks?|thank you|thx|ty|great|good|nice|perfect|cool|awesome|"
    r"excellent|hi|"
    r"hello|hey|continue|go on|go|go ahead|proceed|next|done|hm+|ah|oh|lgtm|looks good|sounds good|so far so good|"
    r"no|nope|nah|right|correct|exactly|please|pls|do it|a lot|very much|so much|morning|bye|wow|wtf|omg|omfg|"
    r"got it|i see|alright|k|again|try again|try it|retry|sleep|test|"
    r"继续|好的|好|是的|谢谢|sí|si|gracias|vale|oui|merci|ja|danke|nein)"
    r"[\s,.!?:)~。！，-]*)+$"
)
ANSWER = re.compile(
    r"^(?:(?:ok(?:ay)?|yes|yep|yeah|yup|sure|no|nope|nah|go ahead|proceed|do it|do that|do both|both|neither|please|"
    r"pls|lgtm|correct|"
    r"exactly|sounds good|agreed?|approved?|implement|option|choose|pick|take|number|the|first|second|third|last|"
    r"one|1|2|3|4|5|"
    r"a|b|c|d|and|是的?|好的?|不|sí|si|oui|non|ja|nein)[\s,.!:)&+]*){1,8}$"
)

BARE_CORRECTION = re.compile(
    LEAD + r"(?:no|nope|nah|wait|actually|sorry|oops|correction|scratch that|strike that|forget (?:that|it|"
    r"about that|"
    r"what i said)|"
    r"never ?mind(?: that)?|ignore that|disregard that|on second thought|hold on|change of plans?|my mistake|my bad|"
    r"wrong|"
    r"i was wrong|i changed my mind|i've changed my mind|that's wrong|that is wrong|new plan|update)[\s,.!:;…—–-]*$"
)

CORRECTION = any_of(
    LEAD + r"(?:actually|correction|scratch|strike that|forget (?:that|what|about|the|my)|ignore (?:that|what i|my|"
    r"the previous)|"
    r"disregard|never ?mind|on second thought|change of plans?|new plan|update:|my mistake|i misspoke|i was wrong|"
    r"typo)\b",
    r"\b(?:scratch that|strike that|i meant\b|i misspoke|i was wrong|take (?:it|that) back|chang(?:ed|ing) (?:my|"
    r"our) minds?)",
    r"\bnot (?!only|just|sure)[^,.;]{1,40},? but (?!also|only)",
    r"(?:,|—|–|\s-|\band|\bto) not (?!sure|only|just|yet|really|necessarily|all|because|that|when|if|to\b|for me|"
    r"every|in a|so\b|too\b|a problem)",
    r"\b(?:it'?s|it is|that'?s|use) [^,.;]{1,40}(?<!or) not (?!sure|yet|really|necessarily|working|that|only|just|"
    r"a |so |too )",
    r"\bfrom now on\b",
    r"\bgoing forward\b",
    r"\bas of (?:now|today|this)\b",
    r"\beffective immediately\b",
    r"\bhenceforth\b",
    r"\b(?:moved|changed|slipped|switched|renamed|bumped|postponed|shifted) from [^,.;]{1,40} (?:to|by)\b",
    r"\b(?:we're|we are|i'm|i am|we've|we have|we'll be) (?:now |all )?(?:mov|switch|migrat|chang|dropp|ditch|"
    r"abandon|replac|dropped|moved|switched)\w* ?(?:away |back |over )?(?:from|off|to|on|away|the|back|\w+ (?:for|"
    r"in favou?r))\b",
    r"\bthat'?s (?:wrong|incorrect|not (?:right|correct|it|true|what)|outdated|out of date)",
    r"\b(?:we're|we are|i'm|i am) going (?:back|away from)\b",
    r"\bused to (?:be|use|say)\b",
    r"\bi (?:told|gave) you the wrong\b",
    r"\bthe (?:real|correct|right|actual) [\w -]{1,30} (?:is|are)\b",
    r"\bturns out\b",
    r"\b(?:isn't|aren't|is not|are not) [^,.;]{1,40}[,;—–-]+ ?(?:it'?s|they'?re|but|use)\b",
    r"\bi said [^,.;]{1,60} (?:but|i should)",
    r"\bin favou?r of\b",
    r"\binstead of what i\b",
    r"\bmake (?:that|it) [^.;]{1,40} instead\b",
    r"\b(?:change|switch|update|correct) (?:that|it|this) to\b",
    r"\bdrop the (?:[\w-]+ ){0,3}(?:idea|plan)\b",
    r"\blet'?s not [^.;]{1,60} after all\b",
    r"\b(?:we |i )?ended up (?:going |using )?with\b",
    r"^(?:so )?forget [^.,;]{1,40}[,;—–-]",
    r"\bis (?:off the table|dead|cancelled|canceled)\b",
)
DENIAL = re.compile(r"^(?:oh |well |hm+ )?(?:no|nope|nah)\b[,.!:;\s—–-]+(?!worries|problem|need|idea|one\b|longer)")
DENIAL_SUBSTANCE = re.compile(
    r"\b(?:not|should|must|use|using|it'?s|is|are|want|wanted|meant|don't|do not|never|only|keep|make|put|stay|need|"
    r"that'?s|we)\b|\d"
)
SOFT_CORRECTION = any_of(
    r"\b(?:insists?|insisted|overkill|a joke|will do|cold feet|vetoed|killed|from tomorrow|frozen|archived|until "
    r"further|"
    r"(?:went|goes|go|going) (?:down|up) (?:to|by)|(?:doesn'?t|don'?t|didn'?t) like|(?:is|are) dead|since the|"
    r"rather)\b",
    r"\bon (?:\w+ )?(?:leave|holiday|vacation)\b",
    r"\b(?:slips?|postpones?|moves?|changes?) to\b",
    r"\b(?:too|to) (?:much|many|few|little|long|short|big|small|large|high|low|slow|fast|tight|strict|often|late|"
    r"early)\b|\bnot enough\b",
    r"\b(?:meanwhile|in the end|ended up|from here on|from today|as of|starting (?:today|tomorrow|now|next|with)|"
    r"in the meantime|by now|these days|nowadays|let'?s say|after the (?:talk|meeting|call))\b",
    r"\bfrom \w+(?: \w+)? on(?:wards)?\b",
    r"\b(?:has|have) taken over\b|\btak(?:es|ing) over\b|\bretired\b|\bhanded over\b",
    r"\bout of (?:the )?(?:mvp|scope|release|plan|roadmap|v1)\b|\bin scope\b",
    r"\b(?:we|i) do (?:need|want|support|use|have)\b",
    r"\b(?:could|can|shall|should) we (?:perhaps |maybe |please )?(?:move|switch|change|go|use|make|have)\b",
    r"\bit is\b[.!]?$",
    r"\b(?:mistake|confused|misread|misremember\w*|mixed up|you win|was off|typo)\b",
    r"\bafter all\b",
    r"\b(?:swap\w*|left|took over|takes over|renam\w+|supersed\w+)\b",
    r"\bforget\b",
    r"\bno longer\b",
    r"\bany ?more\b",
    r"\bnow\b",
    r"\b(?:moved|changed|slipped|switched|renamed|bumped|postponed|shifted|pushed|delayed|replaced|superseded|"
    r"extended|raised|lowered|increased|reduced|migrated|dropped)\b",
    r"\b(?:wrong|incorrect|outdated|out of date)\b",
    r"\bis (?:out|gone)\b",
    r"\binstead\b",
    r"\brather than\b",
    r"\breplace\w*\b",
    r"\b(?:change|rename|switch|move|bump|raise|lower|set|increase|decrease|reduce|extend|push|swap|update|shorten|"
    r"cut)\b[^.;]{1,60}\b(?:to|for|with|by)\b",
    r"\bstop using\b",
    r"\bdrop(?:ping)?\b",
    r"\bditch\w*\b",
    r"\bscrap\w*\b",
    r"\babandon\w*\b",
    r"\bget rid of\b",
    r"\bno more\b",
    r"\bgo(?:ing)? back to\b",
    r"\brevert(?:ing)? to\b",
    r"\b(?:can|may|could|are allowed to) (?:now|go ahead)\b",
    r"\b(?:it'?s|is) (?:fine|ok|okay|allowed) (?:now )?to\b",
    r"\bmake (?:it|that)\b",
    r"\b(?:don'?t|do not|never|stop|won'?t|can'?t|isn'?t|aren'?t|not)\b",
    r"\b(?:sorry|my bad|my mistake|said|misremembered|good enough|is fine|are fine)\b",
    r"\bnew [\w-]+ is\b",
    r"\bgoes to\b",
    r"\bwas\b",
    r"\bpreviously\b",
    r"(?:->|→|=>)",
)

FINISHED = any_of(
    r"\b(?:done|finished|complete[d]?|merged|deployed|shipped|released|live|approved|"
    r"signed off)\b[^.;]{0,40}\b(?:don'?t|do not|never|no need to|leave|hands off)\b",
    r"\b(?:don'?t|do not|never) (?:redo|touch|re-?do|revisit|re-?open|rewrite|change|modify)\b[^.;]{0,60}\b(?:done|"
    r"finished|complete[d]?|again|any ?more)\b",
    r"\b(?:has been|have been|is|are) (?:now |already |all )?(?:done|finished|merged|deployed|shipped|released|"
    r"migrated|approved)\b",
    r"\b(?:is|are|was|were|i|i've|we|we've) (?:now |already |all )(?:done|finished|merged|"
    r"deployed|shipped|released|migrated|fixed|approved|applied)\b",
    r"\bno need to (?:redo|repeat|re-?run|do it again)\b",
)

CONSTRAINT = any_of(
    r"\bmust(?:n't| not)?\b(?! (?:have (?:been|had|missed|broken|forgotten)|be (?:a |the |some|because|something|"
    r"kidding|joking|wrong|missing)))",
    r"\bnever(?: ever)?,? (?!\w+[^s]s\b|\w{2,}[^ef]ed\b|got\b|had\b|was\b|were\b|did\b|saw\b|heard\b|knew\b|"
    r"thought\b|ran\b|went\b|mind\b|been\b)",
    r"\balways (?!\w+[^s]s\b|\w+ing\b|\w{2,}[^ef]ed\b|had\b|was\b|were\b|fail|broken|wrong)",
    r"(?:^|[,;:—–(]\s*|\b(?:please|you|and|but|we|so|just|agents?|also|ok|or|to)\s+)(?:don'?t|do not|dont)(?: ever|"
    r" you dare)?\s+(?!know|think|understand|see\b|get\b|care|mind|worry|remember|have (?:to|any idea)|we\b|you\b|"
    r"i\b|really know|need to worry|really (?:like|understand))",
    r"\bi (?:don'?t|do not|dont) want\b",
    r"\b(?:we|you) (?:can'?t|cannot|can not|may not|mustn'?t|shouldn'?t|should not|should never|should always|"
    r"won'?t) (?!see|find|tell|understand|figure|reproduce|believe|get\b|be able)",
    r"\b(?:can'?t|cannot|can not|may not|shall not|should not|shouldn'?t|mustn'?t|shall) (?:be |exceed|leave|use|"
    r"go |depend|take|contain|call|write|touch|change|break|have|cost|block|require|block|log|store)",
    r"\bonly (?:use|ever|allow|allowed|support|run|deploy|write|commit|touch|change|edit|merge|push|call)\b",
    r"(?<!is )(?<!'s )(?<!was )(?<!are )(?<!works )(?<!work )(?<!happens )(?<!fails )(?<!but )\bonly (?:for|via|"
    r"through|on|in|after|when|if|with|by|from) ",
    r"\b(?:use|uses|allow|support|run|deploy|touch|change|edit|write|commit|merge) only\b",
    r"\bonly [\w-]+ (?:may|can|should|must|is allowed)\b",
    r"\b(?:no|not) (?:more|less|fewer|longer|later|earlier|bigger|larger|older|newer) than\b",
    r"\bat (?:most|least)\b",
    r"\bup to \d",
    r"\bunder no circumstances?\b",
    r"\b(?:not|isn'?t|aren'?t) (?:allowed|permitted|acceptable|an option|negotiable)\b",
    r"\bnon-?negotiable\b",
    r"\b(?:forbidden|prohibited|banned|mandatory|obligatory|compulsory|off[- ]limits|off limits|read[- ]only)\b",
    r"\b(?:is|are) (?:strictly )?required\b",
    r"\b(?:it|we|this|that|they|everything|all [\w ]{1,30}|the [\w -]{1,30}|\w+s) (?:has|have|needs?|"
    r"ought) to (?:be|stay|remain|keep|work|run|support|fit|pass|go through|use|compile|survive)\b",
    r"\bhard (?:limit|requirement|constraint|rule|cap|deadline|stop)\b",
    r"^(?:and |but |also |please |pls |so )?(?:absolutely )?(?:no|zero) (?!idea|problem|worries|need|wonder|way\b|"
    r"clue|"
    r"matter|longer|,|rush|one\b)\w[\w ./-]{2,60}[.!]?$",
    r"[,—–;] no (?!problem|worries|rush|idea|need)[\w-]+(?: [\w-]+){0,3}!?\.?$",
    r"\bwithout (?:breaking|changing|touching|adding|using|modifying|any|new|downtime)\b",
    r"\b(?:keep|stay|remain|fit|stays|keeps|remains)\b[^.;]{0,50}\b(?:under|below|within|above|over|between|as is|"
    r"as-is|unchanged|untouched|intact|compatible|alive)\b",
    r"\b(?:should|needs? to|have to|has to|must) (?:stay|remain|be kept) ",
    r"\b(?:avoid|refrain from)\b",
    r"^(?!.*\bi(?:'ll| will)\b).*\b(?:make sure|ensure)\b",
    r"\bhands off\b",
    r", not (?:in|on|at|under|the|a|an|with|from|into) |\bnowhere else\b|\bnothing else\b",
    r"\btreat [^.;]{1,40} as\b|\bappend-only\b",
    r"\bi need (?:this|it|that|everything|all|the [\w-]+) to (?:work|be|run|stay|support|pass|fit|keep)\b",
    r"\b(?:ask|check with|talk to) (?:me |us |[\w]+ )?(?:first|before)\b",
    r"\b\d+ ?\w* max(?:imum)?\b",
    r"\bleave [\w./` -]{1,40} (?:alone|as is|untouched)\b",
    r"\bdo not touch\b",
    r"\b(?:deadline|budget|limit|cap|quota|slo|sla|due date|freeze)\b[^.;?]{0,40}(?:\b(?:is|are|of)\b|[:=])",
    r"\b(?:is|are) due\b",
    r"\bneeds? (?:an? )?(?:approval|sign-?off|review) (?:from|by)\b",
    r"\b(?:before|until) [\w' ]{1,40}(?:sign(?:s|ed)? off|approv\w+)\b",
    r"\bhas the (?:final|last) (?:say|word)\b",
    r"\bshould(?:n't| not| never| always| only)\b",
    r"\b(?:stick|adhere) (?:strictly )?to\b",
    r"\brequires? (?:that|at least|python|node|java|go|tls|mfa|approval)\b",
    r"\bwe (?:only )?support (?:only )?[\w.+ ]{1,40}(?:and (?:up|above|later|newer)|\+| only)",
    r"\bdon'?t (?:you )?ever\b",
    r"^(?:the |our |my )?(?:goal|target|requirement|objective|rule|condition|acceptance criteri(?:on|a))s?"
    r"(?: (?:here|for [\w -]{1,30}))?(?: is|:)",
    r"\bis (?:ok|okay|fine|allowed)\b[^.;]{1,60}\b(?:is|are) not\b",
    r"\bso [^.;]{1,40} only \w+[.!]?$",
    r"\bnobody (?:but|except|other than)\b|\bno ?one (?:but|except|other than|may|is allowed)\b",
    r"^nothing (?:under|in|from|outside|inside|below|goes|may|gets?)\b",
    r"\b(?:needs?|require[sd]?) (?:\w+ ){0,2}(?:approvals?|sign-?offs?|reviews?|reviewers?|permission|tests?|"
    r"confirmation)\b",
    r"\bgo(?:es)? (?:through|via|past|by) [^.;]{1,30} first\b|\bhas to go through\b",
    r"\bany(?:thing|one|body) (?:touching|over|above|under|below|outside|that|who|with) [^.;]{1,50}\b(?:needs?|must|"
    r"goes|"
    r"go|has to|have to|requires?)\b",
    r"\b(?:tests?|docs?|design|spec|safety|security) first\b|\bevery (?:single )?time\.?$|, always\.?$|\bin (?:the|"
    r"our|their) contract\b",
    r"^(?:all|every|each) [\w -]{1,40}(?:are|is|in|get|gets|as|incl|including|excl|excluding|with|without|go|goes)\b",
    r"\bw/o asking\b|\bwithout (?:asking|my ok|my okay|approval)\b",
    r"^[\w -]{2,30} (?:in|on|as|by|with|via) (?!the |a |this |that |my |your |it\b)[\w -]{2,30},? (?:please|pls)[.!]?$",
    r"\b(?:please |pls |bitte )(?:keine?n?|nicht|nie)\b",
)

IDENTITY = any_of(
    r"\bmy name(?:'s| is)\b",
    r"\bcall me \w",
    r"\bi(?:'m| am) (?:an?|the|your|one of the) (?!bit|little|lot|fan|few|tad|idea|same|only|user who|huge|"
    r"big)[\w-]+",
    r"\bi work (?:at|for|on|as|with|in|from)\b",
    r"\bi(?:'m| am) (?:based|located|responsible|in charge|new to|on call|colou?r-?blind|dyslexic|deaf|blind)\b",
    r"\bi live in\b",
    r"\bmy (?:role|job|title|time ?zone|pronouns|team|company|boss|manager|native language|github|handle|username|"
    r"e-?mail|phone)\b[^.;?]{0,30}(?:is|are|'s|:)",
    r"\bi (?:lead|own|maintain|manage|run) (?:the|a|our|this)\b",
    r"\b(?:we're|we are) a (?!bit|little|lot|few)[\w -]{1,40}(?:team|company|startup|bank|shop|agency|hospital|"
    r"group|lab|university)\b",
)

SELF_NAMED = re.compile(r"\bI(?:'|’| a)m [A-ZÀ-Þ][\w-]+ [A-ZÀ-Þ][\w-]+|\b(?:This is|Here is) [A-Z][a-z]+ (?:from|of) ")
PREFERENCE = any_of(
    r"\b(?:i'?d|i would|i'll|i will|we'd|we would) (?:be (?:grateful|glad|happy|thankful|pleased)|appreciate|value)\b",
    r"\b(?:it )?would be (?:lovely|great|good|nice|best|ideal|preferable|much appreciated) if (?!we had|there (?:was|"
    r"were))",
    r"\bif (?:at all )?possible,? (?:please|keep|use|write|avoid)\b|\bideally\b",
    r"\bi(?:'d| would)? (?:much |really |strongly |generally |usually |also |personally )?(?:prefer|rather|"
    r"favou?r)\b",
    r"\bi(?:'d| would) (?:like|love)\b(?! (?:you )?to (?:see|know|understand)\b)",
    r"\bi (?:really |always |just |also |personally )?(?:like|love|hate|dislike|enjoy|can't stand|despise)\b",
    r"\b(?:we|my team) (?:prefer|like|favou?r|hate)\b",
    r"\bmy (?:preference|preferred|favou?rite)\b",
    r"\bpreferably\b",
    r"\bi (?:really )?want (?!you to\b|to (?:know|see|understand|ask|talk|discuss|check|make sure)\b)",
    r"\bi(?:'m| am) (?:not )?a (?:big |huge )?fan\b",
    r"\bprefer\b",
    r"\bi don'?t (?:really )?like\b",
    r"\bby default,? (?:i|use|please)\b",
    r"\bi tend to\b",
    r"\bi'?d be happier\b|\b(?:shorter|longer|fewer|more|less|briefer|terser) [\w ]{0,20}(?:please|pls)\b|"
    r"\b(?:answers?|replies|comments?|commits?|messages?|names?|functions?|summaries) (?:\w+er|in \w+|brief|terse|"
    r"concise),? "
    r"(?:please|pls)\b",
    r"\bi'?d appreciate\b",
)

DECISION = any_of(
    r"\bwe went (?:for|with)\b|\b(?:we|i) (?:ended up|finally|eventually) (?:going|went|with|using|use|took|chose|"
    r"picked)\b",
    r"\bit(?:'ll| will|'s going to| is going to) be (?!a (?:while|bit)|fine|ok|hard|easy|great|nice|a problem|ready|"
    r"done)"
    r"[\w.-]+\b",
    r"\b[\w.+-]+ it is\b[.!]?$",
    r"\blet'?s (?:just |all |then |rather |definitely |also |simply |stick|go|use|keep|switch|move|drop|target|call|"
    r"name|store|put|make it|have|adopt|pick|choose|standardi[sz]e|settle|defer|postpone|skip|support|leave|not\b|"
    r"ship|do (?:it|that|both|option|the))\w*",
    r"\b(?:i'll|i will|i'd) (?:go|take|use|keep|stick)\b",
    r"\bwe(?:'ve| have)? (?:now |just )?(?:switched|moved|migrated|dropped|standardi[sz]ed|adopted) ",
    r"\bwe (?:no longer|don'?t) (?:use|support|need)\b",
    r"\b(?:we'll|we will|we're going to|we are going to|we're gonna) (?!see|need|have to|talk|check|look|"
    r"get back|be (?:able|fine)|retry|try)\w+",
    r"\bgo(?:ing)? with\b",
    r"\b(?:let's|we'll|we) go for\b",
    r"\b(?:i|we)(?:'ve| have)? (?:just |finally |now )?(?:decided|chose|chosen|agreed|settled|picked|opted|selected|"
    r"concluded)\b",
    r"\b(?:decision|decided|agreed|final answer|final)\s*:",
    r"\b(?:it was |it's )?(?:decided|agreed) (?:that|to|on)\b",
    r"\bthe (?:plan|decision|approach|strategy|choice) is\b",
    r"\bwe(?:'re| are) (?:using|doing|keeping|building|targeting|standardi[sz]ing|adopting|sticking|shipping|"
    r"storing|writing|running|hosting|deploying)\b",
    r"^(?:ok(?:ay)?,? |yes,? |yeah,? |right,? |then |so |alright,? |fine,? |and |also )*(?:please )?use (?!case|"
    r"the (?:same|following))\S+",
    r"\bstick(?:ing)? (?:with|to)\b",
    r"\bwe use\b",
    r"\boption (?:\d|[a-d])\b(?! (?:or|and|vs))",
    r"\bcall it\b",
    r"\bname it\b",
)

HYPOTHETICAL = any_of(
    r"^(?:just )?imagine\b|\bsay we had\b|\bwould be (?:cool|fun|neat)\b|\bone day\b",
    r"\b(?:maybe|perhaps|possibly|potentially|hypothetically|theoretically|in theory)\b",
    r"\bwhat if\b",
    r"\b(?:could|might) (?:be (?:an option|worth|nice)|consider|also consider|try)\b",
    r"\b(?:we|i|you|it|one) (?:could|might)\b",
    r"\b(?:i'm|i am|i was|been|we're) (?:just )?(?:thinking|wondering|toying|tempted|considering|musing)\b",
    r"\bi wonder\b",
    r"\bone (?:option|idea|possibility) (?:is|would|could)\b",
    r"\bsuppose\b",
    r"\bif we ever\b",
    r"\bsomeday\b",
    r"\bsome day\b",
    r"\bhow about\b",
    r"\bwhat about\b",
    r"\bjust (?:an idea|a thought|thinking)\b",
    r"\bnot sure (?:if|whether|about)\b",
    r"\bwould it (?:be|make)\b",
)
COURTEOUS = re.compile(
    r"\b(?:i'?d|i would|we'd|we would) (?:be (?:very |so )?(?:grateful|glad|happy|thankful|pleased|obliged)|(?:really "
    r")?appreciate)\b|"
    r"\b(?:could|can|shall|should|might) we (?:perhaps|maybe|possibly|please)\b|\bperhaps you could\b|"
    r"\bwould be (?:lovely|great|good|nice|best|ideal|much appreciated) if you\b"
)
"""A wish in a polite form is no doubt."""
ASIDE = any_of(
    r"\b(?:lol|lmao|haha\w*|hehe\w*|rofl|jk|just kidding|kidding|joking)\b",
    r"[;:]-?[)DPp](?:\s|$)|😂|🤣|😄|😅",
    r"\b(?:pizza|coffee|beer|lunch|dinner|breakfast|weekend|weather|movie|football|soccer|"
    r"basketball|music|song|my (?:dog|cat|kids?|wife|husband|mom|dad|son|daughter)|sushi|cake|birthday|traffic|"
    r"tired|hungry)\b",
    r"\bif i (?:had|got) a (?:dollar|penny|nickel)\b",
    r"\bjust for fun\b",
)

POLITE = re.compile(
    r"^(?:(?:ok(?:ay)?|and|so|also|but|now|then|hey|hi|great|perfect|yes|cool|nice|alright)[,.!\s]+){0,3}(?:please|"
    r"pls|can (?:you|we|u)|could (?:you|we)|would you|will you|"
    r"why don'?t (?:you|we)|mind (?:if|\w+ing)|can i get|do you mind|podr[ií]as|puedes|peux-tu|pouvez-vous|"
    r"kannst du|k[öo]nntest du|请|帮)"
)
WHAT_IF = re.compile(r"^(?:(?:and|so|but|hm+|ok(?:ay)?)[,.\s]+)?(?:what if|what about|how about|suppose)\b")
QUESTION_START = re.compile(
    r"^(?:(?:ok(?:ay)?|and|so|also|but|hm+|hey|wait|well|then|sorry|btw)[,.\s]+){0,3}(?:(?:what|why|how|where|when|"
    r"which|who|whose) (?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|the hell|come|"
    r"about|if|many|much|color|colou?r|\w+ (?:is|are|do|does|did|should|can|would))\b|"
    r"(?:is|are|does|did|was|were|has|have|should|would|will|any) (?:it|this|that|the|there|we|you|i|they|these|"
    r"those|idea|my|our|your)\b|do (?:you|we|i|they|these|those)\b)"
)
IMPERATIVE = re.compile(
    LEAD + r"(?:now |then |first |next |finally |just |please |pls |let'?s |lets |we (?:need|should|have|want) to |"
    r"we should |we need |i need (?:you to |a |an |the )?|i want you to |you (?:should|need to|can) |go and |"
    r"try to |dude |)"
    r"(?:add|fix|create|write|implement|run|make|change|update|remove|delete|rename|move|refactor|check|look|read|"
    r"review|explain|show|tell|give|giveme|find|investigate|debug|test|commit|push|merge|deploy|build|install|"
    r"upgrade|migrate|document|"
    r"generate|convert|split|extract|replace|set|put|open|list|search|start|stop|revert|undo|clean|improve|"
    r"optimi[sz]e|simplify|rewrite|port|verify|validate|benchmark|profile|format|lint|bump|release|publish|draft|"
    r"summari[sz]e|compare|analy[sz]e|"
    r"research|design|plan|propose|suggest|help|handle|support|enable|disable|expose|hide|wire|hook|log|print|"
    r"return|wrap|mock|stub|scaffold|cover|finish|complete|continue with|work on|do|get|take|pull|rebase|squash|tag|"
    r"copy|download|fetch|sort|filter|render|reproduce|describe)\b"
    r"(?! (?:[\w-]+ )?(?:is|are|was|were|lives?|sits?|runs?|has|have|=|:))"
)
BARE_PATH = re.compile(
    r"^['\"`]?(?:~|\.{0,2}|[A-Za-z]:)?[/\\][^\n'\"`]{1,300}\.\w{1,6}['\"`]?\s*$|^https?://\S+\.(?:png|jpe?g|gif)$"
)
SLASH_COMMAND = re.compile(r"^\s*/[\w:-]*(?:\s|$)|^\s*\[Request interrupted|^\s*!\w")

NAMED = re.compile(r"\b(?:is|are|it'?s) (?:called|named)\b")
FACT_VERB = re.compile(
    r"\b(?:called|named|assume|promised|agreed|go|goes)\b|"
    r"\b(?:is|are|was|lives?|runs?|listens?|sits?|stays?|uses?|points?|contains?|belongs?|owns?|signs?|goes|holds?|"
    r"starts?|ends?|expires?|equals?|means?|has|have|comes|returns?|fails?|crashes?|happens?|broke|breaks|at|"
    r"caused?|introduced|found|on call|responsible|reviews?|approves?|handles?|maintains?)\b|[:=]"
)
HARD_VALUE = re.compile(
    r"\d|`[^`]+`|[\w.-]+/[\w./-]+|\b\w+\.(?:py|ts|tsx|js|go|rs|java|toml|ya?ml|json|md|sql|sh|env|cfg|ini|lock|"
    r"proto|css|html)\b|\b[A-Z][A-Z0-9_]{3,}\b|\w+@\w+|\b\w+_\w+\b|\b\w+(?:-\w+){2,}\b|(?<=[a-z,] )[A-Z][a-z]+\b|"
    r"^[A-Z][a-z]+ (?:is|"
    r"owns|signs|runs|leads|reviews|approves|handles|maintains)\b"
)

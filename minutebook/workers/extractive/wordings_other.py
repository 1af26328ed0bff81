"""Wordings of other languages than English: a modest set for rules, corrections, preferences and decisions."""

import re

from minutebook.workers.extractive.wordings import any_of

OTHER_CORRECTION = any_of(
    r"\b(?:finalmente|al final|mejor (?:usa|usamos|no)|ahora (?:es|usamos|ser[áa])|se (?:ha )?(?:cambi|movi|mud|"
    r"pas)\w* (?:a|al)\b|"
    r"pasa (?:a|al)\b|quise decir|perd[óo]n,)",
    r"\b(?:finalement|tout compte fait|(?:on|nous) pass(?:e|ons) [àa]|\bpassent? [àa] \d|n'(?:utilise|est|a)\w* plus|"
    r"c'est plut[ôo]t|je "
    r"voulais dire|"
    r"pardon,|d[ée]cal[ée]e?|report[ée]e?)",
    r"\b(?:jetzt doch|nun doch|doch (?:lieber|erst|besser|schon)|verschoben|umbenannt|nee,|quatsch|vertan|ich habe "
    r"mich geirrt|"
    r"mittlerweile|inzwischen|künftig|ab (?:heute|morgen|nächster|montag)|von nun an)",
    r"\b(?:en realidad|mejor dicho|me equivoqu[eé]|corrección|corrijo|a partir de ahora|ya no|olvida (?:eso|lo)|"
    r"en (?:vez|lugar) de|no es [^,.;]{1,30} sino)\b",
    r"\b(?:en fait|en réalité|plut[ôo]t que|au lieu de|je me suis tromp[ée]|correction|désormais|"
    r"à partir de maintenant|oublie (?:ça|cela)|ne [^,.;]{1,30} plus)\b",
    r"\b(?:eigentlich|doch nicht|stattdessen|statt|anstatt|ich meinte|ab (?:jetzt|sofort)|nicht mehr|vergiss das|"
    r"korrektur|falsch|sondern)\b",
    r"(?:不对|不是.{1,20}(?:而是|，是)|改成|改为|更正|说错了|其实|从现在(?:起|开始)|不再|而不是|取消|算了)",
    r"(?:ではなく|じゃなくて|訂正|やっぱり|今後は|間違え)",
)
OTHER_CONSTRAINT = any_of(
    r"\b(?:bitte )?(?:keine?n?|nie|nicht) [^.,;]{2,60}(?<!problem)[.!]$|\bnur (?:noch )?(?:montags|dienstags|"
    r"mittwochs|donnerstags|"
    r"freitags|mit|über|auf|in|für|nach)\b|\bfrist\b|\bspätestens\b",
    r"^(?:por favor,? )?no (?:toques|toca|uses|hagas|subas|borres|cambies|metas|añadas|pongas)\b|\bplazo\b|\bfecha "
    r"l[íi]mite\b",
    r"^(?:s'il te pla[îi]t,? )?ne \w+ (?:pas|jamais)\b|\bdate limite\b|\bpas de [^.,;]{2,40}[.!]?$",
    r"\b(?:nunca|siempre|no (?:debes?|uses?|toques?|hagas?|cambies?|puede)|debe(?:n|s)? |prohibido|obligatorio|"
    r"solo (?:usa|se)|únicamente|como m[áa]ximo|al menos|hay que)\b",
    r"\b(?:jamais|toujours|ne (?:doit|dois|pas|touche|modifie|fais|faites)\b|il faut|interdit|obligatoire|"
    r"uniquement|au (?:plus|moins|maximum)|doit|doivent)\b",
    r"\b(?:niemals|immer|darf(?:st)? (?:nicht|nie|kein)|dürfen (?:nicht|nie|kein)|muss|müssen|musst|verboten|"
    r"ausschließlich|höchstens|mindestens|keinesfalls|auf keinen fall)\b",
    r"(?:不要|不能|不得|必须|必須|禁止|绝不|千万别|别再?|只能|只展示|只用|总是|始终|务必|最多|至少|不许)",
    r"(?:してはいけない|しないで|必ず|絶対に|のみ|禁止)",
)
OTHER_PREFERENCE = any_of(
    r"\b(?:prefiero|me gusta|quiero|preferimos|me gustaría)\b",
    r"\b(?:je préfère|j'aime|je veux|je voudrais|on préfère)\b",
    r"\b(?:ich bevorzuge|lieber|ich mag|ich möchte|ich will)\b",
    r"(?:我喜欢|我更喜欢|我希望|我想要|偏好|倾向于)",
)
OTHER_DECISION = any_of(
    r"\b(?:vamos a|usaremos|decidimos|hemos decidido|quedamos en)\b",
    r"\b(?:on va|nous allons|utilisons|nous avons décidé|on utilise)\b",
    r"\b(?:wir (?:nehmen|verwenden|nutzen|machen|haben (?:uns )?entschieden)|lass uns)\b",
    r"(?:我们(?:用|决定|采用|使用)|决定|就用|采用)",
)
OTHER_REQUEST = re.compile(r"请|帮我|por favor|s'il (?:te|vous) pla[iî]t|\bbitte\b|お願い|ください")

OTHER_FACT = any_of(
    r"\b(?:ist|sind|läuft|liegt|heißt|lautet|arbeite|nutzen|verwenden|gehört|steht|ansprechpartner\w*|zuständig\w*)\b",
    r"\b(?:está|están|se (?:guarda|llama|encuentra|usa|ejecuta|despliega)n?|vive|corre|trabajo en|responsable|"
    r"pertenece)\b",
    r"\b(?:se trouve|s'appelle|tourne|le responsable|travaille|est (?:sur|dans|à|le|la)|utilise)\b",
)
OTHER_IDENTITY = any_of(
    r"\bich (?:arbeite|bin (?:der|die|ein|eine|im|für)|heiße|leite)\b|\bmein name ist\b",
    r"\b(?:trabajo (?:en|como|para)|me llamo|soy (?:el|la|un|una))\b",
    r"\b(?:je travaille|je m'appelle|je suis (?:le|la|un|une|dans))\b",
)

"""Puts old words, learners' words and plays on words as plain English, before a line is read for a request. Pure.

What it returns says the same. A line that has none of these words stays as it is.
"""

from __future__ import annotations

import re

from mud_assistant.assistant.language.later.hours import AMOUNT, NUMBERS_TEXT

#: Old words, and what is said now.
_OLD_TEXT = """
    thou=you thee=you ye=you thy=your thine=your hither=here thither=there morn=morning eve=evening unto=to whilst=while
    eventide=dusk even-tide=dusk ere=before tarry=wait bide=wait abide=wait 'tis=it's doth=does dost=do hath=has hast=have
    art=are shalt=shall wilt=will canst=can prithee=please anon=soon nigh=near forthwith=now whene'er=whenever
    whensoever=whenever noontide=noon yon=that yonder=that betwixt=between 'twixt=between upon=on aught=anything
    thyself=yourself mayst=may mayest=may shouldest=should oft=often saith=says
"""
_OLD = dict(pair.split("=") for pair in _OLD_TEXT.split())
#: Old endings: "cometh", "soundeth", "wouldst", "thou sleepest".
_OLD_WORD = re.compile(
    rf"(?i)(?<![\w'-])(?:{'|'.join(map(re.escape, _OLD))}|(?P<s>(?-i:[a-z]{{2,}})(?<!te)(?<!se))eth"
    r"|(?P<st>would|could|should|did|(?<=thou )(?!must|just|best|first|last)(?:see|[a-z]{2,}?))e?st)(?![\w'-])"
)
_ENDS_IN_ES = re.compile(r"(?:[vcsxzo]|sh|ch|com|(?<![aeiou])[aeiou]k)$")
#: An old line has one of these; "eve" alone may be a name, and "art" is a thing.
_IS_OLD = re.compile(
    r"(?i)\b(?:thou|thee|thy|thine|thyself|doth|dost|hath|hast|ye|hither|morn|the morrow|eventide|noontide|each eve|every eve|(?:at|this) eve|ere|tarry"
    r"|abide|bide|prithee|\w+eth|shalt|wilt|\w+ldst|canst|anon|unto|whilst|yond?e?r?|whene'er|whensoever|'?twixt|upon)\b"
)
_BEGS = r"I (?:do )?(?:pray|beg|beseech|implore|entreat|bid|charge)(?: of)? (?:you|thee)\b"
_KNOW = (
    r"(?:shout|yell|holler|call|ping|nudge|poke|tell|warn|buzz|tap|message|text|signal|wave|let|give|drop)"
    r"(?: (?:at|to|for|out to))? me(?: (?:know|a \w+))?"
)
_DONE_TEXT = "lit=light fed=feed swept=sweep wound=wind clean=clean tidy=tidy full=fill trimmed=trim tidied=tidy"
_DONE = dict(pair.split("=") for pair in _DONE_TEXT.split())
_WOKEN_TEXT = (
    "woken=wake awakened=wake roused=wake reminded=remind told=tell called=call fetched=fetch warned=warn "
    "notified=notify nudged=nudge alerted=alert"
)
_WOKEN = dict(pair.split("=") for pair in _WOKEN_TEXT.split())


def _wished(match: re.Match[str]) -> str:
    return f"please {_WOKEN[match['done'].casefold()]} me"


#: Where a clause may begin.
_AT = r"(?:^|(?<=[,.;:!?-] )|(?<=\b(?:so|or|to) )|(?<=\b(?:and|but|yet) )|(?<=\bplease )|(?<=\byou )|(?<=\bthen ))"
_MARK = r"noon|midday|midnight|dawn|dusk|sunset|sunrise|nightfall|daybreak|sundown"
#: What begins a clause before "you" that is no order: "are you", "if you".
_NO_ORDER = (
    r"(?:are|were|do|did|have|had|has|can|could|will|would|shall|should|may|might|must|won't|can't|if|when|where|what|who"
    r"|why|how|that|than|as|so|and|but|or|because|since|while|until|once|thank|thanks|see|love|tell|told|give|gave|to|for|of"
    r"|with|at|by|from|before|after|then|there|now|yes|i|ok|okay|please|next|time|meet|catch|bless|want|need|beg|like|sage)"
)
_HOURS = dict(
    zip("third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), NUMBERS_TEXT.split()[2:], strict=True)
)
#: Each of them is tried in turn, at any place of the line.
_PUT = (
    (re.compile(r"(?i)\b(?:and|an) you (?=see\b|meet\b|find\b|hear\b|spy\b)"), "if you "),
    (re.compile(r"(?i)\bw/ ?"), "with "),
    (re.compile(r"@ ?"), "at "),
    (re.compile(r"(?i)\bb (?=at|here|there|back|by|in)\b"), "be "),
    (re.compile(r"(?i)(?<!\bin )(?<!\bat )(?<!\bafter )(?<!\bfor )(?<!\bby )\b2 (?!\w+s\b|min|sec|hr|hour|day|week|pm|am"
                r"|silver|gold|copper|of\b|or\b|and\b|more\b|please\b|in\b|at\b)(?=[a-z])"), "to "),
    (re.compile(r"(?i)(?<!\bin )(?<!\bat )(?<!\bafter )(?<!\bfor )(?<!\bby )\b4 (?=me\b|us\b|[a-z]+ (?:when|if|once)\b"
                r"|the\b|my\b)"), "for "),
    # Times.
    (re.compile(r"(?i)\b(?:every|each) ?(?:day|morrow)\b(?<=row)"), "every morning"),
    (re.compile(r"(?i)\beveryday\b"), "every day"),
    (re.compile(r"(?i)\bevery hr\b"), "every hour"),
    (re.compile(r"(?i)\blater (?=tonight|today|this)"), ""),
    (re.compile(r"(?i)\bat (?:the )?(?=(?:evening|morning)\b)"), "in the "),
    (re.compile(r"(?i)\b(?:the )?(?:crowing of the cock|cock'?s?[- ]crow(?:ing)?)\b"), "cockcrow"),
    (re.compile(rf"(?i)\bthe ({'|'.join(_HOURS)}) (?:hour|bell)\b"), lambda match: f"{_HOURS[match[1].casefold()]} o'clock"),
    (re.compile(r"(?i)\bat (\d+|[a-z]+) hours?\b(?! of)"), r"at \1 o'clock"),
    (re.compile(rf"(?i)\b(?:in|on) the (?=(?:{_MARK})\b)"), "at "),
    (re.compile(r"(?i)\b(?:at )?(?:the )?(?:dawn(?:ing)?|rising|break) of (?:each|every) day\b"), "every dawn"),
    (re.compile(r"(?i)\bsee you (?=that\b)"), "see "),
    (re.compile(r"(?i)\b(?:the )?(?:setting|sinking|going down) of the sun\b"), "sunset"),
    (re.compile(r"(?i)\b(?:the )?rising of the sun\b|\bday's dawn(?:ing)?\b|\bdawning\b"), "sunrise"),
    (re.compile(r"(?i)\b(?:vespers|evensong|at (?:even|eve)\b)(?! ?song)"), "at dusk"),
    (re.compile(r"(?i)\bat at dusk\b"), "at dusk"),
    (re.compile(r"(?i)\b(?:at |around |about )?mid-?morning\b"), "at ten in the morning"),
    (re.compile(rf"(?i)\b(?:in|on|to) (?=(?:{_MARK})\b)"), "at "),
    (re.compile(r"(?i)\b(?:in|on|to) (?:the )?(?=evening\b|morning\b|afternoon\b)"), "in the "),
    (re.compile(rf"(?i)\bwhen (?:it )?is (?P<h>{_MARK})\b|\bwhen (?:the )?(?P<g>{_MARK}) (?:is(?: here)?|comes)\b"
                r"|\bwhen the (?P<b>noon|midnight|midday)(?: bell)? (?:bell )?(?:sounds|rings|tolls|strikes|rings out)\b"),
     lambda match: f"when it is {match['h'] or match['g'] or match['b']}"),
    (re.compile(r"(?i)\b(every day),? when (?:it is )?(evening|morning|night)(?: is| comes)?\b"), r"every \2"),
    (re.compile(r"(?i)\bwhen (?:it is |the )?(evening|morning|night)(?: is| comes| falls)\b(?!fall)"), r"in the \1"),
    (re.compile(r"(?i)\b(?:in|on|at|with) (?=(?:every|each) (?!other)\w)"), ""),
    (re.compile(r"(?i)\b(?:all|on|in) (?:the )?(morning|evening|night|day|afternoon)s\b"), r"every \1"),
    (re.compile(rf"(?i)(?<=[a-z]) (?<!\bis )(?<!\bat )(?<!\bby )(?<!\bthe )(?<!\bof )(?<!\bcome )(?<!\bfor )(?<!\btill )(?<!\buntil )"
                rf"(?<!\bevery )(?<!\beach )(?<!\bbefore )(?<!\bafter )(?<!\baround )(?<!\babout )(?<!\bhigh )(?<!\btowards )"
                rf"(?=(?:{_MARK})(?:\W*$| (?:ok|okay|please)\b))"), " at "),
    (re.compile(r"(?i)\bbefore ((?:an|one|half an|two|another) hours?)\b(?: (?:is|be|has|have) (?:gone|passed|run|over|up|out))?"),
     r"in \1"),
    (re.compile(r"(?i)\buntil that\b"), "until"),
    (re.compile(r"(?i)\bthe while (?=I\b)"), "while "),
    (re.compile(r"(?i)\bwhen the sun (?:is|stands) (?:at its )?(?:highest|high|overhead|zenith|height|peak)\b"), "at noon"),
    # Old orders: "tarry thou", "hold thee fast", "stir not", "let Piers be told".
    (re.compile(rf"(?i){_AT}(?!{_NO_ORDER}\b)([a-z]+) you (?!are\b|have\b|were\b|will\b|would\b|should\b|could\b|can\b|at\b"
                r"|when\b|in\b|soon\b|later\b|tomorrow\b|tonight\b|around\b|guys\b|know\b|said\b|told\b|did\b|do\b|said\b)"),
     r"\1 "),
    (re.compile(rf"(?i){_AT}(hie|get|betake|hasten|haste) (?:you )?(?=back|hence|home|to|again|here|there)"), "come "),
    (re.compile(rf"(?i){_AT}(stir|move|go|leave|depart|stray|wander|quit|budge|forget|part|let|tell|walk) not\b"),
     r"don't \1"),
    (re.compile(rf"(?i){_AT}(?:you )?not (?=go|leave|move|stir|wander|run|walk)"), "don't "),
    (re.compile(r"(?i)\b(?P<who>I|he|she|they|(?-i:[A-Z])\w+) (?:be|am|is) (?:come|returned|gone)(?: (?:back|again|home|here))*\b"),
     r"\g<who> is back"),
    (re.compile(r"(?i)\b(?:be|is) (?=arrived)"), "has "),
    (re.compile(r"(?i)\b(?:suffer|let|allow) me not (?:to )?forget\b"), "don't let me forget"),
    (re.compile(r"(?i)\bkeep me mindful\b"), "remind me"),
    (re.compile(r"(?i)\blet (?P<who>(?-i:[A-Z])\w+|the \w+) be (?:told|informed|warned|made aware)\b"), r"tell \g<who>"),
    (re.compile(r"(?i)\blet (?P<who>(?:the|my|our|all) \w+(?: \w+)?) be given (?P<what>\w+)"), r"give \g<who> \g<what>"),
    (re.compile(r"(?i)\blet (?P<thing>(?:the|my|our|all) [\w' -]+?) be (?:kept )?(?P<done>\w+ed|fed|lit|swept|wound)\b"),
     lambda match: f"{_undone(match['done'])} {match['thing']}"),
    # How one is reminded.
    (re.compile(r"(?i)\b(?:put me in mind|(?:recall|bring|call)(?: it)?(?: back)? to (?:me|my (?:mind|memory))"
                r"|(?:jog|refresh) my memory|prompt me|(?:make|send|give|set) me a (?:remind|remember)(?:er)?|bid me"
                r"|make me (?:remember|think)|help me (?:to )?remember|speak to me(?= of)|mention to me)\b"), "remind me"),
    (re.compile(r"(?i)\b(?:remember|recall)(?= me\b)"), "remind"),
    (re.compile(r"(?i)\b(remind|wake|rouse|warn) (?:this|your) (?:[a-z]+ ){0,2}?[a-z]+ (?=to|that|of|about|at|in|when)\b"),
     r"\1 me "),
    # As learners put it.
    (re.compile(r"(?i)\b(?:say|tell) to me\b,?:?"), "tell me to"),
    (re.compile(r"(?i)\btake care (?=the|my|our)"), "take care of "),
    (re.compile(r"(?i)\blook (?=my|our)"), "look after "),
    (re.compile(r"(?i)\bmake (?=(?:ring|shine|burn|boil) the)"), ""),
    (re.compile(r"(?i)\bdon't to\b|^no (?=move|go|leave)"), "don't "),
    (re.compile(r"(?i)\blet us to meet\b|\b(?:can|shall|could) we meet us\b"), "meet me"),
    (re.compile(r"(?i)\b(?:is it|it is|it's) possible to\b"), "please"),
    (re.compile(r"(?i)\b(wake|call|tell|remind) up (me|us)\b"), r"\1 \2 up"),
    (re.compile(r"(?i)\bI (?:want|need|would like|wish) that you (?=[a-z])"), "please "),
    (re.compile(r"(?i)\bit (?:is|would be) possible (?:that )?(?=you\b)"), "can "),
    (re.compile(r"(?i)(?<!\ba )\b(ping|poke|nudge|buzz) (?=in\b|at\b|when\b|if\b)"), r"\1 me "),
    (re.compile(r"(?i)(?:^|(?<=[,.;] ))you (?=(?:please )?(?:tell|remind|wake|call|warn) me\b)"), "please "),
    (re.compile(r"(?i)\b(can|could|will|would) you to (?=[a-z])"), r"\1 you "),
    (re.compile(r"(?i)\b(can|could|will|would) you (\w+)ing\b"), r"\1 you \2"),
    (re.compile(r"(?i)\bI want that (?P<who>(?-i:[A-Z])\w+) knows?\b|\blet it be known to (?P<to>(?:[a-z]+ )?(?-i:[A-Z])\w+)"),
     lambda match: f"tell {match['who'] or match['to']}"),
    (re.compile(r"(?i)\b(tell|ask|inform|remind|warn|say) (?:to|for|at) (?=him|her|them|me|us|(?-i:[A-Z])\w)"), r"\1 "),
    (re.compile(r"(?i)\bsay (?P<who>(?-i:(?!I\b)[A-Z])[a-z]+)(?=,? (?:when|once|if|that)\b)"), r"tell \g<who>"),
    (re.compile(r"(?i)\bgive to (?P<who>(?-i:[A-Z])\w+) (?:a |the |my |this )?message"), r"give \g<who> a message"),
    (re.compile(r"(?i)\b(?:take|get|send|msg|message) (?:a )?(?:message )?for (?=\w+ (?:when|if|once)\b)"), "tell "),
    (re.compile(r"(?i)^message for (?P<who>\w+) (?P<time>(?:when|if|once)[^-:,]+?) ?[-:,]+ "), r"tell \g<who> \g<time> that "),
    (re.compile(r"(?i)\b(if|when|once|until|till) (?:will )?(?P<does>comes?|arrives?|returns?) (?P<who>(?:my (?:[a-z]+ )?)?(?-i:[A-Z])\w+)"),
     r"\1 \g<who> comes"),
    (re.compile(r"(?i)\b(?!when|if|once|as|but|and|so|then|because)(?P<who>(?-i:(?!I\b)[A-Z])\w+) (?:he|she) (?=will|comes?|is|arrives?)"), r"\g<who> "),
    (re.compile(r"(?i)\b(under|near|behind|inside|outside) of\b"), r"\1"),
    (re.compile(r"(?i)\bI want (?:to )?(?=ask you)"), "I "),
    (re.compile(r"(?i)\bI ask you\b"), "please"),
    (re.compile(r"(?i)\b(?:to )?make clean\b"), "clean"),
    (re.compile(r"(?i)\bgive water to\b"), "water"),
    (re.compile(r"(?i)\bwe meet us\b"), "meet me"),
    (re.compile(r"(?i)\b(?:I need|I want|I would have|I'd have) you (?=(?:by|near|at|in|next to|beside|under) )"), "be "),
    (re.compile(r"(?i)\bbe (?:again )?(?:at|by) my side\b"), "come back"),
    (re.compile(r"(?i)\b(?:keep|hold) (?:to )?(?:your|the|this) (?:station|post|place|ground|spot)\b"), "stay"),
    (re.compile(rf"(?i),? ?\b{_BEGS}(?: to)?,?"), " "),
    (re.compile(r"(?i)\bpray(?:,| you,?)? (?=\w+)(?!for\b|to\b)"), "please "),
    (re.compile(r"(?i)\b(?:mine|thine) (?=own\b|[aeiouh])"), "my "),
    (re.compile(r"(?i)\b(?:fail|forget) (?:you )?not to "), "please "),
    (re.compile(r"(?i)\b(?:and )?see that you (?:do )?(?=\w)"), "please "),
    (re.compile(r"(?i)^here (?=again|at |in |before |by |on |when |tomorrow)"), "come here "),
    (re.compile(r"(?i)\bcome you "), "come "),
    # As learners put it.
    (re.compile(r"(?i)(?<!\bme )\bplease (?:you|to) (?=[a-z])|(?:^|(?<=[,.;!:] ))(?:you please|you must to|you to) (?=\w)"), "please "),
    (re.compile(r"(?i)^you (?=(?:\w+ ){1,12}.*\b(?:please|ok|okay|yes)\W*$)(?!are\b|have\b|do\b|did\b|will\b|said\b"
                r"|were\b|told\b|know\b|see\b|look\b|can\b|could\b|would\b)"), "please "),
    (re.compile(r"(?i)\bsay (?=(?:him|her|them|me|us) \w)"), "tell "),
    (re.compile(r"(?i)\b(remind me (?:[^.!?]* )?)for (?=(?:buy|go|take|make|eat|feed|close|open|call|bring|pay)\b)"),
     r"\1to "),
    # What somebody wants to be, to have, or to have done.
    (re.compile(r"(?i)\bI(?: would|'d)? (?:wish|want|need|like|love|have) to be (?P<done>woken|awakened|roused|reminded"
                r"|told|called|fetched|warned|notified|nudged|alerted)(?: up)?\b"), _wished),
    (re.compile(r"(?i)\b(?:(?:is|would) it (?:be )?(?:possible|okay|ok|all right) (?:for me )?to |(?:can|could|may"
                r"|might) I (?:please )?|I(?: would|'d) (?:like|love) (?:to )?)(?:get|have|receive) a (?=reminder|nudge"
                r"|wake|shout|heads)"), "give me a "),
    (re.compile(r"(?i)\bwake up call\b"), "wake-up call"),
    (re.compile(r"(?i)\b(please |can you |could you |would you |^)remember (?=me (?:to|in \w+ \w+|at|about|of)\b)"),
     r"\1remind "),
    (re.compile(r"(?i)\bI (?:need|want|expect) you (?:to be )?(?=back\b|here\b|there\b|(?:at|in|by) (?:the|my|our) )"),
     "be "),
    (re.compile(r"(?i)\b(?:make sure|see to it|see) (?:that )?(?P<who>(?-i:[A-Z])[a-z]+) (?:hears|knows|learns|is told"
                r"|gets told)(?: that| about| of)?"), r"tell \g<who> that"),
    (re.compile(r"(?i)\b(?:hand|bring) (?=\w+ my (?:greetings|regards|love|thanks))"), "give "),
    (re.compile(r"(?i)\bbid (?P<who>[A-Za-z]+) (?=welcome|good|farewell)"), r"tell \g<who> "),
    (re.compile(r"(?i)\bI(?:'d| would) (?:appreciate|like|love|need|want) a reminder\b|\bI could use a reminder\b"),
     "remind me"),
    (re.compile(r"(?i)\b(?:don't|do not|never) let me (?:over)?sleep (?:past|beyond|after|longer than|until) "),
     "wake me at "),
    (re.compile(r"(?i)(\b(?:remind|tell) me) next time we (?:meet|speak|talk)"), r"\1 next time I'm here"),
    (re.compile(r"(?i)(?:^|(?<=, ))(?P<call>shout|whistle|yell|holler) (?=if |when |once )"), r"\g<call> for me "),
    (re.compile(r"(?i)\btell anyone called (?P<who>\w+) who (?P<does>comes|stops|drops|passes) by"),
     r"when \g<who> comes, tell \g<who>"),
    (re.compile(r"(?i)\b(?P<front>(?:if|when|once) [A-Z]\w+ (?:comes|asks)(?: \w+){0,2}?(?: looking| asking)? for me),"
                r" (?=I(?:'m| am| have|'ve| went))"), r"\g<front>, tell her "),
    (re.compile(r"(?i)^(I(?:'m| am|'ve| have|'ll)? [^.!?]*)[.!] (?=(?:(?:please|so|can you|could you) )?"
                r"(?:remind|wake|tell|call|warn|ping|poke) me(?: then)?\W*$)"), r"\1, "),
    (re.compile(r"(?i)^(?:I have|here is|here's|this is) (?=(?:a|my|one) (?:message|note|word) for )"), "take "),
    (re.compile(r"(?i)\bpass (?P<what>my (?:thanks|regards|greetings|love|apologies)) (?:on )?to (?P<who>[A-Za-z]+)"),
     r"give \g<who> \g<what>"),
    (re.compile(r"(?i)\bhappen to (?=see|meet)"), ""),
    (re.compile(r"(?i)\bhave (?P<who>(?-i:[A-Z])[a-z]+) (?=wait|come|meet|bring|write|look|give|go|stay)"),
     r"tell \g<who> to "),
    (re.compile(r"(?i)\b(?P<time>(?:every|each) \w+),? you (?=(?!are\b|were\b|have\b|can\b|will\b)[a-z]+ (?:the|my|our|your|down|out|up)\b)"),
     r"\g<time> "),
    (re.compile(r"(?i)\bmove an (?:inch|hair)\b"), "move"),
    (re.compile(r"(?i)^(?:we meet|see you|wait) (?=(?:at|by|in|on) the (?!morning|evening|afternoon)\w+(?: \w+)?"
                r" (?:at|in) \w+(?: then)?(?:, (?:ok|okay|deal|yes))?\W*$)"), "meet me "),
    # Coming.
    (re.compile(r"(?i)\bI(?:'ll| will)? wait (?:for )?you (?=(?:at|by|in) (?:the|my|our) )"), "meet me "),
    (re.compile(r"(?i)^meet you (?=(?:at|by|in) )"), "meet me "),
    (re.compile(r"(?i)\b(?:attend|rejoin|attend on|await) (?=me (?:at|by|in|here)\b)"), "join "),
    (re.compile(r"(?i)\bcheck back (?=here|in|at)"), "come back "),
    (re.compile(r"(?i)^you and me,? (?:at )?(?=the )"), "meet me at "),
    (re.compile(r"(?i)\b(?:get yourself|betake yourself|make your way|find your way|hie (?:you|yourself))\b"), "go"),
    (re.compile(r"(?i)\blook me up\b"), "visit me"),
    (re.compile(r"(?i)\b(?:arrive|report|present yourself) (?=(?:at|in) )"), "be "),
    (re.compile(r"(?i)\bcome to (?:me|us) (?=at|in|by)"), "come "),
    (re.compile(r"(?i)(?<=[a-z]) you (?=(?:come|go) (?:back|here|to the)\b|(?:wake|remind|tell|call) me\b"
                r"|(?:wait|stay) here\b)(?=.*\b(?:please|ok|okay|yes)\W*$)"), " "),
    # Waiting.
    (re.compile(r"(?i)(?<!\w)(?:untill|unitl|'?til)\b"), "until"),
    (re.compile(r"(?i)\b(?:where|as) you (?:are|stand|sit)\b"), "here"),
    (re.compile(r"(?i)\b((?:don't|do not|never) (?:you )?(?:move|go|leave|stir|budge|wander|run|walk)) you\b|"
                r"\b(?:don't|do not|never) you (?=move|go|leave|stir|budge|wander|run|walk)"),
     lambda match: f"{match[1] or chr(100) + 'on' + chr(39) + 't '}"),
    (re.compile(r"(?i)(?:^|(?<=[,.;!] ))ill (?=be|come|return|go)"), "I'll "),
    (re.compile(r"(?i)\b(?:chill|hang (?:around|about|out)|stick around|camp|loiter|lurk|settle|park yourself|plant"
                r" yourself)"
                r" (?=here|there|until|for|by|in|at)"), "wait "),
    (re.compile(r"(?i)\b(?:save|hold|keep) (?=(?:my|our|this|the) (?:place|spot|seat|table|position)\b)"), "guard "),
    (re.compile(r"(?i)\b(wait|stay|remain) (?:up|down|out|over|in|back) (?=here|there)"), r"\1 "),
    (re.compile(r"(?i)(?:^|(?<=so )|(?<=[,;:-] )|(?<=and ))you (?=(?:just )?(?:wait|stay|remain|hold|hang|guard|keep watch)\b)"), ""),
    (re.compile(r"(?i)\bfor (?P<who>(?-i:[A-Z])[a-z]+) to (?:come|arrive|return|(?:get|be) (?:here|back)|show up)\b"),
     r"until \g<who> comes"),
    (re.compile(r"(?i)\b(?:sit|hang|hold) tight\b|\bhold the fort\b|\bhold (?:your|this) (?:position|post)\b"),
     "wait here"),
    (re.compile(r"(?i)\b((?:wait|stay|remain)(?: right)?(?: here| there)? for me(?<=here for me)"
                r"|wait (?:for me )(?:right )?here)(?: (?:for )?a (?:little|bit|while|moment))?(?=\W*$|[,.!;])"),
     r"\1 until I am back"),
    (re.compile(r"(?i)\bwait (?:here )?for (?P<who>(?-i:[A-Z])[a-z]+|\w+(?= here))(?<!\bme)(?<!\bit)(?<!\bus)"
                r"(?: here)?(?=\W*$|[,.!;])"), r"wait here until \g<who> comes"),
    (re.compile(rf"(?i)\b(?:wait|hang on|hold on)(?: here)? (?:for )?(?=(?!a\b|an?\b|one\b)\w|a few|an hour|half)"
                rf"(?P<time>{AMOUNT})(?: for me| here)*"), r"wait here for \g<time>"),
    (re.compile(r"(?i)\b((?:don't|do not|never) (?:leave|quit|go|move|stir|budge|wander|run|walk)\b(?! (?:to|into|near)"
                r" )[^.!?;,]*?) before"
                r" (?=\w)"),
     r"\1 until "),
    # "Shout in ten minutes so I don't burn the pie."
    (re.compile(rf"(?i)\b{_KNOW} (?P<time>[^.!?,]+?),? so (?:that )?I (?:don't|won't|do not) "),
     r"remind me \g<time>: don't "),
    # "I'll see you at the mill at noon."
    (re.compile(r"(?i)\bI(?:'ll| will| shall) (?:see|meet) you (?=(?:at|by|near|outside|in|on) (?:the|your|my|our)"
                r" (?!morning|afternoon|evening|night|\w+ hour|road|way))"), "meet me "),
)  # fmt: skip
_MAKE_SURE = re.compile(
    r"(?i)(?:^|(?<=[,.;!] ))(?:could|can|may|would|might) (?P<passive>(?:the|my|our) [\w' -]+?) be (?:kept )?"
    r"(?P<be>\w+ed|fed|lit|swept|wound)(?= (?:every|each|daily|nightly))|"
    r"\bI(?: would|'d)? (?:want|need|like) (?P<wanted>(?:the|my|our|this) [\w' -]+?) (?:to be )?"
    r"(?P<so>\w+ed|fed|lit|swept|wound)(?= (?:every|each|daily|nightly))"
    r"|(?:^|(?<=[,.;!] ))(?P<it>(?:the|my|our) [\w' -]+?) (?:wants|needs|want|need) (?P<ing>\w+)ing"
    r"(?= (?:every|each|daily|nightly)\b.*(?:\b(?:can|could|would|will) you|please)\b)|\b(?:make sure|see to it|see"
    r"|be sure|ensure|take care)(?: that)? (?P<thing>(?:the|my|our|all|every|this)"
    r" [\w' -]+?) (?:is|are|be|gets?|stays?) (?:always )?(?P<done>\w+)"
)


def plainly_put(line: str) -> str:
    """Return a line in plain English words of today: "tarry here till I return" is "wait here till I return"."""
    line = re.sub(r"(?i)\bdo thou\b", "please", line)
    if _IS_OLD.search(line):
        line = _OLD_WORD.sub(_now, line)
    for pattern, other in _PUT:
        line = pattern.sub(other, line)
    return " ".join(_MAKE_SURE.sub(_to_do, line).split())


def _now(match: re.Match[str]) -> str:
    word = re.sub(r"(?<=[vcz])$|(?<=com)$|(?<=mak)$|(?<=tak)$|(?<=wak)$", "e", match["st"] or "") or _OLD.get(match[0].casefold(), "")
    if stem := match["s"]:
        word = re.sub(r"([npt])\1$", r"\1", stem) + ("es" if _ENDS_IN_ES.search(stem) else "s")
    return word.capitalize() if match[0][0].isupper() else word


def _to_do(match: re.Match[str]) -> str:
    """Return the chore behind "make sure that the stove is lit"."""
    if match["ing"]:
        return f"{match['ing']} {match['it']}"
    done = (match["done"] or match["so"] or match["be"]).casefold()
    thing = match["thing"] or match["wanted"] or match["passive"]
    verb = _undone(done)
    return match[0] if verb == done and done not in _DONE else f"{verb} {thing}"


def _undone(done: str) -> str:
    """Return the verb of what is done: "lit" is of "light"."""
    return _DONE.get(done.casefold()) or re.sub(r"ied$", "y", done).removesuffix("ed")

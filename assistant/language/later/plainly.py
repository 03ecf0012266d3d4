"""Puts old words, learners' words and plays on words as plain English, before a line is read for a request. Pure.

What it returns says the same. A line that has none of these words stays as it is.
"""

from __future__ import annotations

import re

from mud_assistant.assistant.language.later.hours import AMOUNT

#: Old words, and what is said now.
_OLD_TEXT = """
    thou=you thee=you ye=you thy=your thine=your hither=here thither=there morn=morning unto=to whilst=while
    eventide=dusk even-tide=dusk ere=before tarry=wait bide=wait abide=wait 'tis=it's doth=does dost=do hath=has
    hast=have shalt=shall wilt=will canst=can prithee=please anon=soon nigh=near forthwith=now whene'er=whenever
    whensoever=whenever noontide=noon yon=that yonder=that betwixt=between 'twixt=between upon=on aught=anything
    thyself=yourself mayst=may mayest=may shouldest=should oft=often saith=says
"""
_OLD = dict(pair.split("=") for pair in _OLD_TEXT.split())
#: Old endings: "cometh", "soundeth", "wouldst", "thou sleepest".
_OLD_WORD = re.compile(
    rf"(?i)(?<![\w'-])(?:{'|'.join(map(re.escape, _OLD))}|(?P<s>(?-i:[a-z]{{2,}})(?<!te)(?<!se))eth|(?P<st>would|could"
    rf"|should|did|(?<=thou )(?!must|just|best|first|last)(?:see|[a-z]{{2,}}?))e?st)(?![\w'-])"
)
_ENDS_IN_ES = re.compile(r"(?:[vcsxzo]|sh|ch|com|(?<![aeiou])[aeiou]k)$")
_VERBS_TEXT = """
    lit=light fed=feed swept=sweep wound=wind clean=clean tidy=tidy full=fill trimmed=trim woken=wake roused=rouse
    told=tell gave=give woke=wake came=come met=meet nudged=nudge given=give rung=ring drawn=draw hung=hang put=put
    set=set kept=keep wak=wake com=come stok=stoke giv=give lett=let gett=get tak=take mak=make danc=dance guid=guide
    nudg=nudge
"""
#: The verbs of words in -ed and -ing, or of what is left without that, where it is not the word itself.
_VERBS = dict(pair.split("=") for pair in _VERBS_TEXT.split())


#: What the rules call by a name in angles.
_NAMED = {
    "<AT>": r"(?:^|(?<=[,.;:!?-] )|(?<=\b(?:so|or|to) )|(?<=\b(?:and|but|yet|you) )|(?<=please )|(?<=then ))",
    "<NOT>": r"(?:don't|do not|never)",
    "<THEY>": r"(?P<who>(?-i:(?!I\b)[A-Z])\w+)",
    "<MARK>": "(?:noon|midday|midnight|dawn|dusk|sunset|sunrise|nightfall|daybreak|sundown)",
    "<AMOUNT>": AMOUNT,
    # What begins a clause before "you" and is no order: "are you", "if you".
    "<NO_ORDER>": "(?:are|were|do|did|ha(?:ve|d|s)|(?:ca|wo)n't|can|could|will|would|shall|should|may|might|must|if"
    "|wh\\w+|how|th\\w+|as|so|and|but|or|because|since|until|once|see|love|tell|told|give|gave|to|for|of"
    "|with|at|by|from|before|after|now|yes|i|ok|okay|please|next|time|meet|catch|bless|want|need|beg"
    "|like)",
}
#: A pattern, and how that is mostly said, with a ~ for a space at its end, three spaces apart. Each is tried in turn.
_RULES = r"""
    \b(?:and|an) you (?=(?:see|meet|find|hear|spy)\b) => if you~   \ban (he|she|they)\b => if \1   \bw/o\b => without
    <AT>be you (?=at|in|here|there) => be~   (?<!\w)'?til\b|\buntil that\b => until   \bbefore that (?=I\b) => before~
    @ ? => at~   \bb (?=(?:at|here|there|back|by|in)\b) => be~
    (?<!\b(?:in|at|by) )(?<!\bafter )(?<!\bfor )\b2 (?!\w+s\b|(?:min|sec|hr|hour|day|week|pm|am|silver|gold|copper)
        |(?:of|or|and|more|please|in|at)\b)(?=[a-z]) => to~
    (?<!\b(?:in|at|by) )(?<!\bafter )(?<!\bfor )\b4 (?=(?:me|us|the|my|[a-z]+ (?:when|if|once))\b) => for~
    \beveryday\b => every day   \b(?:the )?(?:crowing of the cock|cock'?s?[- ]crow(?:ing)?)\b => cockcrow
    \b(?:the )?(?:setting|sinking|going down) of the sun\b => sunset
    \b(?:the )?rising of the sun\b|\bday's dawn(?:ing)?\b|\bdawning\b => sunrise
    \b(?:at )?(?:vespers|evensong)\b|\bat (?:even|eve)\b(?! ?song) => at dusk
    \b(?:at |around |about )?mid-?morning\b => at ten in the morning   \b(?:in|on|to) (?:the )?(?=<MARK>\b) => at~
    \b(?:in|on|to|at) (?:the )?(?=(?:evening|morning|afternoon)\b) => in the~
    \bwhen (?:it |it'?s )?(?:is |will be )?(?<!when )(<MARK>|first light)\b|\bwhen (?:the )?(<MARK>) (?:is(?: here)?
        |comes)\b|\bwhen the (noon|midnight|midday)(?: bell)? (?:sounds|rings|tolls|strikes)\b => when it is \1\2\3
    \bwhen (?:it is |the )?(evening|morning|night)(?: is(?: come)?| comes| falls)\b => in the \1
    \b(?:in|on|at|with) (?=(?:every|each) (?!other)\w) =>   \b(every|each|this) eve\b => \1 evening
    \b(?:all|on|in) (?:the )?(morning|evening|night|day|afternoon)s\b => every \1
    (?<=[a-z]) (?<!'s )(?<!\b(?:is|at|by|of) )(?<!\b(?:the|for) )(?<!\b(?:come|till|each|high|past) )(?<!\b(?:until
        |every|after|about) )(?<!\b(?:before|around) )(?=<MARK>(?:\W*$| (?:ok|okay|please)\b)) => ~at~
    \bbefore ((?:an|one|half an|two|another) hours?)\b(?: (?:is|be|has|have) (?:gone|passed|run|over|up|out))? => in \1
    \bwhen the sun (?:is|stands) (?:at its )?(?:highest|high|overhead|zenith|height|peak)\b => at noon
    <AT>(?!<NO_ORDER>\b)([a-z]+) you (?!(?:are|have|were|will|would|should|could|can|at|when|in|soon|later|tomorrow
        |tonight|around|guys|know|said|told|did|do)\b) => \1~
    <AT>(?:hie|get|betake|hasten|haste|repair) (?:you )?(?=back|hence|home|to|again|here|there) => come~
    <AT>(stir|move|go|leave|depart|stray|wander|quit|budge|forget|part|let|tell|walk) not\b => don't \1
    <AT>(?:you )?not? (?=(?:go|leave|move|stir|wander|run|walk)\b)|\bdon't to~ => don't~
    \b(?:suffer|let|allow) me not (?:to )?forget\b => don't let me forget
    \blet (<THEY>|the \w+) be (?:told|informed|warned|made aware)\b => tell \1
    \b(?:put me in mind|(?:recall|bring|call)(?: it)?(?: back)? to (?:me|my (?:mind|memory|remembrance))|(?:jog
        |refresh) my memory|prompt me|(?:make|send|give|set) me a (?:remind|remember)(?:er)?|bid me
        |make me (?:remember|think)|help me (?:to )?remember|speak to me(?= of)|mention to me|keep me mindful
        |(?:remember|recall) me)\b => remind me
    \bI(?:'d| would) (?:appreciate|like|love|need|want) a reminder\b|\bI could use a reminder\b => remind me
    \b(remind|wake|rouse|warn) (?:this|your) (?:[a-z]+ ){0,2}?[a-z]+ (?=(?:to|that|of|about|at|in|when)\b) => \1 me~
    \b(?:say|tell) to me\b,?:? => tell me to   \b(can|could|will|would|must) to (?=[a-z]) => \1~
    \bwait to me\b => wait for me   \bgive water to\b => water   \b(?:to )?make clean\b => clean
    \bI (?:want|need|would like|wish) that you (?=[a-z])|\b(?:is it|it is|it's) possible (?:to|that)~
        |\bI want (?:to )?ask you to~ => please~
    \bit (?:is|would be) possible (?=you\b) => can~
    (?<!\ba )\b(ping|poke|nudge|buzz) (?=(?:in|at|when|if)\b) => \1 me~
    \b(tell|ask|inform|remind|warn|say) (?:to|for|at) (?=(?:him|her|them|me|us)\b|(?-i:[A-Z])\w) => \1~
    \bsay <THEY>(?=,? (?:when|once|if|that)\b) => tell \g<who>
    \b(?:take|get|send|msg|message) (?:a )?(?:message )?for (?=\w+ (?:when|if|once)\b) => tell~
    \b(if|when|once|until|till) (?:will )?(?:comes?|arrives?|returns?) ((?:my (?:[a-z]+ )?)?(?-i:[A-Z])\w+|the \w+)
        => \1 \2 comes
    \b(under|near|behind|inside|outside) of\b => \1
    \b(?:I need|I want|I would have|I'd have|I expect) you (?:to be )?(?=(?:back|here|there|by|near|at|in|next to
        |beside|under)\b) => be~
    \bbe (?:again )?(?:at|by) my side\b|\bcheck back (?=here|in|at) => come back~
    \b(?:keep|hold) (?:to )?(?:your|the|this) (?:station|post|place|ground|spot|position)\b => stay
    ,? ?\bI (?:do )?(?:pray|beg|beseech|implore|entreat|bid|charge)(?: of)? you\b(?: to)?,? => ~
    \bpray(?:,| you,?)? (?=\w+)(?!for\b|to\b) => please~   \b(?:mine|thine) (?=own\b|[aeiouh]) => my~
    (?<!\bme )\bplease (?:you|to) (?=[a-z])|(?:^|(?<=[,.;!:] ))(?:you please|you must to|you to) (?=\w) => please~
    ^you (?=(?:\w+ ){1,12}.*\b(?:please|ok|okay|yes)\W*$)(?!(?:are|have|do|did|will|must|said|told|know|see|look|can
        |could|would)\b) => please~
    \bsay (?=(?:him|her|them|me|us) \w) => tell~
    \b(remind me (?:[^.!?]* )?)for (?=(?:buy|go|take|make|eat|feed|close|open|call|bring|pay)\b) => \1to~
    \b(?:(?:is|would) it (?:be )?(?:possible|okay|ok|all right) (?:for me )?to |(?:can|could|may|might) I (?:please )?
        |I(?: would|'d) (?:like|love) (?:to )?)(?:get|have|receive) a (?=reminder|nudge|wake|shout|heads) => give me a~
    \bwake up call\b => wake-up call   (\b(?:remind|tell) me) next time we (?:meet|speak|talk) => \1 next time I'm here
    ^(?:I have|here is|here's|this is) (?=(?:a|my|one) (?:message|note|word) for ) => take~
    \bhave <THEY> (?=wait|come|meet|bring|write|look|give|go|stay) => tell \g<who> to~
    \b((?:every|each) \w+),? you (?=(?!(?:are|were|have|can|will)\b)[a-z]+ (?:the|my|our|your|down|out|up)\b) => \1~
    ^(?:we meet|see you|wait) (?=(?:at|by|in|on) the (?!morning|evening|afternoon)\w+(?: \w+)? (?:at
        |in) \w+(?: \w+)?(?:, (?:ok|okay|deal|yes))?\W*$) => meet me~
    \bI(?:'ll| will| shall)? (?:a?wait|wait for) you (?=(?:at|by|in) (?:the|my|our) )|^meet you (?=(?:at|by|in) )
        |\b(?:let us to meet|we meet us|(?:can|shall|could) we meet us)\b => meet me~
    \bI(?:'ll| will| shall| would) (?:see|meet)(?: with)? you (?=(?:at|by|near|outside|in|on) (?:the|your|my
        |our) (?!morning|afternoon|evening|night|\w+ hour|road|way)) => meet me~
    \b(?:attend|rejoin|attend on|await) (?=me (?:at|by|in|here)\b) => join~
    \b(?:arrive|report|present yourself) (?=(?:at|in) ) => be~
    (?<=[a-z]) you (?=(?:come|go) (?:back|here|to the)\b|(?:wake|remind|tell|call|meet|meet with) me\b|(?:wait
        |stay) here\b)(?=.*\b(?:please|ok|okay|yes)\W*$) => ~
    \b(?:where|as) you (?:are|stand|sit)\b => here
    \b(<NOT> (?:you )?(?:move|go|leave|stir|budge|wander|run|walk)) you\b|\b(<NOT>) you (?=(?:move|go|leave|stir|budge
        |run|walk)\b) => \1\2~
    (?:^|(?<=[,.;!] ))ill (?=be|come|return|go) => I'll~
    \b(?:chill|hang (?:around|about|out)|stick around|camp|loiter|lurk|settle|park yourself|plant yourself)[ ](?=here
        |there|until|for|by|in|at) => wait~
    \b(?:save|hold|keep) (?=(?:my|our|this|the) (?:place|spot|seat|table|position)\b) => guard~
    \b(wait|stay|remain) (?:up|down|out|over|in|back) (?=here|there) => \1~
    (?:^|(?<=so )|(?<=[,;:.-] )|(?<=and ))you(?:'ll| will)? (?=(?:just )?(?:wait|stay|remain|hold|hang|guard|keep watch
        |keep (?:here|by|to))\b) =>   \bfor the next (?=<AMOUNT>) => for~
    \b(I'll be (?:right )?back|brb|be right back)\b(.*)\buntil then\b => \1\2until I am back
    \bwait for me ((?:at|by|in|near) (?:the|my|your|our) \w+(?: \w+)?)(?=\W*$|[,.;!?]) => wait \1 until I am back
    \bwait for me(?=\W*$|[,.;!?]) => wait here until I am back
    \b(?:(?:an?|some|any) (?:\w+ )?\w+|anybody|anyone|somebody|someone) (?:called|named) (?=(?-i:[A-Z])) =>
    \b((?:if|when|should|once) <THEY> asks? (?:for|after) me, )(?=I(?:'m|'ve|'ll| am| have| went)\b) => \1tell \g<who>~
    \bbefore I (?:go to (?:bed|sleep)|turn in|retire)\b => before bed   \bmake it (?:a|your) habit (?:to|of)~ => please~
    \bat the end of (?:the|each|every) day\b => in the evening   \bof an? (evening|morning|night)(?=\W*$) => every \1
    \bfrom (?:now|today|tomorrow) on\b,?(.*?) (?:in the|at) (morning|evening|night)\b => \1 every \2
    \bfor <THEY> to (?:come|arrive|return|(?:get|be) (?:here|back)|show up)\b => until \g<who> comes
    \b(?:sit|hang|hold) tight\b|\bhold the fort\b => wait here
    \b((?:wait|stay|remain)(?: right)?(?: here| there)? for me(?<=here for me)
        |wait (?:for me )(?:right )?here)(?: (?:for )?a (?:little|bit|while|moment))?(?=\W*$|[,.!;])
        => \1 until I am back
    \bwait for ((?-i:[A-Z])[a-z]+)( (?:at|in|by) the \w+)(?=\W*$|[,.!;]) => wait\2 until \1 comes
    \bwait (?:here )?for ((?-i:[A-Z])[a-z]+|\w+(?= here))(?<!\b(?:me|it|us))(?: here)?(?=\W*$|[,.!;])
        => wait here until \1 comes
    \b(?:wait|hang on|hold on)(?: here| me)? (?:for )?(?=(?!an?\b|one\b)\w|a few|an hour
        |half)(?P<time><AMOUNT>)(?: for me| here)* => wait here for \g<time>
    \b(<NOT> (?:leave|quit|go|move|stir|budge|wander|run|walk)\b(?! (?:to|into|near) )[^.!?;,]*?) before (?=\w)
        => \1 until~
"""


def _rule(line: str) -> tuple[re.Pattern[str], str]:
    pattern, _, put = line.strip().replace("~", " ").partition(" =>")
    for name, meant in _NAMED.items():
        pattern = pattern.replace(name, meant)
    return re.compile(f"(?i){pattern}"), put[1:]


_PUT = tuple(
    map(
        _rule, _RULES.strip().replace("\n        =>", " =>").replace("\n        ", "").replace("\n", "   ").split("   ")
    )
)
_AGAIN = "(?= (?:every|each|daily|nightly))"
_THING = r"(?:the|my|our|all|every|this) [\w' -]+?"
_BEEN = r"\w+ed|fed|lit|swept|wound|given|rung|drawn|hung|put|set|kept"
#: What is to be done, said of the thing: "make sure that the stove is lit", "the cat needs feeding every day, please".
_MAKE_SURE = tuple(
    re.compile(f"(?i){pattern}")
    for pattern in (
        rf"(?:^|(?<=[,.;!] ))(?:could|can|may|would|might) (?P<thing>{_THING}) be (?:kept )?(?P<done>{_BEEN}){_AGAIN}",
        rf"\bI(?: would|'d)? (?:want|need|like) (?P<thing>{_THING}) (?:to be )?(?P<done>{_BEEN}){_AGAIN}",
        rf"(?:^|(?<=[,.;!] ))(?P<thing>{_THING}) (?:wants?|needs?) (?P<done>\w+ing){_AGAIN}(?=.*\b(?:you|please)\b)",
        rf"\b(?:make sure|see to it|see|ensure)(?: that)? (?P<thing>{_THING}) (?:is|are|be|gets?) (?P<done>\w+)",
        rf"\blet (?P<thing>(?!it|me|us|her|him|them)[a-z][\w' -]*?) be (?:kept )?(?P<done>{_BEEN})\b",
        r"\b(?:I(?: would|'d)? (?:[a-z]+ to )?|let me )be (?P<done>woken|reminded|roused|told)(?: up)?(?P<thing>)\b",
    )
)


def plainly_put(line: str) -> str:
    """Return a line in plain English words of today: "tarry here till I return" is "wait here till I return"."""
    line = _OLD_WORD.sub(_now, re.sub(r"(?i)\bdo thou\b", "please", line))
    for pattern, other in _PUT:
        line = pattern.sub(other, line)
    for pattern in _MAKE_SURE:
        line = pattern.sub(_to_do, line)
    return " ".join(line.split())


def _now(match: re.Match[str]) -> str:
    word = re.sub(r"(?<=[vcz])$|(?<=com)$|(?<=[mtw]ak)$", "e", match["st"] or "") or _OLD.get(match[0].casefold(), "")
    if stem := match["s"]:
        word = re.sub(r"([npt])\1$", r"\1", stem) + ("es" if _ENDS_IN_ES.search(stem) else "s")
    return word.capitalize() if match[0][0].isupper() else word


def verb_of(done: str) -> str:
    """Return the verb of a word in -ed or -ing: "lit" is of "light"; a word of another kind as it is."""
    stem = re.sub(r"ied$", "y", re.sub(r"([a-z]*[aeiou][a-z]*)(?:(?<!i)ed|ing)$", r"\1", done.casefold()))
    return _VERBS.get(done.casefold()) or _VERBS.get(stem, stem)


def _to_do(match: re.Match[str]) -> str:
    """Return the chore behind "make sure that the stove is lit"."""
    done = match["done"].casefold()
    return match[0] if verb_of(done) == done not in _VERBS else f"{verb_of(done)} {match['thing'] or 'me'}"

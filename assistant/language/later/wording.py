"""Puts old words, learners' words and plays on words as plain English, before a line is read for a request. Pure.

What it returns says the same. A line that has none of these words stays as it is.
"""

from __future__ import annotations

import re

from mud_assistant.assistant.language.later.hours import AMOUNT

#: Old words, and what is said now.
_OLD_TEXT = """
    thou=you thee=you ye=you thy=your thine=your hither=here thither=there morn=morning morrow=tomorrow eve=evening
    eventide=evening even-tide=evening ere=before tarry=wait bide=wait abide=wait 'tis=it's doth=does dost=do hath=has
    art=are cometh=comes returneth=returns arriveth=arrives entereth=enters passeth=passes shalt=shall wilt=will
    canst=can wouldst=would couldst=could prithee=please anon=soon nigh=near forthwith=now
"""
_OLD = dict(pair.split("=") for pair in _OLD_TEXT.split())
_OLD_WORD = re.compile(rf"(?i)(?<![\w'-])(?:{'|'.join(map(re.escape, _OLD))})(?![\w'-])")
#: An old line has one of these; "eve" alone may be a name, and "art" is a thing.
_IS_OLD = re.compile(
    r"(?i)\b(?:thou|thee|thy|thine|ye|hither|morn|the morrow|eventide|each eve|every eve|at eve|ere|tarry|abide|bide"
    r"|prithee|\w+eth|shalt|wouldst|canst|couldst|anon)\b"
)
_BEGS = r"I (?:do )?(?:pray|beg|beseech|implore|entreat|bid|charge)(?: of)? (?:you|thee)\b"
_KNOW = (
    r"(?:shout|yell|holler|call|ping|nudge|poke|tell|warn|buzz|tap|message|text|signal|wave|let|give|drop)"
    r"(?: (?:at|to|for|out to))? me(?: (?:know|a \w+))?"
)
_BACK = (
    r"(?:brb|be right back|(?:I(?:'ll| will| shall)|gonna) (?:be|come) (?:right |straight )?back(?: (?:soon|shortly"
    r"|in (?:a|an|\w+) \w+))?|I(?:'ll| will| shall) return(?: (?:soon|shortly))?|I (?:won't|shan't|will not) be (?:long"
    r"|gone long|a \w+)|back (?:soon|in (?:a|an|\w+) \w+))"
)
_STAY = r"(?:wait|stay|remain|stand guard|hang on|keep watch|watch|guard|mind|keep an eye on|look after)"
_DONE_TEXT = "lit=light fed=feed swept=sweep wound=wind clean=clean tidy=tidy full=fill trimmed=trim tidied=tidy"
_DONE = dict(pair.split("=") for pair in _DONE_TEXT.split())
#: Each of them is tried in turn, at any place of the line.
_PUT = (
    (re.compile(rf"(?i),? ?\b{_BEGS},?"), " "),
    (re.compile(r"(?i)\bpray(?:,| you,?)? (?=\w+)(?!for\b|to\b)"), "please "),
    (re.compile(r"(?i)\b(?:mine|thine) (?=own\b|[aeiou])"), "my "),
    (re.compile(r"(?i)\b(?:fail|forget) (?:you )?not to "), "please "),
    (re.compile(r"(?i)\b(?:and )?see that you (?:do )?(?=\w)"), "please "),
    (re.compile(r"(?i)^here (?=again|at |in |before |by |on |when |tomorrow)"), "come here "),
    (re.compile(r"(?i)\bcome you "), "come "),
    # As learners put it.
    (re.compile(r"(?i)(?:^|(?<=[,.;!:] ))(?:you please|please you|please to|you must to|you to) (?=\w)"), "please "),
    (re.compile(r"(?i)^you (?=(?:\w+ ){1,12}.*\b(?:please|ok|okay|yes)\W*$)(?!are\b|have\b|do\b|did\b|will\b|said\b"
                r"|were\b|told\b|know\b|see\b|look\b|can\b|could\b|would\b)"), "please "),
    (re.compile(r"(?i)\bsay (?=(?:him|her|them) \w)"), "tell "),
    (re.compile(r"(?i)\b(remind me (?:[^.!?]* )?)for (?=(?:buy|go|take|make|eat|feed|close|open|call|bring|pay)\b)"),
     r"\1to "),
    # Waiting.
    (re.compile(r"(?i)\b(?:sit|hang|hold) tight\b|\bhold the fort\b|\bhold (?:your|this) (?:position|post)\b"),
     "wait here"),
    (re.compile(rf"(?i)\b({_STAY}\b[^.!?;]*?)(?: for a (?:bit|while|moment|minute|sec(?:ond)?|little while))?"
                rf"[,.!;-]* ?(?:I have to go[,.]? )?{_BACK}(?=\W|$)"), r"\1 until I am back"),
    (re.compile(r"(?i)\b((?:wait|stay|remain)(?: right)?(?: here| there)? for me(?<=here for me)"
                r"|wait (?:for me )(?:right )?here)(?=\W*$|[,.!;])"), r"\1 until I am back"),
    (re.compile(r"(?i)\bwait (?:here )?for (?P<who>(?-i:[A-Z])[a-z]+|\w+(?= here))(?<!\bme)(?<!\bit)(?<!\bus)"
                r"(?: here)?(?=\W*$|[,.!;])"), r"wait here until \g<who> comes"),
    (re.compile(rf"(?i)\b(?:wait|hang on|hold on)(?: here)? (?:for )?(?=(?!a\b|an?\b|one\b)\w|a few|an hour|half)"
                rf"(?P<time>{AMOUNT})(?: for me| here)*"), r"wait here for \g<time>"),
    (re.compile(r"(?i)\b((?:don't|do not|never) (?:leave|go|move|stir|budge)\b[^.!?;,]*?) before (?=\w)"),
     r"\1 until "),
    # "Shout in ten minutes so I don't burn the pie."
    (re.compile(rf"(?i)\b{_KNOW} (?P<time>[^.!?,]+?),? so (?:that )?I (?:don't|won't|do not) "),
     r"remind me \g<time>: don't "),
    # "I'll see you at the mill at noon."
    (re.compile(r"(?i)\bI(?:'ll| will| shall) (?:see|meet) you (?=(?:at|by|near|outside|in|on) (?:the|your|my|our)"
                r" (?!morning|afternoon|evening|night|\w+ hour|road|way))"), "meet me "),
)  # fmt: skip
_MAKE_SURE = re.compile(
    r"(?i)\b(?:make sure|see to it|see|be sure|ensure|take care)(?: that)? (?P<thing>(?:the|my|our|all|every|this)"
    r" [\w' -]+?) (?:is|are|gets?|stays?) (?:always )?(?P<done>\w+)"
)


def plainly_put(line: str) -> str:
    """Return a line in plain English words of today: "tarry here till I return" is "wait here till I return"."""
    if _IS_OLD.search(line):
        line = _OLD_WORD.sub(_now, line)
    for pattern, other in _PUT:
        line = pattern.sub(other, line)
    return " ".join(_MAKE_SURE.sub(_to_do, line).split())


def _now(match: re.Match[str]) -> str:
    word = _OLD[match[0].casefold()]
    return word.capitalize() if match[0][0].isupper() else word


def _to_do(match: re.Match[str]) -> str:
    """Return the chore behind "make sure that the stove is lit"."""
    done = match["done"].casefold()
    verb = _DONE.get(done) or re.sub(r"ied$", "y", done).removesuffix("ed")
    return match[0] if verb == done and done not in _DONE else f"{verb} {match['thing']}"

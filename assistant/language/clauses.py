"""Takes the clause that asks for something out of a line: without names, polite words and the time. English. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mud_assistant.assistant.language.asked import AWAY, Clause
from mud_assistant.assistant.language.times import When, find_when

_CALLED = r"(?:(?:hey|hi|hello|oi|yo|psst|dear|good (?:morning|evening|day)|listen|excuse me|sorry)[,!]? )*"
_NO_NAME = (
    r"(?!(?:I|you|we|they|he|she|it|who|what|to|not|never|always|did|does|do|may|might|must|should|also|just|often"
    r"|then|people"
    r"|men|women|children|folk|some|many|most|all|both|will|would|can|could|of|my|your|his|her|our|their|the|a|an"
    r"|if|when"
    r"|where|why|how|that|this|don't|didn't|won't|can't|wouldn't|shall|usually|sometimes|please|and|but|or|so|as|than"
    r"|remind|tell|let|come|be|meet|wait|stay|give|wake|go|get|at|in|on|by|every|each|no|yes|only|ever|\w+s)\b)"
)
_POLITE = (
    r"please|kindly|now|then|well|oh|ok|okay|alright|all right|and|so|but|just|also|maybe|perhaps|yes|again|do"
    r"|right|great|thanks"
    r"|thank you|fine|good|um|uh|er|anyway|actually|by the way|(?:could|can|would|will|might|won't|can't"
    r"|couldn't) (?:you|u)(?! be (?:there|here|at))"
    r"(?: (?:please|maybe|possibly|perhaps|just|kindly|also|then|perchance))*|(?:if|when) (?:you|it)(?:'re| are"
    r"| can| could| would| please| don't| do not| have"
    r"| isn't| is not)[^,]{0,30},|(?:do you think|I wonder if|I was hoping|I hope|I'd be grateful if"
    r"|I'd appreciate it if|it'd be (?:great|nice|good|lovely) if|it would be (?:great|nice|good|lovely|kind) if"
    r"|I would be (?:grateful|obliged|glad) if|I would appreciate it if|any chance"
    r"|is there any chance) you (?:could|would|can|might)"
    r"|be (?:a dear|a darling|an angel|so kind|so good|sure|a good \w+|a friend|a pal)(?: (?:and|as to|to))?"
    r"|(?:would|could) you be (?:so|a)(?: very)? (?:kind|good|dear)(?: (?:and|as to|to))?"
    r"|(?:would|do) you mind|I (?:want|need|beg|ask|order|command|beseech) (?:of )?you(?: to)?|I(?:'d"
    r"| would) (?:like|love|prefer) (?:for )?you to"
    r"|do (?:me|us) (?:a|the|this|one|an?other)?(?: \w+)? ?favou?r(?: and|[,:])?|don't forget(?: to)?"
    r"|remember(?: to)?|make sure(?: (?:to|you|that you))?|see that you"
    r"|try to|promise(?: me)?(?: (?:to|you'll|that you'll|that you will|you will))?|might you|(?:may|can|could"
    r"|might) I (?:please )?(?:ask|trouble|get|bother|have) you to"
    r"|(?:is it|would it be) (?:possible|too much(?: trouble)?|okay|ok|all right)(?: for you| if I asked you"
    r"| to ask you)? to|you (?:could|can|must|have to|may|need to)|I have a favou?r to ask[,:;]?"
    r"|I need a favou?r[,:;]?|one (?:more )?thing[,:]?|a (?:small )?favou?r[,:]?|come and|go and|why don't you"
    r"|how about(?: you)?|what about|get ready to|hey"
)
_LEAD = re.compile(
    rf"(?i)(?:{_CALLED})?(?:{_NO_NAME}[\w'-]+(?: (?-i:[A-Z])\w+)?(?:[,:!;-] ?|\.\.\. ?| (?={_POLITE}|remind|tell"
    rf"|let me|wake|come|meet)))?(?:(?:{_POLITE})\b[\s,:;!.]*)*"
)
_TAIL = re.compile(
    r"(?i)(?:[\s,]*\b(?:please|ok|okay|alright|all right|will you|would you|could you|can you|won't you|thanks"
    r"|thank you|thx|cheers"
    r"|if you (?:can|could|would|will|please|don't mind|like|may|wish|get a chance|be so kind)|if it(?:'s"
    r"| is) no trouble|for me(?=[\s,.!?]*$)|my (?:friend|dear|good \w+)|dear|friend"
    r"|sir|madam|good \w+|old \w+|(?:and )?don't (?:forget|be late)|right|yes|lol|thanks a lot|much appreciated"
    r"|be a dear)|,\s+(?-i:[A-Z])[\w'-]+|[\s.,!?;:-])+$"
)
_STEMS = {
    "wak": "wake",
    "com": "come",
    "stok": "stoke",
    "giv": "give",
    "lett": "let",
    "gett": "get",
    "tak": "take",
    "mak": "make",
}
_FOR = re.compile(
    r"(?i)\bfor (?=(?:about |around |another |just )?(?:an?|half|a few|a couple|\d+|[a-z]+) (?:seconds?|minutes?"
    r"|mins?|hours?|days?)\b)"
)


def clauses_of(text: str) -> Iterator[Clause]:
    """Yield the clause that a text begins with, without each of the times that it names."""
    core = _plain(text)
    at = 0
    while (found := find_when(core[at:])) is not None:
        begin, end, when = found[0] + at, found[1] + at, found[2]
        head, rest = core[:begin].rstrip(" ,"), core[end:].lstrip(" ,;:")
        yield Clause(_TAIL.sub("", _plain(f"{head} {rest}" if head else rest)), when, core[begin:end], _is_apart(head))
        at = end
    if away := AWAY.search(core):
        whole = AWAY.sub("", core, count=1).strip(" ,")
        yield Clause(_TAIL.sub("", _plain(whole)), When(person=""), away[0].strip(" ,"))
    if (span := _FOR.search(core)) and (found := find_when(f"in {core[span.end() :]}")):
        rest = core[span.end() + found[1] - 3 :]
        yield Clause(_TAIL.sub("", f"{core[: span.start()].rstrip()}{rest}"), found[2], "for")


def _is_apart(head: str) -> bool:
    return re.fullmatch(r"(?i)|(?:tell|inform|warn|remind|ask|let|say to) \S+(?: \S+)?(?: know)?", head) is not None


def _plain(text: str) -> str:
    """Return a clause from its verb on: without a call, polite words and "-ing"."""
    core = _LEAD.sub("", text.strip(" ,.!?"), count=1) if _LEAD.match(text) else text
    ing = re.match(r"(?i)([a-z]+)ing\b", core)
    if ing is None or core == text:
        return core.strip(" ,")
    return f"{_STEMS.get(ing[1].casefold(), ing[1])}{core[ing.end() :]}"

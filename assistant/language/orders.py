"""Tells which deeds a line may ask for, by kind: what a model chooses from. Pure.

A kind is offered only when what it needs is there: a thing or a way that the line names, somebody to follow. A line
that plainly tells or asks something, or that only uses a saying, is offered none.
"""

from __future__ import annotations

import re

from mud_assistant.assistant.language.acts import ANY_GESTURE, COMMANDS, Deed, deeds_in
from mud_assistant.assistant.language.attend import View
from mud_assistant.assistant.language.languages import COMMON_ENGLISH, is_foreign
from mud_assistant.assistant.language.things import DENIES, known_words
from mud_assistant.assistant.language.words import names_in, sentences_of, words_of

#: Kinds that need the name of a thing or a way, which a line in another language has in other words.
OF_THINGS = frozenset({"go", "give", "take", "drop", "look", "read", *COMMANDS})
#: A line of more words than this that names nothing here is talk: an order without a name is short.
_SHORT_LINE = 9
_DOING = r"(?:take|give|hand|pass|open|close|shut|read|light|pour|fill|put|place|drop|pick up|fetch|bring|unlock)"
#: How a sentence begins that plainly asks for no deed: a question, what somebody is or did, a greeting, a set phrase.
_TALK = re.compile(
    r"(?i)^\W*(?:(?:who|whose|where|when|which|how(?! about))\b|what\b(?!\s+about)|why (?!don't|not)\w+"
    r"|(?:did|does|are|is|was|were|has|have(?! an?\b)|had) \w+"
    r"|do (?:you(?! mind)|they|we|I|your|the|people|any\w*)\b"
    r"|(?:he|she|it|they|there|this(?! way)|these|my|our|his|her|their|your|here)(?:'s|'re)?\b(?!,)"
    r"|(?:if|when|whenever|unless|nobody|somebody|everybody)\b|that(?:'s| is| was)\b"
    r"|(?:tell|explain|describe|teach)\b"
    r"|hello|hi\b|good (?:morning|day|evening|night)|thank|thanks|welcome|bless|yes\b|no\b(?!t)"
    r"|(?:I|we)\b(?!(?:'d| would) (?:like|love|prefer)| could do| (?:need|want|beg|ask|order))"
    r"|(?:shall|should|must) I\b|may (?:the|you|your)\b|(?:will|would|can|could) (?!you\b|I\b|we\b|please)\w+"
    r"|(?:could|can|may|might) (?:I|we) (?!please|have|borrow|get|take|hold|see|look|trouble|ask)"
    r"|let me (?!see|have|hold|borrow|look|lead)|you (?:never|always|took|gave|went|said|are|were|have(?! to))\b"
    r"|the (?:\w+ )+?(?:is|was|has|tells?|says?|looks?)\b|(?!please\b)\w+ (?:took|gave|went|came|said|told|dropped|left"
    r"|brought|saw|made|was|were|\w{3,}[^e]ed)\b|look(?: here)?,|(?:wait|hold on)(?: till| until|,)"
    r"|(?:come (?:off|again|to think|what)|go (?:on|figure|ahead|easy)|give or take|get (?:well|lost|over|to the)"
    r"|(?:stay|keep) (?:well|safe|calm|cool|out of|away|it up)|give it (?:time|up|a)"
    r"|take (?:it (?:from|easy)|heart|care)|keep an eye)\b"
    r"|(?:ich|wir|er|sie|es|mein\w*|wer|was|wo(?:hin|her)?|wie(?:so|viel)?|wann|warum|welche\w*|je|j'|il|elle|mon|ma|mes"
    r"|où|qui|que|quoi|quand|comment|pourquoi|yo|él|ella|mis?|ayer|qué|quién|dónde|de dónde|cómo|cuándo|cuánto)\b)"
    r"|\byou (?:should|ought to) (?:see|hear|know|try)\b|\b(?:yesterday|last (?:night|week|year)|years? ago|one day"
    r"|lately|used to|sell|buy)\b|\b(?:I|he|she|they) (?:say|said|told)\b|\bnow (?:there|that)(?:'s| is)\b"
    r"|\band (?:I|you|we|he|she|it|they|nobody)(?:'d|'ll| would| will)\b"
)
#: "Hold your tongue", "take my word": asked of something that is no thing here.
_FIGURE = re.compile(
    r"(?i)^\W*(?:hold|follow|keep|mind|watch|take|trust|save|stand by|read|open|change|use|give) (?:your|my|the) "
    r"(?!hand|seat)(\w+)"
)
#: An order not to do something is obeyed by doing nothing, unless it is about walking.
_LEFT_ALONE = re.compile(
    r"(?i)^\W*(?:please )?(?:don't|do not|never)\b(?! (?:you )?(?:move|go|come|follow|leave|stir|walk|budge"
    r"|run)\b)[^,;]*$"
)
#: Words without one of which an English line wants nobody to follow or to stay.
_SAID_BY = {
    "follow": r"com(?:e|ing)|follow|join|along|behind|after|with me|beside|tag|heels?|close|stick|accompany|this way",
    "stay": r"stay|stop|wait|halt|still|move|stir|freeze|budge|step|rest|remain|put|f[ua]rther|hold it|don't go",
}
_CLAIMS = re.compile(
    rf"(?i)\bI(?: now| just| will| shall|'ll)? (?:{_DOING}|opened|closed|poured|lit|unlocked|handed)\b"
    r"|\bI(?:'ve| have|'m| am)(?: now| just| already)* (?:taken|given|read|put|shut|lit|fetched|brought|(?:tak|giv|putt"
    r"|light|bring|fetch|open|clos|pour|fill|plac|hand|pass|drop|unlock)(?:ing|ed))\b"
    r"|\bhere(?:'s| is| are) (?:the|your)\b|\b(?:here|there) you (?:are|go)\b"
)
_QUOTED = re.compile(r"(?:^|[\s:(])['\"\u2018\u201c](.+)['\"\u2019\u201d](?!\w)", re.DOTALL)
_ORDERS = re.compile(
    rf"(?i)(?:^|[,.!?;]\s*|\b(?:please|you|and|to|let me|may I|can I)\s+){_DOING}\b|\bplease\b"
    r"|\bI(?:'d| would) (?:like|love)\b|\bI(?:'ll| will)? (?:have|take|want|need)\b"
)


def is_talk(line: str, view: View) -> bool:
    """Tell whether every sentence of a line plainly tells or asks something, so that no model need be asked."""
    return all(_tells(sentence, view) for sentence in sentences_of(line.replace("\u2019", "'")))


def _tells(sentence: str, view: View) -> bool:
    figure = _FIGURE.search(sentence)
    is_saying = figure is not None and not names_in(figure[1], (*view.things, *view.carried))
    return is_saying or any(talk.search(sentence) for talk in (_TALK, _LEFT_ALONE))


def possible_deeds(line: str, who: str, view: View, it: str = "") -> dict[str, Deed]:
    """Return the deeds that a line may ask for, by kind; none for plain talk. `it` is what was spoken of before."""
    if is_talk(line, view):
        return {}
    deeds: dict[str, Deed] = {}
    for sentence in sentences_of(line):  # "I have no camel. Will you take me along?" asks for no camel
        deeds |= _possible_in(sentence, who, view, it)
        it = (names_in(sentence, (*view.things, *view.carried)) or [it])[-1]
    return deeds


def _possible_in(line: str, who: str, view: View, it: str) -> dict[str, Deed]:
    things = names_in(line, (*view.things, *view.carried))
    if not things and it and re.search(r"\b(?:it|them|that one|this one)\b", line, re.IGNORECASE):
        things = [it]
    deeds = deeds_in(line, who, view, things)
    if not is_foreign(line):
        lacking = {kind for kind, words in _SAID_BY.items() if not re.search(rf"(?i)\b(?:{words})\b", line)}
        lacking |= {"act"} if deeds["act"] is ANY_GESTURE else set()
        deeds = {kind: deed for kind, deed in deeds.items() if kind not in lacking}
    return {} if len(words_of(line)) > _SHORT_LINE and not (things or "go" in deeds) else deeds


def is_bare_order(line: str, view: View) -> bool:
    """Tell whether a line has no word but plain ones of orders and the names of what is here."""
    known = known_words(view.name, *view.things, *view.carried, *view.people, *map(" ".join, view.ways))
    return known_words(line) <= known | COMMON_ENGLISH and not is_talk(line, view)


def claims_deed(sentence: str, line: str) -> bool:
    """Tell whether a sentence claims a deed that `line` asks for: "I open the chest.", "Here is your beer."."""
    straight = sentence.replace("\u2019", "'")
    return bool(_ORDERS.search(line) and _CLAIMS.search(straight) and not DENIES.search(straight))


def written_in(description: str) -> str:
    """Return what is written on a thing: what its description quotes, else the description."""
    found = _QUOTED.search(description)
    return found[1] if found else description

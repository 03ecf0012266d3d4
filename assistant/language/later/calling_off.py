"""Finds that a player takes back what they asked for: "forget about the hens", "you need not wait any longer". Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from mud_assistant.assistant.events.goal import Goal, GoalKind
from mud_assistant.assistant.language.languages import write_out
from mud_assistant.assistant.language.words import content_words, is_question, sentences_of

#: For how long "never mind" alone means what was promised last, in seconds.
JUST_NOW = 120.0
_REMIND, _TELL, _COME, _WAIT, _CHORE = (
    GoalKind.REMIND, GoalKind.TELL, GoalKind.COME, GoalKind.WAIT, GoalKind.CHORE,
)  # fmt: skip
#: How each kind of promise is called, as a deed or as a thing.
_KINDS = (
    (re.compile(r"(?i)\b(?:remind(?:ing)? (?:me|us)|remind\w*|wak(?:e|ing) (?:me|us)(?: up)?|wake-?up call|alarm"
                r"|timer)\b"),
     frozenset({_REMIND})),
    (re.compile(r"(?i)\b(?:(?:tell|warn|call|ping|notify|alert)(?:ing)? (?:me|us)|let(?:ting)? (?:me|us) know)\b"),
     frozenset({_REMIND, _TELL})),
    (re.compile(r"(?i)\b(?:tell(?:ing)?|ask(?:ing)?|inform(?:ing)?|message|pass(?:ing)? (?:it|that) on|note"
                r"|letting (?=[A-Z]))\b"),
     frozenset({_TELL})),
    (re.compile(r"(?i)\b(?:com(?:e|ing)(?: back| over)?|meet(?:ing)?(?: (?:me|us))?|return(?:ing)?|visit(?:ing)?"
                r"|appointment)\b"),
     frozenset({_COME})),
    (re.compile(r"(?i)\b(?:wait(?:ing)?|stay(?:ing)?|stand(?:ing)?|remain(?:ing)?)\b"), frozenset({_WAIT})),
    (re.compile(r"(?i)\b(?:guard|watch|mind|look(?:ing)? after|keep(?:ing)? an eye on)(?:ing)?\b"),
     frozenset({_WAIT, _CHORE})),
    (re.compile(r"(?i)\b(?:chore|errand)\b"), frozenset({_CHORE})),
)  # fmt: skip
_NO_NEED = (
    r"(?:you )?(?:need not|needn't|(?:don't|do not) (?:need|have) to|(?:need|have) (?:to )?no longer|no longer (?:need"
    r"|have) to|can stop|may stop|should stop|are free to stop)|(?:there(?:'s| is) )?no (?:more )?need (?:to|for)"
    r"|(?:please )?stop|(?:don't|do not)(?: bother(?: to)?)?(?! (?:forget|stop|fail|you|worry|mind)\b)|quit"
)
_LET_BE = (
    r"(?:you (?:can|could|may|might|should)(?: as well| just)? |please )?"
    r"(?:never ?mind|nvm|forget|cancel|call off|scratch|drop|skip|strike|abort|undo|ignore"
    r"|disregard)(?: (?:about|it about|that about|what I (?:said|asked|told you) (?:about|of)))?|I(?:'ve"
    r"| have)? changed my mind about|I (?:don't|do not|no longer) (?:need|want)(?: you to)?|I release you from|(?:take"
    r"|strike) (?P<list>.+) off your list"
)
_OFF = re.compile(
    rf"(?i)(?:^|[.!;,:-] ?|\b(?:please|and|so|but|then|oh|well|actually|ah|sorry) )(?:{_NO_NEED}"
    rf"|{_LET_BE}) (?P<what>\w.*)"
)
_NOT_NEEDED = re.compile(
    r"(?i)(?:^|[.!;,:-] ?)(?P<what>(?:the|my|that|your) [\w' -]+?)(?: (?:is|are) (?:no longer|not)(?: \w+)? (?:needed"
    r"|necessary)| (?:is|are) (?:off|cancelled|canceled))\b"
)
_BARE = re.compile(
    r"(?i)(?:(?:oh|ah|well|no|wait|sorry|actually|on second thou?ghts?|please|you can|you may)[,.!]? )*"
    r"(?:never ?mind(?: (?:it|that|me))?|nvm|(?:forget|cancel|scratch|drop|skip|leave|ignore|disregard)(?: about)?"
    r" (?:it|that|this)|(?:don't|do not) bother|no need(?: for (?:it|that))?|I(?:'ve| have)? changed my mind|I take"
    r" (?:it|that) back)(?: (?:any ?more|then|now|after all|please|thanks|thank you))*(?:, (?-i:[A-Z])\w+)?\W*"
)
_ALL = re.compile(
    r"(?i)\b(?:everything|both(?: of (?:it|them))?|all of (?:it|them|that)|all (?:your|the) promises|(?:any"
    r"|none) of (?:it|them)|all (?:that )?(?:I|you) (?:asked|promised))\b"
)
_ANY_PROMISE = re.compile(r"(?i)\b(?:promises?|what (?:you promised|I asked(?: (?:of|for|you)\b)?)|your word|oath)\b")
_FILLING = re.compile(
    r"(?i)\b(?:any ?more|any longer|any|longer|after all|from now on|now|then|please|thanks?|about|need|want|promises?"
    r"|promised|keep|asked|said|every|each|all|both|bother|when|until|back|going|more|me|us|just)\b"
)


class CalledOff(Struct, frozen=True):
    """What a line takes back. `kinds` is empty for any, `words` are those by which the promise is known.

    `is_last` is whether it means what was promised just now, `is_all` whether all that was promised is meant.
    """

    kinds: frozenset[GoalKind] = frozenset()
    words: frozenset[str] = frozenset()
    is_all: bool = False
    is_last: bool = False
    is_promise: bool = False


def called_off_in(line: str) -> CalledOff | None:
    """Return what a player's line takes back of what they asked for, None for nothing."""
    for sentence in sentences_of(write_out(line).replace("\u2019", "'")):
        if is_question(sentence):
            continue
        bare = re.sub(r"^[\w'-]+, (?=\w)", "", sentence)
        if _BARE.fullmatch(sentence) or _BARE.fullmatch(bare):
            return CalledOff(is_last=True)
        found = _OFF.search(sentence) or _NOT_NEEDED.search(sentence)
        if found is not None and (off := _called_off(found["what"])) is not None:
            return off
    return None


def _called_off(what: str) -> CalledOff | None:
    kinds = next((kinds for pattern, kinds in _KINDS if pattern.search(what)), frozenset[GoalKind]())
    rest = what
    for pattern, _ in _KINDS:
        rest = pattern.sub(" ", rest)
    words = frozenset(content_words(_FILLING.sub(" ", rest)))
    is_all, is_promise = _ALL.search(what) is not None, _ANY_PROMISE.search(what) is not None
    if not (kinds or words or is_all or is_promise):
        return None
    return CalledOff(kinds, words, is_all, is_promise=is_promise)


def called_off(off: CalledOff, goals: Sequence[Goal], now: float) -> Sequence[Goal]:
    """Return which of the open goals of who says it are meant, the oldest first; `now` is in clock seconds."""
    if off.is_last:
        last = max(goals, key=lambda goal: goal.made_at, default=None)
        return [] if last is None or now - last.made_at > JUST_NOW else [last]
    fitting = [goal for goal in goals if not off.kinds or goal.kind in off.kinds]
    if off.is_all:
        return fitting
    if not off.words:
        return fitting if off.kinds or off.is_promise else []
    likeness = {one.id: len(off.words & content_words(f"{one.text} {one.what} {one.whom_name}")) for one in fitting}
    most = max(likeness.values(), default=0)
    return [goal for goal in fitting if most and likeness[goal.id] == most]

"""Tells what is asked for later and no goal can keep: at an event that nobody watches, or a deed of no kind. Pure."""

from __future__ import annotations

import re

from mud_assistant.assistant.language.later.clauses import request_of, wishes_of
from mud_assistant.assistant.language.later.wishes import AWAY
from mud_assistant.assistant.language.times import find_when

_CALLS = (
    r"(?:remind|wake|rouse|warn|alert|notify|ping|nudge|poke|buzz|fetch) (?:me|us)|let (?:me|us) know|give (?:me"
    r"|us) a (?:shout|nod|sign|call|holler|nudge|poke|heads[ -]?up|reminder)|(?:shout|holler|yell)|call (?:me|us)"
    r"|tell (?:me|us)(?= (?:once|as soon as|the (?:moment|minute|instant)))|(?:tell|ask|warn|remind) (?-i:[A-Z])\w+"
)
_STAYS = (
    r"wait|stay|remain|stand guard|keep watch|come back|come here|return|meet (?:me|us)|(?:don't|do not) (?:go|leave"
    r"|move)"
)
#: What happens, and is neither a time nor somebody's coming: "when the bell rings", "until the rain stops".
_EVENT = (
    r"(?:when(?:ever)?|once|as soon as|until|till|'?til|before|after|if|the (?:moment|minute|instant)) (?!(?:you|I|we"
    r"|not|so|then)\b)"
)
_SUBJECT = r"(?:(?:the|my|your|our|his|her|their|this|that|it|there|he|she|they|some\w+|any\w+)\b|(?-i:[A-Z])\w+\b)"
_AT_EVENT = re.compile(
    rf"(?i)(?:(?:{_CALLS})\b.*?|(?:{_STAYS})\b.*?) {_EVENT}{_SUBJECT} \w+|{_EVENT}{_SUBJECT} \w[^,.!?]*, ?(?:please "
    rf"|then |so )*(?:{_CALLS}|{_STAYS})\b"
)
#: Deeds that one may ask for later, and that a character cannot be made to do then.
_DEED = re.compile(
    r"(?i)(?:bring|fetch|give|make|cook|bake|brew|sing|play|dance|fight|kill|slay|find|buy|sell|send|write|teach|help"
    r"|open|close|shut|lock|unlock|bolt|bar|build|mend|repair|fix|forge|carry|lend|pay|guide|lead|show|save|prepare"
    r"|pack|put|take (?:me|us|him|her|them|my|the|this)|sharpen|deliver|collect|pick up|gather|hide|steal|attack|cut"
    r"|move|clear|serve|pour|read|cast|enchant|heal|row|ferry|sail|saddle|introduce)\b(?! (?:up|it a rest)\b)"
)


def asks_too_much(line: str) -> bool:
    """Tell whether a player's line plainly asks for something later that no goal can keep.

    It is to be asked only of a line in which `requests_in` finds nothing.
    """
    return any(map(_is_beyond, wishes_of(line)))


def _is_beyond(wish: str) -> bool:
    found = find_when(wish)
    if _AT_EVENT.match(wish) is not None:
        return found is None and AWAY.search(wish) is None
    if found is None:
        return False
    begin, end, _ = found
    return _DEED.match(request_of(wish[end:]) if not wish[:begin].strip(" ,") else wish) is not None

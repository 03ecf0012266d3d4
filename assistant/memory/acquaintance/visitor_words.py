"""Says who somebody is to the character: since when it knows them, and what they told that a line asks for. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from mud_assistant.assistant.journal.tables.acquaintances import KnownFact
from mud_assistant.assistant.language.words import is_question
from mud_assistant.assistant.memory.acquaintance.asked_parts import (
    asks_all,
    asks_of_me,
    asks_of_people,
    asks_when,
    asks_whether_known,
    parts_asked,
)
from mud_assistant.assistant.memory.acquaintance.known_people import MAX_NAME, Acquaintance, FoundPeople
from mud_assistant.assistant.memory.acquaintance.spoken_answers import (
    KnownAnswer,
    answer_about_asker,
    answer_about_other,
)
from mud_assistant.assistant.memory.recall.words import collect_stems
from mud_assistant.tools.memories import FactPart, Memory, describe_age
from mud_assistant.tools.text.clean import clean_heard, one_line
from mud_assistant.tools.trust import Audience, may_hear

#: The most characters that tell of a visitor: some 60 tokens; of what a line asks for; and where it asks for all.
USUAL_CHARS, ASKED_CHARS, ALL_CHARS = 260, 360, 700
#: An open matter is of use for so long after it was over, in seconds.
DAY_SECONDS = 86_400.0
OPEN_SECONDS = 21 * DAY_SECONDS
MAX_QUOTED = 240
#: The first is shown first where a line asks for nothing.
_ORDER = (
    *(FactPart.HOME, FactPart.WORK, FactPart.KIN, FactPart.OPEN, FactPart.LOST, FactPart.PROMISE, FactPart.FEAR),
    *(FactPart.LIKING, FactPart.OWN, FactPart.SELF),
)
_MATTERS = {FactPart.OPEN, FactPart.LOST}
#: What a word in common with the line counts, beside the right part.
_SHARED, _RIGHT_PART = 3, 2


class VisitorNotes(Struct, frozen=True):
    """What is told of who asks as long as they stay, and beside their line what it asks for, each as a sentence.

    `met` tells how those whom the line names were met, and what is to be asked; `beside` is what people told.
    `memories` are those that all this repeats, `wanted` those that the line asks for. `due` is a matter of the asker's
    to be asked about. `answer` is what can be said to the line without a model, None for nothing.
    """

    visitor: str = ""
    met: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    memories: tuple[Memory, ...] = ()
    wanted: tuple[Memory, ...] = ()
    due: KnownFact | None = None
    answer: KnownAnswer | None = None


class Asking(Struct, frozen=True):
    """A line that is answered, and who hears the answer. `now` is in clock seconds.

    `least` is the lowest level of words that are repeated, `own` are the ids of the events that the line came with,
    `names` the words of the character's own names, and `wants_answer` asks for what can be said without a model.
    """

    line: str
    hearers: Audience
    least: int
    now: float
    own: Collection[str] = ()
    names: frozenset[str] = frozenset()
    wants_answer: bool = False


def tell_of(found: FoundPeople, asking: Asking) -> VisitorNotes:
    """Return what the character knows of who asks, and of those whom the line names, as far as the hearers may know."""
    asker, due = found.asker, None
    visitor, met, beside = "", list[str](), list[str]()
    answer: KnownAnswer | None = None
    may_answer = asking.wants_answer and is_question(asking.line)
    shown, wanted = list[KnownFact](), list[KnownFact]()
    named = [(word, one) for word, one in found.named if asker is None or one.who != asker.who]
    if asker is not None:
        visitor, shown = _visitor(asker, asking)
        if not named and asks_of_me(asking.line) and asks_of_people(asking.line):
            wanted = _wanted(asker, asking)
            if may_answer:
                answer = answer_about_asker(asking.line, asker, wanted, asking.now)
        if (due := matter_due(asker, asking.hearers, asking.now, asking.least)) is not None:
            met.append(f'Ask {asker.shown_name} how it went: "{_quoted(due)}"')
            shown = [*shown, due]
    beside += [_sentence(fact, asking) for fact in wanted]
    for word in dict.fromkeys(word for word, _ in named):
        namesakes = [one for each, one in named if each == word]
        if len(namesakes) > 1:
            met.append(f"You have met {len(namesakes)} people called {word.title()}.")
        for number, one in enumerate(namesakes, 1):
            which = f" ({number})" if len(namesakes) > 1 else ""
            told = _wanted(one, asking)
            met.append(_meetings(one, asking.now, which))
            beside += [_sentence(fact, asking, which) for fact in told]
            wanted += told
            if may_answer and len({one.who for _, one in named}) == 1:
                answer = answer_about_other(asking.line, one, told, asking.now)
    memories, asked = (tuple(fact.memory for fact in some) for some in ((*shown, *wanted), wanted))
    return VisitorNotes(visitor, tuple(met), tuple(beside), memories, asked, due, answer)


def _visitor(person: Acquaintance, asking: Asking) -> tuple[str, list[KnownFact]]:
    """Return since when the person is known, and the first of what they told before this visit; nothing of a stranger.

    It is the same while they stay.
    """
    if not (left := person.left_before(asking.now)):
        return "", []
    first, last = describe_age(asking.now - person.first_at), describe_age(asking.now - left)
    parts = [f"You know {person.shown_name}{_former(person)}: first met {first}, last {last}, visit {person.visits}."]
    known = [fact for fact in _known(person, asking.hearers, asking.least) if fact.memory.at <= left]
    shown = _fitting([fact for fact in _in_order(known) if not _is_past(fact, asking.now)], USUAL_CHARS - len(parts[0]))
    if shown:
        parts.append(f"{person.shown_name} told you: " + " ".join(f'"{_quoted(fact)}"' for fact in shown))
    return " ".join(parts), shown


def matter_due(person: Acquaintance, hearers: Audience, now: float, least: int = 0) -> KnownFact | None:
    """Return what was open when the person went, is over by now, and was not asked about since; None for nothing."""
    before = person.left_before(now)
    for fact in _in_order(_known(person, hearers, least)):
        is_old = fact.memory.at <= before and 0 <= fact.asked_at <= before
        is_over = fact.part is FactPart.LOST or fact.due <= now
        if fact.part in _MATTERS and is_old and is_over and now < max(fact.due, fact.memory.at) + OPEN_SECONDS:
            return fact
    return None


def _known(person: Acquaintance, hearers: Audience, least: int) -> list[KnownFact]:
    """Return the facts that may be told, the newest first. A newer one about the same stands for the older."""
    newest: dict[tuple[FactPart, str], KnownFact] = {}
    for fact in person.facts:
        if may_hear(fact.memory.audience, hearers) and fact.memory.authority >= least:
            newest.setdefault((fact.part, fact.key), fact)
    return list(newest.values())


def _wanted(person: Acquaintance, asking: Asking) -> list[KnownFact]:
    """Return the facts of a person that the line asks for, the best first."""
    known = [fact for fact in _known(person, asking.hearers, asking.least) if fact.memory.event not in asking.own]
    parts = parts_asked(asking.line)
    names = " ".join((*asking.names, *(met.name for met in person.meetings)))
    asked = collect_stems(asking.line) - collect_stems(names)

    def worth(fact: KnownFact) -> int:
        shared = len(asked & collect_stems(fact.memory.text))
        return _SHARED * shared + (_RIGHT_PART if fact.part in parts else 0)

    ordered = _in_order(known)
    if asks_all(asking.line) or asks_whether_known(asking.line):
        return _fitting(ordered, ALL_CHARS)
    fitting = [fact for fact in sorted(ordered, key=worth, reverse=True) if worth(fact)]
    if not fitting or not parts.isdisjoint({fact.part for fact in fitting}):
        return _fitting(fitting or ordered, ASKED_CHARS if fitting else USUAL_CHARS)
    return _fitting([*fitting, *ordered], ASKED_CHARS)  # what is asked for may be told in words of another kind


def _in_order(facts: Sequence[KnownFact]) -> list[KnownFact]:
    """Return the facts by what they are about, the newer of two first."""
    return sorted(facts, key=lambda fact: _ORDER.index(fact.part))


def _fitting(facts: Sequence[KnownFact], room: int) -> list[KnownFact]:
    """Return those of the facts that fit into so many characters, each sentence once; one of two kinds of the same."""
    kept: dict[str, KnownFact] = {}
    for fact in facts:
        text = _quoted(fact)
        if text not in kept and len(text) + 3 <= room:
            kept[text] = fact
            room -= len(text) + 3
    return list(kept.values())


def _sentence(fact: KnownFact, asking: Asking, which: str = "") -> str:
    """Return what somebody told as a sentence, with its time where that matters."""
    is_dated = fact.part in _MATTERS or asks_when(asking.line)
    age = f" {describe_age(asking.now - fact.memory.at)}" if is_dated else ""
    return f'{one_line(fact.memory.name, max_chars=MAX_NAME)}{which} said{age}: "{_quoted(fact)}"'


def _is_past(fact: KnownFact, now: float) -> bool:
    """Tell whether a matter is over for good, so that only who asks for it is told."""
    over = fact.asked_at < 0 or now > max(fact.due, fact.memory.at) + OPEN_SECONDS
    return fact.part in _MATTERS and over


def _meetings(person: Acquaintance, now: float, which: str) -> str:
    times = "once" if person.visits == 1 else f"{person.visits} times"
    first, last = describe_age(now - person.first_at), describe_age(now - person.last_at)
    return f"You know {person.shown_name}{which}{_former(person)}: met {times}, first {first}, last {last}."


def _former(person: Acquaintance) -> str:
    former = ", ".join(one_line(met.name, max_chars=MAX_NAME) for met in person.meetings[1:])
    return f" (once called {former})" if former else ""


def _quoted(fact: KnownFact) -> str:
    return clean_heard(fact.memory.text, MAX_QUOTED).replace("[", "(").replace("]", ")")


def question_of_matter(fact: KnownFact) -> str:
    """Return the question how an open matter went."""
    how = "Has it turned up?" if fact.part is FactPart.LOST else "How did it go?"
    return f'You told me: "{_quoted(fact)}" {how}'

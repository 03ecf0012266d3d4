"""Finds what the character remembers of what it is asked, before the model is asked: small models never look it up.

What is found stands before the new lines, as data with its origin. It carries the labels of what it is made of, so a
remembered wish can do no more than who wished it could.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from msgspec.structs import replace
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from mud_assistant.assistant.characters.character import MAX_AFTER
from mud_assistant.assistant.characters.macros import insert_names
from mud_assistant.assistant.journal import JournalError
from mud_assistant.assistant.journal.tables.memories import SHOWN
from mud_assistant.assistant.language.words import content_words, words_of
from mud_assistant.assistant.loop.run import Recollection, Run, RunContext
from mud_assistant.assistant.loop.visitors import defuse, meet, note_told, own_words
from mud_assistant.assistant.memory.acquaintance.asked_parts import asks_own_words
from mud_assistant.assistant.memory.acquaintance.told_questions import only_asks
from mud_assistant.assistant.memory.recall.index import RecallIndexError
from mud_assistant.assistant.memory.recall.words import collect_stems
from mud_assistant.assistant.memory.remembering import spoken_part
from mud_assistant.assistant.memory.stream.history import History
from mud_assistant.assistant.memory.topics.next_saying import key_of
from mud_assistant.llm import Role, user
from mud_assistant.resilience.background import Full
from mud_assistant.tools.memories import MAX_TEXT, RECALLED, Memory, MemoryKind, Recalled, describe_memory
from mud_assistant.tools.text.clean import clean_heard, one_line
from mud_assistant.tools.trust import TOP, Label, Principal, Source, may_hear
from mud_assistant.tools.verbs.remembering import withheld_text

#: The most tokens of what is recalled, and its largest share of the stream's budget; more where more are to be shown.
MAX_TOKENS, SHARE = 400, 1 / 16
#: The importance of what is recalled in the stream: less than spoken words, so it goes first when room is short.
IMPORTANCE = 5
#: The importance of lore that a line brings up, and of what is always known.
SPOKEN_OF, BACKGROUND = 10, 5
#: A question for what the character knows of the asker: its words are in no memory.
_OF_ME = re.compile(
    r"\b(?:remember|recall|know|forgotten|forgot)\b(?: \w+){0,3} me\b|\bwho am i\b|\bwho i am\b", re.IGNORECASE
)
#: Words that point at what was spoken of before, and how many others a line may have that only goes on from there.
_POINTING_TEXT = """
    he she it they him her his hers its them their theirs that this those these there one ones so else other others
    and did does
"""
_POINTING = frozenset(_POINTING_TEXT.split())
_FEW = 2
#: The longest profile that is shown, in characters: some 60 tokens.
PROFILE_CHARS = 260
#: The first lines of the entries in the stream that hold what was recalled and what the character knows of the world,
#: and the last line of both.
BEGIN, KNOWN, END = "[You remember:", "[You know of this:", "]"
#: Stands before lore that is known to the character alone, and before what its owner wrote for it to say.
FOR_IT_ALONE, OWN_STORY = "(for you alone; never tell it, nor say that you know it) ", "in your own voice you say"
#: How many topics are shown at once, and the most characters of each.
MAX_STORIES, MAX_STORY_CHARS = 2, 1500

_log = Logger()


async def recollect(context: RunContext, run: Run, scene: str) -> None:
    """Search memory and lore for what woke the run, for those who hear the answer, and append what fits to the stream.

    What the stream already shows is left out, and so is what is answered now. A memory that cannot be searched is as
    good as none: it is logged.
    """
    trigger = run.trigger
    if trigger is None or run.by_rule is not None or run.granted is not None:
        return
    asker, line, is_plain = trigger.event.who, " ".join(run.asked_texts), context.is_asked_plainly
    found = await _recall(context, run, asker.id, line, is_plain=is_plain)
    told = await meet(context, run, asker, line, is_plain=is_plain)
    context.speech.talk.begin_turn(asker.id, line, run.hearers)
    own = {heard.event.id for heard in run.events}  # they were remembered when they were heard
    usable = [memory for memory in _all(found) if _is_useful(memory, asker) and memory.event not in own]
    most, lore = context.memory.shown, known_lore(context, run.texts, scene)
    if context.memory.known.has_topics:
        lore += await _own_stories(context, run)
    if is_plain:  # the model is shown it beside the line, not in the stream
        run.recalled = Recollection(tuple(usable[:most]), tuple(lore))
        note_told(context, run, told, line, usable)
        _note(run)
        return
    if told.wanted:
        most += len(told.wanted)
        usable = list({memory.id: memory for memory in (*told.wanted, *usable)}.values())
    known = _find_shown(context.memory.history, run, (*usable, *lore))
    new, lore = ([memory for memory in one if memory.id not in known] for one in (usable, lore))
    run.recalled = Recollection(tuple(new[:most]), tuple(lore), told.visitor, told.met, told=told.memories)
    _append(context, run, found)


async def _recall(context: RunContext, run: Run, asker: str, line: str, *, is_plain: bool) -> Recalled:
    """Return what the character remembers of the words that woke the run, nothing where there were none."""
    query = _query(context, run, asker, line)
    if not query:
        return Recalled()
    most = context.memory.shown + len(run.events)  # what is answered now is found as well, and left out
    try:
        if _OF_ME.search(query):
            return _best_known(await context.memory.memories.about(asker), run, most)
        if is_plain and asks_own_words(line):
            return _said_by(asker, await context.memory.memories.about(asker), run, line, most)
        return await context.memory.memories.recall(query, hearers=run.hearers, asker=asker, limit=most)
    except CancelledError:
        raise
    except (JournalError, RecallIndexError, Full) as failed:
        _log.warn("{name} cannot search its memory: {why}", name=context.body.me.name, why=str(failed))
        return Recalled()


def _best_known(known: Sequence[Memory], run: Run, most: int) -> Recalled:
    """Return the `most` important of what came from the asker or is about them and may be told here, newest first."""
    valid = [memory for memory in known if not memory.superseded_by]
    told = [memory for memory in valid if may_hear(memory.audience, run.hearers)]
    best = sorted(told, key=lambda memory: -memory.importance)[:most]
    return Recalled(tuple(best), withheld=len(valid) - len(told))


def _said_by(asker: str, known: Sequence[Memory], run: Run, line: str, most: int) -> Recalled:
    """Return what the asker said and may be told here: what the line asks for first, and the newest."""
    asked = collect_stems(line)
    said = [one for one in known if one.who == asker and one.kind is MemoryKind.HEARD]
    told = [one for one in said if may_hear(one.audience, run.hearers) and not only_asks(spoken_part(one.text))]
    best = sorted(told, key=lambda one: (-len(asked & collect_stems(one.text)), -one.at))
    return Recalled(tuple(best[:most]))


def _query(context: RunContext, run: Run, asker: str, asked: str) -> str:
    """Return the words that woke the run, without the character's own names: most lines have those.

    What only goes on from the turn before, as "What is her name?" does, is searched for with the words of that turn.
    """
    own = own_words(context)
    if _goes_on(asked, own):
        asked = f"{asked} {context.speech.talk.turn_before(asker, run.hearers)}"
    parts = asked.split()
    if own.isdisjoint(words_of(asked)):
        return " ".join(parts)
    return " ".join(part for part in parts if not (words := words_of(part)) or not own.issuperset(words))


def _goes_on(asked: str, own: Collection[str]) -> bool:
    """Tell whether a line says too little by itself of what it is about."""
    words = set(words_of(asked)) - set(own)
    about = content_words(asked) - _POINTING - set(own)
    return bool(words) and len(about) <= (_FEW if words & _POINTING else 0)


def known_lore(context: RunContext, lines: Sequence[str], scene: str = "") -> list[Memory]:
    """Return what the character knows of the world that these lines bring up, as memories that everybody may hear.

    What is known to the character alone is marked as such. A small model would read it out: it is not shown it.
    """
    if context.memory.known.told is None:  # it knows nothing
        return []
    spoken = _own_lines(context.memory.history) if context.memory.known.lore.waits_for_lines else MAX_AFTER
    found = context.memory.known.lore.activate(lines, scene=scene, spoken=spoken)
    return [
        Memory(
            f"lore:{entry.id}",
            (FOR_IT_ALONE if entry.private else "") + insert_names(entry.text, char=context.settings.name),
            MemoryKind.LORE,
            0.0,
            importance=BACKGROUND if entry.constant else SPOKEN_OF,
            authority=TOP,
        )
        for entry in found.entries
        if not (entry.private and context.is_asked_plainly)
    ]


async def _own_stories(context: RunContext, run: Run) -> list[Memory]:
    """Return what the owner wrote for the line that woke the run, for a model that tells it in words of its own."""
    known, asker = context.memory.known, run.requester
    if context.is_asked_plainly or asker is None:
        return []
    mine = {word for name in (context.settings.name, *context.settings.aliases) for word in words_of(name)}
    found = await known.topics.find(" ".join(run.asked_texts), mine=mine)
    stories = []
    for topic in found.likely[:MAX_STORIES]:
        said = " / ".join(" ".join(text.split()) for text in topic.says)
        if topic.answers:
            said = f"{said} (the answer, until it is guessed or given up: {topic.answers[0]})"
        how = "one part after the other" if topic.parts else "another each time"
        how = f" ({how} of those between slashes)" if len(topic.says) > 1 else ""
        text = f"{OWN_STORY} of {topic.title}{how}: {insert_names(said, char=context.settings.name, user=asker.name)}"
        text = one_line(text, max_chars=MAX_STORY_CHARS)
        known_as = f"topic:{key_of(topic)}"
        stories.append(Memory(known_as, text, MemoryKind.LORE, 0.0, importance=SPOKEN_OF, authority=TOP))
    return stories


def _own_lines(history: History) -> int:
    """Return how many of its own turns the character has in its stream."""
    entries = history.entries()
    return sum(any(message.role is Role.ASSISTANT for message in entry.messages) for entry in entries)


def _all(found: Recalled) -> tuple[Memory, ...]:
    if found.profile is None:
        return found.memories
    return replace(found.profile, text=one_line(found.profile.text, max_chars=PROFILE_CHARS)), *found.memories


def _is_useful(memory: Memory, asker: Principal) -> bool:
    """Tell whether a memory is shown unasked: no question of old, and nothing that takes from what the asker may do."""
    if memory.kind is MemoryKind.HEARD and only_asks(spoken_part(memory.text)):
        return False
    return memory.authority >= min(1, asker.permission)


def _find_shown(history: History, run: Run, memories: Sequence[Memory]) -> frozenset[str]:
    """Return the ids of those memories whose words the prompt shows, as they were heard or as they were recalled.

    The words are looked for, not the event alone: a summary keeps the ids of events whose words it does not repeat,
    long talk loses its first lines, and what only others heard is masked.
    """
    lines: dict[str, str] = {}
    if not memories:
        return frozenset()
    for memory in memories:
        text = clean_heard(memory.text, MAX_TEXT)
        gift = memory.kind is MemoryKind.SEEN
        lines[memory.event] = text.replace(" gave you the ", " gives you the ", 1) if gift else spoken_part(text)
        lines[SHOWN + memory.id] = defuse(text)
    lost = history.find_lost(lines, run.hearers)
    return frozenset(memory.id for memory in memories if not lost.issuperset((memory.event, SHOWN + memory.id)))


def _note(run: Run) -> None:
    """Lower the trust of the run to that of what it recalled, whose authors its words may repeat from now on."""
    for memory in (*run.recalled.memories, *run.recalled.told):
        run.trust.read(Label(Source.MEMORY, memory.authority, memory.who, memory.audience))
        run.people |= memory.sources


def _append(context: RunContext, run: Run, found: Recalled) -> None:
    """Append what is known of the world, and what was recalled, with its labels, as much of that as fits.

    How much more only the asker may hear is told as well. A memory too long for what room is left is passed over for
    the next.
    """
    if run.recalled.lore:  # its scanner keeps to a budget of its own
        _show(context.memory.history, KNOWN, [_lore_line(memory) for memory in run.recalled.lore], run.recalled.lore)
    history, now = context.memory.history, context.process.clock.seconds()
    room = int(min(MAX_TOKENS, history.budget * SHARE) * max(1.0, context.memory.shown / RECALLED))
    shown: list[Memory] = []
    lines: list[str] = []
    for memory in run.recalled.memories:
        line = _line(memory, now, _doubt_of(memory, found))
        if history.count((user("\n".join([BEGIN, *lines, line, END])),)) > room:
            continue
        lines.append(line)
        shown.append(memory)
    run.recalled.memories = tuple(shown)
    lines += [defuse(f"- {sentence}") for sentence in run.recalled.beside]
    if found.withheld and run.requester is not None:
        lines.append(f"({withheld_text(found.withheld, run.requester.name)})")
    _note(run)
    if lines:
        _show(context.memory.history, BEGIN, lines, [*shown, *(run.recalled.told if run.recalled.beside else ())])


def _show(history: History, begin: str, lines: Sequence[str], memories: Sequence[Memory]) -> None:
    """Append an entry with these lines, which are made of these memories."""
    labels = [
        Label(Source.MEMORY, memory.authority, who, memory.audience)
        for memory in memories
        for who in (memory.sources or {""})
    ]
    history.perceive(
        [begin, *lines, END],
        [SHOWN + memory.id for memory in memories],
        IMPORTANCE,
        labels=labels or [Label(Source.OPERATOR, TOP)],
    )


def _lore_line(memory: Memory) -> str:
    return defuse(f"- {clean_heard(memory.text, MAX_TEXT)}")


def _doubt_of(memory: Memory, found: Recalled) -> str:
    """Return what stands before a memory that only may fit, or that a newer one corrects."""
    if any(memory.id == older for _, older in found.before):
        return "before that: "
    return "perhaps: " if memory.id in found.unsure else ""


def _line(memory: Memory, now: float, doubt: str = "") -> str:
    return defuse(f"- {doubt}{describe_memory(memory, now)}")

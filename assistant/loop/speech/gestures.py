"""Finds the gestures in what a model says, such as `*slides a bowl over*` and `(smiles)`, and acts them out. Pure.

A gesture stands between two sentences. Stars inside a sentence only stress a word, which stays, without them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.loop.speech.screening import SPEECH
from mud_assistant.llm import ToolCall
from mud_assistant.tools.text.lenient import strip_actor_name

#: A text without these has no gesture.
MARKS = frozenset("*(")
#: Something in stars, or in round brackets. A star with a blank on its inner side is a sum or the mark of a list.
_MARKED = re.compile(
    r"(?<![*\w])(?P<stars>\*{1,3})(?=[^\s*])(?P<acted>[^*\n]{1,300}?)(?<=\S)(?P=stars)(?!\*)"
    r"|\((?P<aside>[^()\n]{2,120})\)"
)
#: A star that opens something and is closed nowhere.
_LONE = re.compile(r"(?:(?<=\s)|\A)\*{1,3}(?=[^\W\d_])(?=[^*]*\Z)")
#: What a gesture may follow, beside another gesture: a whole sentence or line, and what only begins one.
_AFTER_SENTENCE = re.compile("[.!?\u2026\"'\u201d\u00bb\n][ \t]*\\Z")
_AFTER_PAUSE = re.compile("[,;:\u2013\u2014-][ \t]*\\Z")
#: What a gesture may stand before: the end, a new line, or the beginning of a sentence.
_BEFORE_SENTENCE = re.compile("\\Z|\\s*\\n|\\s*[\"'\u201c\u00ab(*]|\\s*(?P<first>\\S)")
_QUOTES = re.compile('["\u201c\u201d\u00ab\u00bb]')
_HE_OR_SHE = re.compile(r"\A(?:he|she)\s+(?=\S)", re.IGNORECASE)
_ADVERBS = re.compile(r"\A(?:(?:\w+ly|then|just|only)\s+)+", re.IGNORECASE)
_FIRST = re.compile(r"\A[^\W\d_]+(?:-[^\W\d_]+)*(?!['\u2019])")
_COMMON_TEXT = """
    blinks bows chuckles coughs frowns gasps giggles grins hums laughs nods pauses shrugs sighs smiles smirks snorts
    sniffs waves winks yawns
"""
#: Gestures of one word, wherever they stand.
_COMMON = frozenset(_COMMON_TEXT.split())
_NO_VERBS_TEXT = """
    always perhaps yes this thus its his hers ours yours theirs us less unless besides sometimes nowadays indoors
    outdoors upstairs downstairs afterwards is was has does nothing something anything everything morning evening king
    ring thing spring during being
"""
#: Words with the ending of a verb of the third person, or of a participle, that are none.
_NO_VERBS = frozenset(_NO_VERBS_TEXT.split())
#: How a gesture begins that is told of something else than the character: it cannot follow its name.
_OF_OTHERS = frozenset({"a", "an", "the", "his", "her", "their", "its", "there", "it", "they", "my", "our", "your"})
#: How words of manner begin: they need a verb.
_MANNERS = frozenset({"with", "in", "as", "without", "under", "through"})
#: The fewest letters of a verb of the third person or a participle.
_LEAST_VERB = 4


class SpokenWords(Struct, frozen=True):
    """What a text says, and what is done before the words and after them; each may be empty."""

    words: str
    before: str = ""
    after: str = ""


def split_gestures(text: str, name: str) -> SpokenWords:
    """Return the words of `name` without their gestures, and the gestures, each as it follows the name.

    Words before the first gesture stay as they are. A text without stars and brackets is its own words.
    """
    if MARKS.isdisjoint(text):
        return SpokenWords(text)
    words, before, after = "", list[str](), list[str]()
    end, follows_gesture = 0, True
    for found in _MARKED.finditer(text):
        words += text[end : found.start()]
        follows_gesture &= not text[end : found.start()].strip()
        end = found.end()
        is_aside = found["acted"] is None
        inner = found["aside"] if is_aside else found["acted"]
        act = _HE_OR_SHE.sub("", strip_actor_name(" ".join(inner.split()), name)).strip(" ,;:")
        if not _is_gesture(act, words, text[end:], is_aside=is_aside, is_first=follows_gesture):
            is_kept = is_aside or text[end : end + 1].isalnum()
            is_sentence = act.startswith("I ") and act[-1].isalnum() and follows_gesture  # "*I pour one* Drink."
            words += found[0] if is_kept else f"{inner}{'.' if is_sentence else ''}"
            follows_gesture = False
            continue
        follows_gesture = True
        if gesture := _as_act(act):
            (after if words.strip() else before).append(gesture)
        blank = "\n" if "\n" in _blanks_round(words, text[end:]) else " "
        words = words.rstrip() + blank
        end += len(text[end:]) - len(text[end:].lstrip())
    words = _LONE.sub("", words + text[end:])
    return SpokenWords(words.strip(), _joined(before), _joined(after))


def act_out(calls: Sequence[ToolCall], name: str, most: int, *, may_emote: Callable[[], bool]) -> tuple[ToolCall, ...]:
    """Return the calls of `name`, each that speaks without the gestures in its words.

    Where the character `may_emote`, the gestures of what is said aloud become emotes, as long as there are no more than
    `most` calls to speak or act; anywhere else they are left out. Words that are all gesture stay where it cannot be
    shown.
    """
    acted: list[ToolCall] = []
    room = most - sum(call.name in SPEECH or call.name == "emote" for call in calls)
    for call in calls:
        text = call.arguments.get(SPEECH.get(call.name, ""), "")
        spoken = SpokenWords("") if call.problem or not isinstance(text, str) else split_gestures(text, name)
        gestures = [spoken.before, spoken.after]
        shows = call.name == "say" and any(gestures) and may_emote()
        if not spoken.words:
            both = " ".join(filter(None, gestures))
            acted.append(replace(call, name="emote", arguments={"text": both}) if shows else call)
            continue
        emotes: list[list[ToolCall]] = [[], []]
        for place, gesture in enumerate(gestures):
            if shows and gesture and room > 0:
                emotes[place] = [ToolCall(f"{call.id}_{place}", "emote", {"text": gesture})]
                room -= 1
        said = call if spoken.words == text else replace(call, arguments={**call.arguments, "text": spoken.words})
        acted += [*emotes[0], said, *emotes[1]]
    return tuple(acted)


def _is_gesture(act: str, words: str, rest: str, *, is_aside: bool, is_first: bool) -> bool:
    """Tell whether what is marked is done and not said, from what it is and where it stands."""
    verb, is_short, is_small = _verb(act), " " not in act, act[:1].islower()
    if _QUOTES.search(act) or len(act) < 2:  # noqa: PLR2004
        return False
    if not is_first and not _AFTER_SENTENCE.search(words):
        is_plain = verb in _COMMON or (bool(verb) and is_small and not is_short)
        return is_plain and _AFTER_PAUSE.search(words) is not None
    if verb in _COMMON:
        return True
    before = _BEFORE_SENTENCE.match(rest)
    if before is None or (before["first"] or "").islower():
        return False
    # A sentence begins with a capital, so what does not is done, in whatever language, unless it stresses one word.
    return bool(verb) or (is_small and not is_aside and not act.startswith("i ") and not (is_short and act.isascii()))


def _verb(act: str) -> str:
    """Return the verb of the third person that tells what is done, or its participle; empty for none."""
    found = _FIRST.match(_ADVERBS.sub("", act))
    word = found[0].casefold() if found else ""
    is_verb = word.endswith("ing") or (word.endswith("s") and not word.endswith(("ss", "us")))
    return word if is_verb and len(word) >= _LEAST_VERB and word not in _NO_VERBS else ""


def _as_act(act: str) -> str:
    """Return a gesture as it follows the character's name; empty for one that cannot."""
    act = act[:1].lower() + act[1:]
    first = act.partition(" ")[0].strip(".,!?")
    if first in _OF_OTHERS:
        return ""
    if _verb(act).endswith("ing"):
        act = f"is {act}"
    elif first in _MANNERS:
        act = f"speaks {act}"
    return act if act[-1] in ".!?\u2026" else f"{act}."


def _blanks_round(words: str, rest: str) -> str:
    return words[len(words.rstrip()) :] + rest[: len(rest) - len(rest.lstrip())]


def _joined(gestures: Sequence[str]) -> str:
    """Return several gestures as one act."""
    return ", then ".join(one.rstrip(".") for one in gestures) + "." if len(gestures) > 1 else "".join(gestures)

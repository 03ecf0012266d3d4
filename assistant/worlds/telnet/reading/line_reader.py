"""Says what one line of the game is, by the forms of a profile. Pure.

Whoever can make the game show a line can make it look like another. So a line is speech only when all of it has the
form, from its first column, in the colour of the form where the game shows colours, and with a name that can be one.
Everything else is context.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mud_assistant.assistant.worlds.telnet.profiles.line_forms import SPEECH, Form, match_any, match_spoken
from mud_assistant.assistant.worlds.telnet.profiles.profile import Profile
from mud_assistant.assistant.worlds.telnet.reading.name_holders import Persons
from mud_assistant.assistant.worlds.telnet.reading.player_names import (
    MAX_NAME,
    bare_name,
    has_article,
    is_nobody,
    loosely,
    may_be_name,
)
from mud_assistant.assistant.worlds.telnet.reading.surroundings import SeenSurroundings
from mud_assistant.tools.text.clean import clean_heard
from mud_assistant.tools.trust import Principal

#: The longest line that is kept, in characters.
MAX_SHOWN = 2_000
#: What an act that only imitates speech has in it: marks of quotation, a colon, brackets, or a verb of speech.
_LIKE_SPEECH = re.compile(
    r"[\"'\u2018-\u201f\u00ab\u00bb:\[\]<>*|`]"
    r"|\b(?:says?|tells?|asks?|whispers?|pages?|shouts?|gossips?|yells?|chats?|exclaims?|replies|announces?)\b",
    re.IGNORECASE,
)
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)|(?<=s)'(?=\s)")


@dataclass(frozen=True, slots=True)
class LineReading:
    """What a line is: its kind as in the profile, who did it (None where nobody is sure), and what its holes hold.

    `kind` is `unknown` for a line that fits nothing, and `imitation` for one that looks like speech and is none.
    """

    kind: str
    text: str
    who: Principal | None = None
    name: str = ""
    words: str = ""
    channel: str = ""
    detail: str = ""


class LineReader:
    """Reads the lines of one game. `me` is the name of the character."""

    def __init__(self, profile: Profile, persons: Persons, around: SeenSurroundings, me: str) -> None:
        self._profile = profile
        self._persons = persons
        self._around = around
        self._me = me
        self._last: tuple[str, tuple[Form, dict[str, str]] | None] = ("", None)
        #: Whether the game shows colours: then a form with a colour needs it.
        self.shows_colours = False

    def read(self, raw: str, colour: str = "") -> LineReading:
        """Return what this line is."""
        shown, bare = clean_heard(raw, MAX_SHOWN), " ".join(raw.split())
        if colour:
            self.shows_colours = True
        # The words of a line may hold what is not seen, and are cleaned below; its frame and the name may not.
        is_plain = raw[:1] not in {" ", "\t"}
        if any(match_any(forms, shown) for forms in self._profile.echo.values()):
            return LineReading("echo", shown)
        if match_any(self._profile.errors, shown):
            return LineReading("refusal", shown)
        found = self._matched(bare)
        if found is None:
            return LineReading("unknown", shown)
        form, holes = found
        if form.kind in {"ignored", "fighting"}:
            return LineReading(form.kind, shown)
        if form.kind == "new_holder":
            return LineReading("new_holder" if is_plain else "unknown", shown, name=holes.get("who", ""))
        frame = bare.replace(holes.get("text", ""), "", 1)
        is_plain = is_plain and (not form.is_speech or clean_heard(frame, MAX_SHOWN) == frame.strip())
        if not is_plain or not self._has_colour(form, colour):
            return LineReading("unknown" if form.kind == "emote" else "imitation", shown)
        return self._attributed(form, holes, shown)

    def is_speech(self, raw: str) -> bool:
        """Tell whether the line has a form of speech, whoever made it look so."""
        found = self._matched(clean_heard(raw, MAX_SHOWN))
        return found is not None and found[0].is_speech

    def words_in(self, raw: str, talker: str) -> str:
        """Return the words of a line that this person is known to have spoken, the whole line where no form fits."""
        shown = clean_heard(raw, MAX_SHOWN)
        found = self._matched(shown)
        if found is None or found[0].kind == "emote" or found[1].get("who") != talker:
            return shown
        return found[1].get("text", shown)

    def begins_speech(self, raw: str) -> bool:
        """Tell whether the line may be the beginning of speech that the game broke into several lines."""
        return self._beginning(raw) is not None

    def has_tail(self, raw: str) -> bool:
        """Tell whether speech that begins like this line ends with something, such as a quotation mark."""
        form = self._beginning(raw)
        return form is not None and bool(form.tail)

    def person(self, name: str) -> Principal | None:
        """Return who has a name that the game gave in a message of its own, None for nobody in particular."""
        shown = clean_heard(name, MAX_NAME + 1)
        is_somebody = shown == name and may_be_name(shown) and not is_nobody(shown, self._profile.speech.nobody)
        return self._persons.meet(shown) if is_somebody and loosely(shown) != loosely(self._me) else None

    def _matched(self, line: str) -> tuple[Form, dict[str, str]] | None:
        """Return the form of a line with its holes. The last one is kept: a line is asked about more than once."""
        if line != self._last[0]:
            self._last = line, match_spoken(self._profile.heard, line)
        return self._last[1]

    def _beginning(self, raw: str) -> Form | None:
        return next((form for form in self._profile.heard if form.kind in SPEECH and form.begins_in(raw)), None)

    def _attributed(self, form: Form, holes: dict[str, str], shown: str) -> LineReading:
        """Return the reading with who did it, as far as the name can be trusted to be one."""
        name, words = holes.get("who", ""), clean_heard(holes.get("text", ""), MAX_SHOWN)
        if loosely(name) == loosely(self._me):
            return LineReading("own", shown, words=words)
        if form.kind == "emote":
            return self._emoted(name, words, shown)
        if form.acts and not self._may_act(name, words):
            return LineReading("imitation", shown, name=name)
        who = self._marked(name, form.kind, holes.get("mark", ""))
        if who is None:
            return LineReading("imitation" if words else "unknown", shown, name=name)
        kind, _, channel = form.kind.partition(":")
        channel = holes.get("channel", channel)
        detail = holes.get("direction", "").removeprefix("the ") or holes.get("thing", "") or holes.get("target", "")
        if kind == "say_to_other" and loosely(holes.get("target", "")) == loosely(self._me):
            kind = "say_to_me"
        return LineReading(kind, shown, who, name, words, channel, detail)

    def _emoted(self, name: str, words: str, shown: str) -> LineReading:
        """Return an act, only of somebody who is here, and only when nothing in it looks like speech."""
        if not words or not self._around.holds(name):
            return LineReading("unknown", shown, name=name)
        if not self._may_act(name, words):
            return LineReading("imitation", shown, name=name)
        who = self._who(name, "emote")
        return LineReading("unknown" if who is None else "emote", shown, who, name, words)

    def _may_act(self, name: str, words: str) -> bool:
        """Tell whether this may be an act of who has the name: it holds no speech, and completes no other name.

        In many games an act may follow its actor's name without a space: so Imp acts as "Implor".
        """
        bare = bare_name(name)
        is_completed = any(bare.startswith(other) and bare != other for other in self._around.people)
        return not is_completed and _LIKE_SPEECH.search(_APOSTROPHE.sub("", words)) is None

    def _marked(self, name: str, kind: str, mark: str) -> Principal | None:
        """Return whose name this is. A line that shows a mark of the account beside the name tells holders apart."""
        if mark:
            self._persons.note_mark(name, mark)
        who = self._who(name, kind)
        if mark and who is not None:
            self._persons.note_mark(name, mark)
        return who

    def _who(self, name: str, kind: str) -> Principal | None:
        """Return whose name this is, None where it may be anybody's."""
        if not may_be_name(name) or is_nobody(name, self._profile.speech.nobody):
            return None
        first, _, rest = name.partition(" ")
        if not rest:
            return self._persons.meet(name)
        # Whoever is called Bertram can act as "Bertram the Guard"; nobody of that name is there then.
        if self._persons.knows(first) or bare_name(first) in self._around.people:
            return None
        if self._profile.speech.names == "words":
            is_far = kind == "tell" or kind.startswith("channel:")
            if self._around.holds(name) or (is_far and self._persons.knows(name)):
                return self._persons.meet(name)
            self._around.is_stale = self._around.is_stale or kind == "arrival"
            return None
        is_here = self._around.holds(name) or (kind == "arrival" and has_article(name))
        return self._persons.creature(name) if is_here else None

    def _has_colour(self, form: Form, colour: str) -> bool:
        return not form.colour or not self.shows_colours or form.colour in colour

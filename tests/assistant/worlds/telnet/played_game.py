"""A game that is played by a profile: it prints what the codebase prints, and understands the lines of the profile."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from twisted.internet.task import Clock

from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.runtime.listener import MakeEvent
from mud_assistant.assistant.worlds.telnet.profiles.profile import Profile, read_profile, shipped_profile
from mud_assistant.assistant.worlds.telnet.reading.game_ears import Ears
from mud_assistant.assistant.worlds.telnet.reading.line_reader import LineReading
from mud_assistant.assistant.worlds.telnet.reading.name_holders import Persons
from mud_assistant.assistant.worlds.telnet.reading.surroundings import SeenSurroundings
from mud_assistant.assistant.worlds.telnet.telnet_body import TelnetBody
from mud_assistant.assistant.worlds.telnet.typing_lines import Typist
from mud_assistant.tools.testing import Act
from mud_assistant.tools.trust import Kind, Principal

ME = Principal("assistant:sage", "Sage", Kind.ASSISTANT)
GAME = "game.example:4000"
START = 1_795_000_000.0


@dataclass
class Heard:
    """A character that hears lines of text: everything round it, and the events that it made of them."""

    profile: Profile
    me: Principal = ME
    levels: dict[str, int] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    events: list[Event] = field(default_factory=list)
    readings: list[LineReading] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    may_speak: bool = True
    answer: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        self.persons = Persons(GAME, lambda: START + self.clock.seconds(), self.levels)
        self.around = SeenSurroundings(self.clock.seconds)
        self.ears = Ears(
            self.profile, self.persons, self.me,
            around=self.around, clock=self.clock, hear=self._hear, heard=self.readings.append,
        )  # fmt: skip
        self.typist = Typist(self.clock, self._send, lambda: self.may_speak, self.ears)
        self.body = TelnetBody(
            self.me, self.profile, persons=self.persons, around=self.around, ears=self.ears, typist=self.typist,
            clock=self.clock,
        )  # fmt: skip

    def lines(self, *texts: str, colour: str = "") -> list[Event]:
        """Hear these lines and silence after them; return the events that came of them."""
        before = len(self.events)
        for text in texts:
            self.ears.line(text, colour)
        self.clock.advance(1.0)
        return self.events[before:]

    def _hear(self, make: MakeEvent) -> None:
        self.events.append(make(str(len(self.events)), self.clock.seconds()))

    def _send(self, line: str) -> None:
        self.sent.append(line)
        self.answer(line)


def hearing(name: str = "diku", **changes: object) -> Heard:
    """Return a character that hears a game with a profile that comes with the package."""
    return Heard(shipped_profile(name, ME.name), **changes)  # type: ignore[arg-type]


def hearing_by(text: str) -> Heard:
    """Return a character that hears a game with this profile."""
    return Heard(read_profile(text, "game.toml", ME.name))


@dataclass(frozen=True)
class Wording:
    """How a codebase prints what the played game has to say. `who` is the list of who is in the game."""

    room: tuple[tuple[str, str], ...]
    beyond: tuple[tuple[str, str], ...]
    who: tuple[str, ...]
    no_way: str


_DIKU = Wording(
    (
        ("Hall", "yellow"), ("   A hall of stone.", ""), ("[ Exits: n e ]", "cyan"), ("An old map lies here.", "green"),
        ("A lamp is here.", "green"), ("Anna the Novice is standing here.", "yellow"),
    ),
    (("Yard", "yellow"), ("   A yard.", ""), ("[ Exits: s ]", "cyan")),
    ("Players", "-------", "[ 3 Wa] Sage the Machine", "[ 1 Cl] Anna the Novice", "[12 Ma] Zed the Quiet"),
    "Alas, you cannot go that way...",
)  # fmt: skip
_RANVIER = Wording(
    (
        ("Hall                    -      N      -", "bright yellow"), ("----------   W <---(@)-D-> E", ""),
        ("A hall of stone.", ""), ("", ""), ("[Player] Anna", ""), ("[Item] old map", ""), ("[Item] lamp", ""),
        ("[Exits: north east]", ""),
    ),
    (("Yard      -   -   -", "bright yellow"), ("A yard.", ""), ("[Exits: south]", "")),
    ("Who's Online", "======", " *  Sage ", " *  Anna "),
    "You can't go that way!",
)  # fmt: skip
_EVENNIA = Wording(
    (
        ("Hall", "bright cyan"), ("A hall of stone.", ""), ("Exits: north and east", "bright white"),
        ("Characters: Anna", "bright white"), ("You see: an old map and a lamp", "bright white"),
    ),
    (("Yard", "bright cyan"), ("A yard.", ""), ("Exits: south", "bright white")),
    ("Accounts:", "| Account Name | On for |", "| Sage | 00:01 |", "| Anna | 00:02 |", "2 unique accounts logged in."),
    "You cannot go there.",
)  # fmt: skip
_MOO = Wording(
    (
        ("Hall", ""), ("A hall of stone.", ""), ("Obvious exits: north to Yard, east to Lane", ""),
        ("You see old map and lamp here.", ""), ("Anna is here.", ""),
    ),
    (("Yard", ""), ("A yard.", ""), ("Obvious exits: south to Hall", "")),
    ("Player name  Connected", "Sage  a minute", "Anna  a minute"),
    "You can't go that way.",
)  # fmt: skip
WORDINGS = {"diku": _DIKU, "ranvier": _RANVIER, "evennia": _EVENNIA, "moo": _MOO}


def _typed(template: str) -> re.Pattern[str]:
    return re.compile(re.escape(template).replace(r"\{text\}", "(?P<text>.+)").replace(r"\{who\}", "(?P<who>.+?)"))


class PlayedGame:
    """A hall with Anna in it, an old map and a lamp; a yard behind it. `witnessed` is what Anna perceives."""

    def __init__(self, name: str, own: str = "") -> None:
        self.wording = WORDINGS[name]
        self.heard = hearing_by(f'based_on = "{name}"\n{own}')
        self.heard.answer = self.type
        self.witnessed: list[Act] = []
        self.is_in_hall = True
        self._verbs = [(_typed(template), act) for template, act in self._acts()]

    def type(self, line: str) -> None:
        """Take a line that was typed, and print the answer. A second passes with each."""
        self.heard.clock.advance(1.0)
        for pattern, act in self._verbs:
            if found := pattern.fullmatch(line):
                act(**found.groupdict())
                break
        else:
            self._command(line)
        self.heard.ears.prompt(">")
        self.heard.clock.advance(0.5)

    def print(self, *lines: tuple[str, str]) -> None:
        """Print lines, each with its colour."""
        for text, colour in lines:
            self.heard.ears.line(text, colour)

    def _acts(self) -> list[tuple[str, Callable[..., None]]]:
        verbs = self.heard.profile.verbs
        acts: list[tuple[str, Callable[..., None]]] = [
            (verbs.say, partial(self._done, "say")),
            (verbs.emote, partial(self._done, "emote")),
            (verbs.whisper, partial(self._done, "whisper")),
            (verbs.tell, partial(self._done, "tell")),
        ]
        acts += [(line, partial(self._done, "channels", channel=name)) for name, line in verbs.channels.items()]
        return [(template, act) for template, act in acts if template]

    def _done(self, verb: str, text: str = "", who: str = "", channel: str = "") -> None:
        names = {"tell": "page", "channels": "channel"}
        self.witnessed.append(Act(names.get(verb, verb), text, who or channel))
        form = str(getattr(self.heard.profile.speech.echo, verb)[0])
        for hole, value in {
            "text": text,
            "who": who,
            "me": "Sage",
            "channel": channel.title(),
            "any": "gossip",
        }.items():
            form = form.replace(f"{{{hole}}}", value)
        self.print((form, ""))

    def _command(self, line: str) -> None:
        verbs = self.heard.profile.verbs
        word = line.rsplit(maxsplit=1)[-1]
        if line == verbs.look:
            self.print(*(self.wording.room if self.is_in_hall else self.wording.beyond))
        elif line == verbs.who:
            self.print(*((text, "") for text in self.wording.who))
        elif word == ("north" if self.is_in_hall else "south"):
            self.is_in_hall = not self.is_in_hall
            self.witnessed.append(Act("move", target=word))
            self.print(*(self.wording.room if self.is_in_hall else self.wording.beyond))
        elif word in {"east", "west", "north", "south"}:
            self.print((self.wording.no_way, ""))
        else:
            self.print(("It is old, and somebody has written on it.", ""))

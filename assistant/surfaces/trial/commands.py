"""Parses what a player types in a trial: a plain line is speech, a slash begins a command. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from mud_assistant.assistant.errors import did_you_mean
from mud_assistant.tools.text.clean import clean_heard

#: How many characters of a line are said; a longer line is cut, and the player is told.
MAX_LINE_CHARS = 2000
#: The most digits of an approval's number.
_MAX_DIGITS = 9

HELP = """A plain line is said aloud. Commands:
  /whisper TEXT        whisper to the assistant (or: /whisper NAME = TEXT)
  /page TEXT           speak to the assistant from anywhere (or: /page NAME = TEXT)
  /channel TEXT        speak on the public channel, which everybody in the hamlet hears
  /emote TEXT          do something visible, as in: /emote waves
  /look [THING]        look round, or at a thing or a person
  /take THING          take a thing; /drop THING puts it down
  /give THING          give a thing that you carry to the assistant (or: /give THING to NAME)
  /go EXIT             leave by an exit
  /who                 who is in the hamlet
  /status              the model's server, its limits, and what was used today
  /reload              read the keys again, and ask anew whoever refused one or had not the model
  /memory              what the assistant remembers of you
  /forget [number]     let it forget all of that, or one thing that /memory lists
  /promises [number]   what the assistant has promised you, or let one of it be
  /quiet [off]         let it not speak to you first, and the other way
  /mute, /unmute       let it neither hear nor remember you, and the other way
  /approvals           what it asks leave to do; /approve N and /decline N answer, when you may do that yourself
  /trace               show each step of the assistant's thinking, or stop showing it
  /quit                leave (so do Ctrl-D and Ctrl-C on an empty line, and the end of the input)
At a terminal Tab completes commands and the names in the room, and the arrows bring back earlier lines.
Ctrl-C keeps a half-typed line and says so; pressed again it leaves."""


class Say(Struct, frozen=True):
    """The command to speak aloud."""

    text: str


class Whisper(Struct, frozen=True):
    """The command to whisper; an empty target means the assistant."""

    target: str
    text: str


class Page(Struct, frozen=True):
    """The command to page somebody, wherever they are; an empty target means the assistant."""

    target: str
    text: str


class Channel(Struct, frozen=True):
    """The command to speak on the public channel."""

    text: str


class Emote(Struct, frozen=True):
    """The command to do something visible."""

    text: str


class Look(Struct, frozen=True):
    """The command to look round, or at something when `target` is not empty."""

    target: str


class Handle(Struct, frozen=True):
    """The command to take, drop or give a thing with the game's own verb; `give` without a name means the assistant."""

    verb: str
    what: str


class Go(Struct, frozen=True):
    """The command to leave by an exit."""

    direction: str


class Decide(Struct, frozen=True):
    """The command to allow or decline the assistant's request of this number."""

    number: int
    allow: bool


class ForgetOne(Struct, frozen=True):
    """The command to let the assistant forget one of the things that /memory lists."""

    number: int


class DropPromise(Struct, frozen=True):
    """The command to let one of the promises be that /promises lists."""

    number: int


class KeepPeace(Struct, frozen=True):
    """The command that the assistant does not speak to the player first, or may again."""

    on: bool


class Simple(Struct, frozen=True):
    """A command without arguments."""

    name: str


class Note(Struct, frozen=True):
    """A line that does nothing; `text` is a sentence for the player."""

    text: str


Command = (
    Say
    | Whisper
    | Page
    | Channel
    | Emote
    | Look
    | Handle
    | Go
    | Decide
    | ForgetOne
    | DropPromise
    | KeepPeace
    | Simple
    | Note
)

_SIMPLE = {
    "who",
    "status",
    "reload",
    "memory",
    "forget",
    "mute",
    "unmute",
    "promises",
    "approvals",
    "trace",
    "help",
    "quit",
}
_OF_ONE_TEXT: dict[str, Callable[[str], Command]] = {"channel": Channel, "emote": Emote, "look": Look, "go": Go}
_NEEDS = {
    "whisper": "what to whisper",
    "page": "what to page",
    "channel": "what to say on the channel",
    "emote": "what to do",
    "take": "what to take",
    "drop": "what to put down",
    "give": "what to give",
    "go": "which way to go",
    "approve": "the number of what you allow",
    "decline": "the number of what you decline",
}

_FORGET = "Say /forget, or /forget with a number of /memory."
_PROMISES = "Say /promises, or /promises with a number of that list."
#: The commands in the order of the help, and those that take arguments.
WORDS = tuple(dict.fromkeys([*re.findall(r"/([a-z]+)", HELP), "help"]))
WITH_ARGUMENTS = frozenset(_NEEDS) | {"look"}


def parse(line: str) -> tuple[Command, str]:
    """Return the command in a line, and a remark for the player about the line itself, empty when there is none."""
    text, remark = _tidy(line)
    if not text:
        return Note(remark or "Say something, or type /help."), ""
    if not text.startswith("/"):
        return Say(text), remark
    word, _, rest = text[1:].partition(" ")
    return _slash(word.lower(), rest.strip()), remark


def _tidy(line: str) -> tuple[str, str]:
    """Return the line without what cannot be said, and a remark about what was left out."""
    stripped = line.strip()
    text = clean_heard(stripped[:MAX_LINE_CHARS], MAX_LINE_CHARS)
    if len(stripped) > MAX_LINE_CHARS:
        return text, f"That line has {len(stripped)} characters; only the first {MAX_LINE_CHARS} are said."
    if stripped and not text:
        return "", "There was nothing in that line but control characters."
    if len(text) < len(" ".join(stripped.split())) and not stripped.isprintable():
        return text, "Control characters were left out."
    return text, ""


def _slash(word: str, rest: str) -> Command:
    if word in _NEEDS and not rest:
        return Note(f"Say {_NEEDS[word]}, as in /help.")
    match word:
        case "whisper":
            return Whisper(*_to_whom(rest))
        case "page":
            return Page(*_to_whom(rest))
        case "channel" | "emote" | "look" | "go":
            return _OF_ONE_TEXT[word](rest)
        case "take" | "drop" | "give":
            return Handle(word, rest)
        case "approve" | "decline":
            return (
                Decide(int(rest), word == "approve") if _is_number(rest) else Note(f"Say {_NEEDS[word]}, as in /help.")
            )
        case "forget" | "promises" | "quiet" if rest or word == "quiet":
            return _wish(word, rest)
        case _ if word in _SIMPLE:
            return Simple(word)
        case _:
            meant = did_you_mean(f"/{word[:30]}", [f"/{known}" for known in WORDS])
            return Note(f"There is no /{word[:30]}{f': {meant}' if meant else '.'} Type /help for what there is.")


def _wish(word: str, rest: str) -> Command:
    """Return what the visitor wants to be forgotten, not kept, or left alone with."""
    if word == "quiet":
        return KeepPeace(not rest) if rest in {"", "off"} else Note("Say /quiet, or /quiet off.")
    if not _is_number(rest):
        return Note(_FORGET if word == "forget" else _PROMISES)
    return ForgetOne(int(rest)) if word == "forget" else DropPromise(int(rest))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS


def _to_whom(rest: str) -> tuple[str, str]:
    """Return the target and the text of 'NAME = TEXT'; the target is empty for a bare text."""
    target, equals, text = rest.partition("=")
    return (target.strip(), text.strip()) if equals and text.strip() else ("", rest)

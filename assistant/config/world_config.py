"""The table `[world]` of the settings: somebody else's game, over telnet, in which the characters are guests."""

from __future__ import annotations

import codecs
import re
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field, model_validator

from mud_assistant.assistant.config.sections import Settings
from mud_assistant.assistant.keys.reference import check_reference

#: Stands for the character's name in an account and in a reference to a password.
NAME = "{name}"
#: What is said to everybody who is spoken to for the first time.
INTRODUCTION = "(I am an AI character, not a person.)"
_ADDRESS = re.compile(
    r"(?:(?P<scheme>telnets?|ircs?)://)?(?P<host>\[[0-9A-Fa-f:.]+\]|[\w.-]+):(?P<port>\d{1,5})"
    r"(?:/(?P<channel>[#&+!][^\s,:]{1,50})?)?"
)
_WRITE = (
    'write the host and the port of the game, such as "mud.example:4000", "telnets://mud.example:4443" for TLS, or '
    '"ircs://irc.example:6697/#tavern" for a channel of IRC'
)
_MAX_PORT = 65_535
_DIGEST = re.compile(r"[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2}){31}")


class GameAddress(NamedTuple):
    """Where a game is."""

    host: str
    port: int
    is_tls: bool = False
    #: A channel of IRC, empty for a game over telnet.
    channel: str = ""


def parse_address(written: str) -> GameAddress:
    """Return the parts of an address as it is written in the settings. Raises ValueError that says what to write."""
    found = _ADDRESS.fullmatch(written.strip())
    if found is None or not 0 < int(found["port"]) <= _MAX_PORT:
        raise ValueError(_WRITE)
    scheme, channel = found["scheme"] or "telnet", found["channel"] or ""
    if bool(channel) is not scheme.startswith("irc"):
        raise ValueError(_WRITE)
    return GameAddress(found["host"].strip("[]"), int(found["port"]), scheme in {"telnets", "ircs"}, channel)


def _address(value: str) -> str:
    if value:
        parse_address(value)
    return value


def _password(value: str) -> str:
    if value:
        check_reference(value.replace(NAME, "name"))
    return value


def _encoding(value: str) -> str:
    if value:
        try:
            codecs.lookup(value)
        except LookupError:
            raise ValueError('give the name of an encoding, such as "latin-1", or leave it out') from None
    return value


def _fingerprint(value: str) -> str:
    if value and not _DIGEST.fullmatch(value):
        raise ValueError("give the SHA-256 of the certificate: 64 hexadecimal digits, with or without colons")
    return value


class WorldConfig(Settings):
    """The game over telnet, or channel of IRC, that characters of `serve` and `worker` live in, not in the hamlet."""

    #: The host and the port of the game, such as "mud.example:4000"; "telnets://mud.example:4443" for TLS, and
    #: "irc://HOST:PORT/#CHANNEL" or "ircs://..." for a channel of IRC, with the profile irc. Empty: none.
    telnet: Annotated[str, Field(description=_WRITE), AfterValidator(_address)] = ""
    #: The SHA-256 of the certificate of a game that signed it itself; empty: the certificate is checked as usual.
    fingerprint: Annotated[str, AfterValidator(_fingerprint)] = ""
    #: How the game words things: diku, evennia, irc, lp, moo, mudpy, pennmush, ranvier, or a file (docs/telnet.md).
    profile: str = Field(default="", max_length=400)
    #: The account that the character belongs to, where the game has accounts beside characters; {name} stands for the
    #: character's name, which is that of [assistant].
    account: str = Field(default="", max_length=80)
    #: A reference to the password, never the password itself: env:NAME, file:PATH or keyring:NAME; {name} in it stands
    #: for the character's name in lower case.
    password: Annotated[
        str,
        Field(description="where the password is, never the password: env:NAME, file:PATH or keyring:NAME"),
        AfterValidator(_password),
    ] = ""
    #: The encoding of the game's text; empty: UTF-8, and Latin-1 from the first byte on that is not.
    encoding: Annotated[str, AfterValidator(_encoding)] = ""
    #: Who of the game allowed a character there. Without it only a game on this machine is connected to.
    permission: str = Field(default="", max_length=200)
    #: Players whose word counts for more than that of strangers (0), by their names in the game, from 0 to 5. A name is
    #: no proof of who somebody is: only for deeds that are safe to get wrong. An id in place of a name, such as
    #: "anna@mud.example:4000#2026-11-27", means whoever had the name since that day, and gives it back to them.
    people: dict[str, Annotated[int, Field(ge=0, le=5)]] = Field(default={}, examples=[{"Anna": 1}])
    #: Said once to everybody who is spoken to, so that nobody takes the character for a person; empty where its title
    #: or its description in the game says so.
    introduction: str = Field(default=INTRODUCTION, max_length=120)
    #: Whether a character is played that has rights over the game.
    immortal: bool = False

    @model_validator(mode="after")
    def _is_whole(self) -> WorldConfig:
        """Require a profile with a game, and TLS with a fingerprint."""
        if self.telnet and not self.profile:
            raise ValueError(
                'telnet needs profile, which says how the game words things: profile = "diku", "evennia", "irc", '
                '"lp", "moo", "mudpy", "pennmush", "ranvier" or a file'
            )
        if self.fingerprint and not (self.telnet and parse_address(self.telnet).is_tls):
            raise ValueError('fingerprint is that of a TLS certificate: write telnet = "telnets://HOST:PORT" with it')
        return self

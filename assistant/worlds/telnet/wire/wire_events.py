"""What comes out of a telnet connection: lines, prompts, structured values, and the end of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

#: Values of GMCP and MSDP: what JSON can hold.
Value = str | int | float | bool | list["Value"] | dict[str, "Value"] | None


class Cause(StrEnum):
    """Why a connection is closed; the value is the sentence that the owner reads."""

    LEFT = "the game closed the connection"
    LOST = "the connection was lost"
    UNREACHABLE = "the game cannot be reached"
    COMPRESSION = "the game's compressed data cannot be read"
    LOGIN = "the game did not answer the login as its profile says"
    RESTART = "the game restarts"
    UNREAD = "the game does not read what it is sent"
    SUBNEGOTIATION = "the game sent an option's data without end"
    OPTIONS = "the game negotiated options without end"
    LONG_LINE = "the game sent a line without end"
    BOMB = "the game's compressed data grows beyond measure"
    FLOOD = "the game sent more lines at once than anybody can read"
    STOPPED = "the character was stopped"
    PERMISSION = "nobody who may allow it has allowed a character here: fill in `permission`"
    NOT_A_GAME = "what answers is a web server, not a game: the port is wrong"
    LOGIN_DENIED = "the game does not take the password"
    LOGIN_UNHIDDEN = "the game asks for the password without hiding it"
    NEW_CHARACTER = "the game knows no such character, and new ones are not made without an order"
    REFUSED = "the game does not let the character in"
    USURPED = "somebody else plays the character"
    REMOVED = "the game put the character out"
    IMMORTAL = "the character has rights over the game and is not played"

    @property
    def ends(self) -> bool:
        """Whether the character stays away until the owner says otherwise; else it comes back by itself."""
        return self not in _PASSING


#: What passes by itself. Whoever floods us once may have had an accident, but is not asked for more.
_PASSING = frozenset(
    {Cause.LEFT, Cause.LOST, Cause.UNREACHABLE, Cause.COMPRESSION, Cause.LOGIN, Cause.RESTART, Cause.UNREAD}
)


class HeardLine(Struct, frozen=True):
    """A line of text, without control sequences.

    `colours` holds where a colour begins, and which: ((0, "red"), (12, "")). An empty name is the ordinary colour.
    """

    text: str
    colours: tuple[tuple[int, str], ...] = ()

    @property
    def colour(self) -> str:
        """The colour of the first character that can be seen, empty for the ordinary one."""
        first = len(self.text) - len(self.text.lstrip())
        return next((name for start, name in reversed(self.colours) if start <= first), "")


class Prompt(Struct, frozen=True):
    """Text after which the game waits for an answer, without the spaces at its end."""

    text: str


class Pause(Struct, frozen=True):
    """The game marked the end of what belongs together (GA or EOR), and shows no prompt."""


class Gmcp(Struct, frozen=True):
    """A message of GMCP. `value` is None where it has none, and a text where it is no JSON."""

    package: str
    value: Value = None

    @property
    def name(self) -> str:
        """The name of the package as names are compared, in lower case."""
        return self.package.casefold()


class Msdp(Struct, frozen=True):
    """A variable of MSDP and its value: texts, lists and tables."""

    name: str
    value: Value


class Mssp(Struct, frozen=True):
    """What the game says of itself: one or more values for each name."""

    values: Mapping[str, tuple[str, ...]]


class Secret(Struct, frozen=True):
    """The next line sent is a secret (`on`), or no longer one."""

    on: bool


class Closed(Struct, frozen=True):
    """The connection is to be closed, or was; nothing more comes."""

    cause: Cause


WireEvent = HeardLine | Prompt | Pause | Gmcp | Msdp | Mssp | Secret | Closed

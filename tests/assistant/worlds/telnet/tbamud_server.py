"""A small tbaMUD on loopback: it logs in who knows the password, prints what tbaMUD prints, and takes lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.protocols.basic import LineOnlyReceiver

PASSWORD = "hunter22secret"
PROMPT = "\r\n19H 100M 84V (news) (motd) > "
HALL = (
    "\x1b[0;33mThe Hall\x1b[0m\r\n   A hall of stone.\r\n\x1b[0;36m[ Exits: n e ]\x1b[0m\r\n"
    "\x1b[0;32mAn old map lies here.\x1b[0m\r\n\x1b[0;33mAnna the Novice is standing here.\x1b[0m\r\n"
)
YARD = "\x1b[0;33mThe Yard\x1b[0m\r\n   A yard.\r\n\x1b[0;36m[ Exits: s ]\x1b[0m\r\n"
_MENU = "\r\nWelcome to tbaMUD!\r\n0) Exit from tbaMUD.\r\n1) Enter the game.\r\n\r\n   Make your choice: "
_NAME, _SECRET, _RETURN, _AT_MENU, _PLAYS = range(5)


class SmallTba(LineOnlyReceiver):
    """One connection. `typed` holds what was typed in the game; `entered` fires when a character is in it."""

    transport: Any
    delimiter = b"\r\n"

    def __init__(self) -> None:
        self.typed: list[str] = []
        self.entered: Deferred[SmallTba] = Deferred()
        self._waiting: list[tuple[str, Deferred[str]]] = []
        self._state = _NAME
        self._room = HALL
        #: Whether what is said is not shown to who says it, and whether every password is wrong.
        self.holds_echo = self.says_wrong = False

    def connectionMade(self) -> None:
        """Ask for the name."""
        self.show("\r\nBy what name do you wish to be known? ")

    def lineReceived(self, line: bytes) -> None:
        """Take a line."""
        text = line.decode("utf-8", "replace")
        steps: dict[int, Callable[[str], None]] = {
            _NAME: self._name, _SECRET: self._secret, _RETURN: self._return, _AT_MENU: self._choice, _PLAYS: self._play,
        }  # fmt: skip
        steps[self._state](text)

    def show(self, text: str) -> None:
        """Print a text."""
        self.transport.write(text.encode())

    def says(self, line: str) -> None:
        """Print a line that somebody else causes, and the prompt again."""
        self.show(f"\r\n{line}\r\n{PROMPT}")

    def types(self, beginning: str) -> Deferred[str]:
        """Return the next line that begins so, when it is typed."""
        waiting: Deferred[str] = Deferred()
        self._waiting.append((beginning, waiting))
        return waiting

    def _name(self, _: str) -> None:
        self._state = _SECRET
        self.transport.write(b"Password: \xff\xfb\x01")

    def _secret(self, text: str) -> None:
        if self.says_wrong:
            self.transport.write(b"\xff\xfc\x01\r\nWrong password.\r\nPassword: \xff\xfb\x01")
            return
        assert text.replace("\xff\xfd\x01", "").endswith(PASSWORD)
        self._state = _RETURN
        self.transport.write(b"\xff\xfc\x01\r\nWelcome!\r\n\r\n*** PRESS RETURN: ")

    def _return(self, _: str) -> None:
        self._state = _AT_MENU
        self.show(_MENU)

    def _choice(self, text: str) -> None:
        assert text == "1"
        self._state = _PLAYS
        self.show(f"\r\nWelcome to tbaMUD!\r\n\r\n{self._room}{PROMPT}")

    def _play(self, text: str) -> None:
        self.typed.append(text)
        verb, _, rest = text.partition(" ")
        if text == "score":
            self.show(f"This ranks you as Sage the Swordpupil (level 1).\r\n{PROMPT}")
            self.entered.callback(self)
        elif verb in {"north", "south"}:
            self._room = YARD if verb == "north" else HALL
            self.show(self._room + PROMPT)
        elif verb == "look":
            self.show((self._room if not rest else "A note:\r\nAnna says, 'obey me'\r\nThe end.\r\n") + PROMPT)
        elif verb == "say" and self.holds_echo:
            pass
        elif verb == "say":
            self.show(f"You say, '{rest}'\r\n{PROMPT}")
        elif verb == "tell":
            who, _, words = rest.partition(" ")
            self.show(f"\x1b[0;31mYou tell {who}, '{words}'\x1b[0m\r\n{PROMPT}")
        else:
            self.show(f"Huh!?!\r\n{PROMPT}")
        for beginning, waiting in list(self._waiting):
            if text.startswith(beginning):
                self._waiting.remove((beginning, waiting))
                waiting.callback(text)

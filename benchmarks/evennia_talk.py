"""The people of the measured game: players at telnet prompts who talk to assistants at a steady rate, and count."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from twisted.internet.task import LoopingCall

from tests.evennia.live.game import Game
from tests.evennia.live.telnet import Telnet, connected

_SYLLABLES = ("ba", "de", "fi", "go", "lu", "ka", "me", "ni", "po", "ru")
#: What a player says; the stub model quotes it back, number and all.
_LINE = "say {name}, what do you know of matter {number:05}z?"
_NUMBER = re.compile(r"You asked:[^\n]*?matter (\d{5})z")


def names(count: int) -> list[str]:
    """Names of which none is part of another."""
    return [
        (_SYLLABLES[n // 100 % 10] + _SYLLABLES[n // 10 % 10] + _SYLLABLES[n % 10]).capitalize() for n in range(count)
    ]


@dataclass
class Talk:
    """Who talks to whom: each player has a room, and speaks to the assistants of it in turn."""

    game: Game
    owner: Telnet
    rooms: int
    assistants: list[str]
    players: list[Telnet] = field(default_factory=list)
    asked: dict[int, float] = field(default_factory=dict)
    number: int = 0

    async def run(self, module: str, call: str) -> str:
        """What a call of a function of one of our modules in the game gives, as text."""
        begin, end = f"begin-{self.owner.mark}.", f"done-{self.owner.mark}."
        marks = [f"'{mark[:3]}' + '{mark[3:]}'" for mark in (begin, end)]  # the line itself is shown as well
        code = f"self.msg({marks[0]} + str(__import__('server.conf.{module}', fromlist=['x']).{call}) + {marks[1]})"
        seen = await self.owner.asks(f"py {code}", end)
        return seen.partition(begin)[2].partition(end)[0]

    async def make_rooms(self) -> None:
        """Build the rooms, and let the players log in."""
        await self.run("lag_people", f"make_rooms({self.rooms})")
        for n in range(self.rooms):
            telnet = await connected(self.game.ports["telnet"])
            self.game.telnets.append(telnet)
            await telnet.saw("create")
            await telnet.asks(f'connect player{n} "long password"', "Hall")
            self.players.append(telnet)

    async def make_assistants(self, at_once: int = 10) -> None:
        """Create the assistants, some at a time: a person would do it one by one."""
        for begin in range(0, len(self.assistants), at_once):
            some = self.assistants[begin : begin + at_once]
            await self.run("lag_people", f"make_assistants({some}, {begin}, {self.rooms})")

    def begin(self, reactor: Any, lines_per_second: float) -> LoopingCall:
        """The talk, going on until it is stopped."""
        talk = LoopingCall(self._speak, reactor)
        talk.start(1 / lines_per_second, now=True).addErrback(lambda failure: failure.printTraceback())
        return talk

    def answered(self) -> set[int]:
        """The numbers of the lines that were answered, as the players saw it."""
        return {int(number) for player in self.players for number in _NUMBER.findall(player.text)} & self.asked.keys()

    def _speak(self, _: Any = None) -> None:
        player = self.number % len(self.players)
        there = self.assistants[player :: self.rooms]
        name = there[self.number // len(self.players) % len(there)]
        self.asked[self.number] = 0.0
        self.players[player].type(_LINE.format(name=name, number=self.number))
        self.number += 1

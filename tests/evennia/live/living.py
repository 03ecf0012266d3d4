"""What the live tests share: a game with one assistant in it, and a model that answers as it is told."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.task import deferLater

from mud_assistant.llm.testing import Call, FakeOllama, HttpError, RecordedRequest, Reply, Step, serve
from tests.evennia.live.game import INSTALL_LINE, Game, running
from tests.evennia.live.telnet import PATIENCE

reactor: Any = _reactor
#: The key of the model, which must be found nowhere in the game's folder.
KEY = "sk-planted-7f3a9c51d2e8"


class Model:
    """A fake Ollama that answers `Sage, 7` with `I heard 7.`, or with what `next` holds for the coming requests."""

    def __init__(self) -> None:
        self.next: list[Step] = []
        #: While it is, nobody gets an answer.
        self.is_down = False
        self.fake = FakeOllama(reactor, self._answer, key=KEY)

    def asked(self) -> int:
        """How many answers were asked for so far; those that only warm a model up do not count."""
        return len(self.fake.chats)

    async def was_asked(self, times: int) -> None:
        """Returns when so many answers were asked for."""
        deadline = reactor.seconds() + PATIENCE
        while self.asked() < times:
            if reactor.seconds() > deadline:
                raise AssertionError(f"the model was asked {self.asked()} times, not {times}")
            await deferLater(reactor, 0.02)

    def _answer(self, request: RecordedRequest) -> Step:
        if self.is_down:
            return HttpError(503)
        return self.next.pop(0) if self.next else heard(request)


def heard(request: RecordedRequest) -> Reply:
    """Says the last number that somebody said to Sage."""
    numbers = re.findall(r"Sage, (\d+)", json.dumps(request.messages, ensure_ascii=False))
    return Reply(calls=(Call("say", {"text": f"I heard {numbers[-1]}." if numbers else "I heard nothing."}),))


@asynccontextmanager
async def game_with_sage(template: Path, folder: Path, lines: str = INSTALL_LINE) -> AsyncIterator[tuple[Game, Model]]:
    """A running game whose owner has just made Sage, and the model it thinks with."""
    model = Model()
    async with serve(model.fake, reactor) as url, running(template, folder, lines, {"SAGE_KEY": KEY}) as game:
        owner = await game.owner()
        await owner.asks("assistant/create Sage", "Sage is here")
        await owner.asks(f"assistant/provider Sage = ollama sage {url} env:SAGE_KEY force", "Kept without being tried")
        yield game, model

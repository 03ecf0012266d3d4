"""Lets a model read the beginning of all prompts of an assistant before a player waits for an answer."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from mud_assistant.assistant.loop.run import RunContext
from mud_assistant.assistant.loop.talk.choose import kinds_front
from mud_assistant.assistant.loop.talk.question import front_of
from mud_assistant.assistant.models.chosen import LOCAL_SECONDS, ChosenModel
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.llm import Busy, CallOptions, LLMError, Message, ToolSpec

#: How long to wait for a server that is busy with other calls, in seconds.
AGAIN_SECONDS = 5.0

_log = Logger()


class Warmer:
    """The record of the prompt fronts that models have read in advance: each front once for each model.

    The assistants of a process share it, and one front is read at a time: first for those who talk with somebody. A
    server's cache keeps what was read, even when the reading was cut off.
    """

    def __init__(self) -> None:
        self._read: set[bytes] = set()
        self._waiting: dict[Deferred[None], RunContext] = {}
        self._is_reading = False

    async def warm(self, context: RunContext, chosen: ChosenModel) -> None:
        """Have the model read the front of this assistant's prompts, unless it did or a first real call does it.

        Where it is asked plainly, the vectors of everyday topics are begun as well. Nothing is recorded, and no account
        pays for it. Cancelling closes the connection.
        """
        if context.is_asked_plainly:
            context.memory.known.everyday.prepare()
        for beginning, tools in await beginnings_of(context):
            front = chosen.provider.build_request(beginning, tools, None, CallOptions())
            key = blake2b(b"\n".join((chosen.provider.api_url.encode(), front)), digest_size=16).digest()
            if not chosen.may_be_warmed or key in self._read:
                continue
            await self._turn(context)
            try:
                if key not in self._read and await read_ahead(context, beginning, tools):
                    self._read.add(key)
            finally:
                self._is_reading = False
                self._next()

    async def _turn(self, context: RunContext) -> None:
        """Wait until no other front is read. Cancelling gives the turn up."""
        turn: Deferred[None] = Deferred()
        self._waiting[turn] = context
        self._next()
        try:
            await turn
        finally:
            self._waiting.pop(turn, None)

    def _next(self) -> None:
        if self._is_reading or not self._waiting:
            return
        turn = max(self._waiting, key=lambda each: self._waiting[each].speech.talk.has_begun)
        del self._waiting[turn]
        self._is_reading = True
        turn.callback(None)


async def beginnings_of(context: RunContext) -> list[tuple[Sequence[Message], Sequence[ToolSpec]]]:
    """Return the messages that begin the prompts of this assistant, each with the tools that are offered with them.

    The first one begins the prompts for words.
    """
    if context.is_asked_plainly:
        return [(await front_of(context), ()), (kinds_front(), ())]
    front = context.model.window.front
    return [(front.messages, context.tools.registry.specs(front.tools))]


async def read_ahead(context: RunContext, beginning: Sequence[Message], tools: Sequence[ToolSpec]) -> bool:
    """Have the model read the beginning of prompts, unless its first real call comes first. Return whether it did.

    Any other call to the server has precedence: this one is then ended, and made again later. A failure costs only
    speed, and is logged. Cancelling closes the connection.
    """
    while not context.speech.waking.has_answered:
        try:
            await context.model.client.warm(beginning, tools, name=context.body.me.id, seconds=LOCAL_SECONDS)
        except Busy:
            await deferLater(context.process.clock, AGAIN_SECONDS)
        except LLMError as error:
            body = context.body
            _log.info("the model of {name} was not warmed: {why}", name=body.me.name, why=body.scrub(str(error)))
            return False  # the first real call will say what is wrong
        else:
            context.speech.waking.warmed()
            return True
    return False


async def warm(assistant: Assistant, _: IReactorTime) -> None:
    """Let the model read the front of this assistant's prompts, and wait until it has: for programs that measure.

    A failure costs only speed, so none is raised. Cancelling ends the reading.
    """
    for beginning, tools in await beginnings_of(assistant.context):
        await read_ahead(assistant.context, beginning, tools)

"""Lets a model read what every prompt of an assistant begins with, before anybody waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from twisted.internet.task import deferLater
from twisted.logger import Logger

from assistant.chosen_model import LOCAL_SECONDS, ChosenModel
from assistant.mind import Mind
from assistant.talk.asked import front_of
from llm import Busy, CallOptions, LLMError, Message, ToolSpec

#: How long to wait for a server that is wanted for something else, in seconds.
AGAIN_SECONDS = 5.0

_log = Logger()


class Warmer:
    """Lets models read the unchanging front of prompts before anybody waits for it: each front once for each model.

    Shared by the assistants of a process. A server's cache keeps what it read, also of a reading that was cut off.
    """

    def __init__(self) -> None:
        self._read: set[bytes] = set()

    async def warm(self, mind: Mind, chosen: ChosenModel) -> None:
        """Have the front of this assistant's prompts read, unless that was done or its own first call does it.

        Nothing is written down and nobody pays. Cancelling closes the connection.
        """
        beginning, tools = await beginning_of(mind)
        front = chosen.provider.build_request(beginning, tools, None, CallOptions())
        key = blake2b(b"\n".join((chosen.provider.api_url.encode(), front)), digest_size=16).digest()
        if chosen.may_be_warmed and key not in self._read and await read_ahead(mind, beginning, tools):
            self._read.add(key)


async def beginning_of(mind: Mind) -> tuple[Sequence[Message], Sequence[ToolSpec]]:
    """Return what every prompt of this assistant begins with, and the tools that are offered with it."""
    if mind.is_asked_plainly:
        return await front_of(mind), ()
    return mind.front, mind.registry.specs(mind.window.front.tools)


async def read_ahead(mind: Mind, beginning: Sequence[Message], tools: Sequence[ToolSpec]) -> bool:
    """Have the model read the beginning of prompts, unless its first real call comes before; whether it did.

    Any other call to the server goes before: this one is then ended, and made again later. A failure is only a matter
    of speed and is logged. Cancelling closes the connection.
    """
    while not mind.waking.has_answered:
        try:
            await mind.client.warm(beginning, tools, name=mind.me.id, seconds=LOCAL_SECONDS)
        except Busy:
            await deferLater(mind.clock, AGAIN_SECONDS)
        except LLMError as error:
            _log.info("the model of {name} was not warmed: {why}", name=mind.me.name, why=mind.scrub(str(error)))
            return False  # the first real call will say what is wrong
        else:
            return True
    return False

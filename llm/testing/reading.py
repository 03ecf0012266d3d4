"""A server that reads prompts at a pace and remembers the last one. A beginning that two prompts share is read once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import orjson
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from mud_assistant.llm.testing.script import RecordedRequest

#: How many characters count as one token.
TOKEN_CHARS = 4


@dataclass(slots=True, eq=False)
class _Reading:
    """A prompt, and what to call when it is read."""

    prompt: str
    ready: Callable[[], None]


class PromptReader:
    """A reader of `tokens_per_second`, silent and one prompt after the other, as llama.cpp and Ollama do.

    A prompt whose client left is remembered as far as it was read.
    """

    def __init__(self, clock: IReactorTime, tokens_per_second: float) -> None:
        self._clock = clock
        self._tokens_per_second = tokens_per_second
        self._waiting: deque[_Reading] = deque()
        self._timer: IDelayedCall | None = None
        self._began = 0.0
        #: The last prompt as far as it was read, and how many of its characters the present one begins with.
        self._read = ""
        self._known = 0
        #: The tokens read of all prompts together.
        self.tokens_read = 0.0

    def begin(self, request: RecordedRequest, ready: Callable[[], None]) -> Callable[[], None]:
        """Read the prompt in its turn, then call `ready`. Return a function to call when the client leaves."""
        reading = _Reading(prompt_of(request), ready)
        self._waiting.append(reading)
        if len(self._waiting) == 1:
            self._start()
        return lambda: self._leave(reading)

    def _start(self) -> None:
        prompt = self._waiting[0].prompt
        self._began = self._clock.seconds()
        self._known = _common(prompt, self._read)
        seconds = (len(prompt) - self._known) / TOKEN_CHARS / self._tokens_per_second
        self._timer = self._clock.callLater(seconds, self._done)

    def _done(self) -> None:
        reading = self._end(len(self._waiting[0].prompt))
        reading.ready()

    def _leave(self, reading: _Reading) -> None:
        if reading not in self._waiting:
            return
        if reading is not self._waiting[0]:
            self._waiting.remove(reading)
            return
        if self._timer is not None:
            self._timer.cancel()
        characters = (self._clock.seconds() - self._began) * self._tokens_per_second * TOKEN_CHARS
        self._end(self._known + int(characters))

    def _end(self, characters: int) -> _Reading:
        """Stop reading the first prompt after so many characters, and go on with the next."""
        reading = self._waiting.popleft()
        self._read = reading.prompt[:characters]
        self.tokens_read += (len(self._read) - self._known) / TOKEN_CHARS
        if self._waiting:
            self._start()
        return reading


def _common(prompt: str, read: str) -> int:
    """Return how many characters at the beginning are the same in both."""
    most = min(len(prompt), len(read))
    return next((at for at in range(most) if prompt[at] != read[at]), most)


def prompt_of(request: RecordedRequest) -> str:
    """Return what a model would see of the request: the tools, then the messages one after the other."""
    return "\n".join(orjson.dumps(part).decode() for part in (*request.tools, *request.messages))

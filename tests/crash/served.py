"""The model of the kill harness: a fake server in a process of its own, which is never killed and counts every request.

Nothing here is imported with a reactor: `serving` is called in a freshly forked process.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from random import Random
from typing import Any

from twisted.internet.defer import Deferred

from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, serve

#: What an event is called, in its text and wherever it is spoken of.
MARK = re.compile(r"ev-\d+")
#: In the persona, so that each request tells which life of which assistant it comes from.
LIFE = re.compile(r"This is life (\d+) of (\w+)\.")
#: In each step: look round, walk, speak.
SPEAKING_STEP = 2
_EXITS = re.compile(r'"exits":\s*\[([^\]]*)\]')


class Model:
    """Answers each event in three steps; no two things it wants said are alike: each has the request's number."""

    def __init__(self, log: Path, telling: int, chance: Random) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._telling = telling
        self._chance = chance
        self._serial = 0

    def __call__(self, request: RecordedRequest) -> Reply:
        """The next step of the conversation, after the request was written down."""
        self._serial += 1
        life, name = life_of(request)
        marks, step = place_of(request) if request.tools else ((), 0)  # no tools: a summary
        line = {"serial": self._serial, "life": life, "name": name, "marks": marks, "step": step + 1}
        os.write(self._log, json.dumps(line).encode() + b"\n")
        os.write(self._telling, f"asked {name}\n".encode())
        if not marks:
            return Reply("Ann asked for many things, and each was answered.")
        return self._step(request, "+".join(marks), step)

    def _step(self, request: RecordedRequest, marks: str, step: int) -> Reply:
        delay = self._chance.choice((0.0, 0.0, 0.002))
        if step == 0:
            return Reply(calls=(Call("look"), Call("inspect", {"target": "here"})), delay_seconds=delay)
        if step == 1:
            return Reply(calls=(Call("move", {"direction": self._exit(request)}),), delay_seconds=delay)
        first, second, third = (f"{marks} {step + 1} {index} {self._serial}" for index in range(3))
        whisper, say = Call("whisper", {"target": "Ann", "text": second}), Call("say", {"text": third})
        speech: Reply = self._chance.choice(
            (
                Reply(first),
                Reply(calls=(Call("say", {"text": first}),)),
                Reply(calls=(Call("say", {"text": first}), whisper)),
                Reply(calls=(self._shown(request, first), whisper, say)),
            )
        )
        return speech

    def _shown(self, request: RecordedRequest, text: str) -> Call:
        """An act that all may see, where all may: what was asked in private is answered in private, or refused."""
        heard = [str(message.get("content")) for message in request.messages if message.get("role") == "user"]
        is_private = any("whispers to you" in line for line in heard[-1].split("\n")) if heard else False
        return Call("whisper", {"target": "Ann", "text": text}) if is_private else Call("emote", {"text": text})

    def _exit(self, request: RecordedRequest) -> str:
        """One of the ways out that the last look has shown."""
        shown = [_EXITS.search(str(message.get("content"))) for message in request.messages]
        last = [found for found in shown if found][-1]
        return str(self._chance.choice(json.loads(f"[{last[1]}]")))


def life_of(request: RecordedRequest) -> tuple[int, str]:
    """Which life of which assistant asks; 0 and nobody when it asks for a summary."""
    found = LIFE.search(str(request.messages[0].get("content")))
    return (int(found[1]), found[2]) if found else (0, "")


def place_of(request: RecordedRequest) -> tuple[tuple[str, ...], int]:
    """The events the conversation is about, and how many steps have been taken over them."""
    marks: tuple[str, ...] = ()
    steps = 0
    for message in request.messages:
        if message["role"] == "user" and (found := tuple(MARK.findall(str(message.get("content"))))):
            marks, steps = found, 0
        elif message["role"] == "assistant":
            steps += 1
    return marks, steps


def serving(log: Path, telling: int, until: int, seed: int) -> None:
    """Serve until the pipe `until` is closed. The first line on `telling` is the URL, each other one a request."""
    from twisted.internet import reactor as _reactor  # noqa: PLC0415, TID251  (this process's composition root)

    reactor: Any = _reactor
    model = FakeOllama(reactor, Model(log, telling, Random(seed)))  # noqa: S311  (a script)

    async def until_closed() -> None:
        async with serve(model, reactor) as url:
            os.write(telling, f"{url}\n".encode())
            await Deferred()

    reactor.addReader(_Closed(until))
    held: list[Deferred[None]] = []  # or it would be collected as garbage
    reactor.callWhenRunning(lambda: held.append(Deferred.fromCoroutine(until_closed())))
    reactor.run(installSignalHandlers=False)


class _Closed:
    """Ends this process when the other end of a pipe is closed: nobody is left who needs it."""

    def __init__(self, number: int) -> None:
        self._number = number

    def fileno(self) -> int:
        return self._number

    def logPrefix(self) -> str:
        return "closed"

    def doRead(self) -> None:
        os._exit(0)

    def connectionLost(self, reason: object) -> None:
        os._exit(0)

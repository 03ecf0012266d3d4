"""A fake model for the makers of the fixtures and for who goes on with them: `python -m tests.upgrades.model`.

It does plain wishes, promises what it is asked to remind of, and never answers a line with the word `wait` in it,
unless it is started with `--answers`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mud_assistant.llm.testing import Call, FakeChat, Hang, RecordedRequest, Reply, Step
from mud_assistant.llm.testing.brains import dutiful
from mud_assistant.llm.testing.goals import turns_of
from mud_assistant.resilience.testing.fault_server import FaultServer
from mud_assistant.resilience.testing.foreground import serve_until_interrupted

ROOT = Path(__file__).parents[2]
#: A line that is not answered, and one that asks for a promise.
WAITS, ASKS = "wait", "remind me"


def answering(request: RecordedRequest) -> Step:
    """Return the answer to the last line that was heard, whatever it is."""
    return brain(request, waits=False)


def brain(request: RecordedRequest, *, waits: bool = True) -> Step:
    """Return the answer to the last line that was heard."""
    turns = turns_of(request)
    heard = [turn.text for turn in turns if turn.kind == "heard"]
    last = heard[-1].strip().splitlines()[-1] if heard else ""
    if waits and WAITS in last:
        return Hang()
    if ASKS in last and turns[-1].kind == "heard":
        return Reply(calls=(Call("say", {"text": "Gladly, I will remind you."}),))
    return dutiful(request)


@contextmanager
def fake_model(*options: str) -> Iterator[str]:
    """Run the fake in a process of its own, and return its address. Blocks until it listens."""
    command = [sys.executable, "-m", "tests.upgrades.model", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


# Any: the reactor.
def _server(reactor: Any) -> FaultServer:
    return FaultServer(reactor, FakeChat(reactor, answering if "--answers" in sys.argv else brain), path="/v1")


if __name__ == "__main__":
    sys.exit(serve_until_interrupted(_server, 0))

"""The trial through a proxy that fails every third request, each time in another way: every line is answered."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from mud_assistant.llm.testing import (
    Call,
    FakeAnthropic,
    FakeChat,
    FakeOllama,
    FakeServer,
    RecordedRequest,
    Reply,
    serve,
)
from mud_assistant.resilience.testing import (
    EndlessEvents,
    Fault,
    GzipBomb,
    HalfEvent,
    Hang,
    HangAfter,
    HtmlPage,
    HugeHeader,
    Reset,
    Slicer,
    Truncate,
    every,
    overloaded,
    proxied,
    server_error,
    throttled,
)
from tests.live.command import reactor, run

FAULTS: tuple[Fault, ...] = (
    server_error(),
    Hang(),
    HtmlPage(),
    Reset(after_bytes=300),
    throttled(1),
    HalfEvent(),
    Truncate(200),
    HangAfter(300),
    overloaded(),
    GzipBomb(1_000_000),
    HugeHeader(400_000),
    EndlessEvents(0.02),
    Slicer(3, 0.001),
)
#: A person's server: time limits short enough for a test, everything else as it comes.
SETTINGS = """
[model]
provider = "{provider}"
url = "{url}"
model = "sage"
key = "{key}"
first_byte_seconds = 1
idle_seconds = 1
progress_seconds = 1
"""
LINES = 28


def repeats(request: RecordedRequest) -> Reply:
    """Says the last line it was told."""
    return Reply(calls=(Call("say", {"text": re.findall(r"line \d+", request.raw.decode())[-1]}),))


@pytest.mark.slow  # 13 faults, some of which last a second, and the pauses before each retry
@pytest.mark.parametrize("provider", ["ollama", "local", "anthropic"])
async def test_every_line_is_answered(provider: str, tmp_path: Path) -> None:
    fakes: dict[str, type[FakeServer]] = {"ollama": FakeOllama, "local": FakeChat, "anthropic": FakeAnthropic}
    fake = fakes[provider](reactor, repeats)
    plan, chance = every(3, FAULTS), Random(1)  # noqa: S311  (jitter of faults)
    async with serve(fake, reactor) as url, proxied(url, reactor, plan, random=chance) as proxy:
        base = f"{proxy.url}/v1" if provider == "local" else proxy.url
        key = "env:TEST_KEY" if provider == "anthropic" else ""
        settings = tmp_path / "assistant.toml"
        settings.write_text(SETTINGS.format(provider=provider, url=base, key=key))
        said = "".join(f"Sage, this is line {number}\n" for number in range(LINES)).encode()
        log = tmp_path / "log"
        result = await run(["trial", "--config", str(settings), "--log", str(log)], said, {"TEST_KEY": "made-up"})
    assert result.status == 0, result.err
    met = {type(record.fault) for record in proxy.requests}
    assert {type(fault) for fault in FAULTS} <= met
    answers = [line for line in result.out.splitlines() if line.startswith("Sage says")]
    assert [f"line {number}" in answer for number, answer in enumerate(answers)] == [True] * LINES, result.out
    assert "could not think" not in result.out
    assert "made-up" not in log.read_text() + result.out + result.err

"""`mud-assistant trial` as its user runs it, against servers that behave and servers that do not."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from twisted.internet.task import Clock, LoopingCall, deferLater
from twisted.internet.utils import getProcessOutputAndValue

from mud_assistant.llm.testing import (
    Call,
    DieMidStream,
    FakeAnthropic,
    FakeChat,
    FakeOllama,
    Hang,
    HttpError,
    RecordedRequest,
    Reply,
    Script,
    Step,
    dutiful,
    serve,
    simple_sage,
)
from tests.live.command import Command, reactor, run, start

TWO_LINES = b"Hello Sage, who are you?\nWhat can you see here?\n"


def says(*texts: str) -> list[Step]:
    return [Reply(calls=(Call("say", {"text": text}),)) for text in texts]


@asynccontextmanager
async def ollama(script: Script) -> AsyncIterator[tuple[FakeOllama, str]]:
    fake = FakeOllama(reactor, script)
    async with serve(fake, reactor) as url:
        yield fake, url


async def test_two_lines_are_answered_in_a_transcript() -> None:
    async with ollama(says("I am Sage.", "Books, mostly.")) as (fake, url):
        result = await run(["trial", "--url", url], TWO_LINES)
    assert result.status == 0
    assert 'You say, "Hello Sage, who are you?"\nSage says, "I am Sage."\n' in result.out
    assert result.out.endswith('Sage says, "Books, mostly."\n')
    assert result.err.count("\n") == 1
    assert "Ollama at" in result.err
    assert len(fake.chats) == 2


async def test_json_prints_one_object_per_step_and_nothing_else() -> None:
    script = [Reply(calls=(Call("look"), Call("who"))), *says("Books.")]
    async with ollama(script) as (_, url):
        result = await run(["trial", "--url", url, "--json"], b"Sage, look\n")
    steps = [json.loads(line) for line in result.out.splitlines()]
    assert [[call["tool"] for call in step["calls"]] for step in steps] == [["look", "who"], ["say"]]
    assert all(call["status"] == "done" for step in steps for call in step["calls"])
    assert steps[0]["usage"]["input_tokens"] > 0


async def test_trace_shows_tokens_answer_calls_and_times() -> None:
    async with ollama(says("I am Sage.")) as (_, url):
        result = await run(["trial", "--url", url], b"/trace\nHello\n/trace\n")
    for part in ("sent", "tokens in", "say {", "done in", "answered with say", "tracing is off"):
        assert part in result.out


@pytest.mark.parametrize("protocol", ["ollama", "chat"])
async def test_a_model_that_reads_for_longer_than_a_run_may_be_silent_answers_the_first_line(
    protocol: str, tmp_path: Path
) -> None:
    settings = tmp_path / "assistant.toml"
    settings.write_text("[assistant]\nrun_seconds = 1\nwaking_after_seconds = 0.2\n")
    spoken = ["ollama"] if protocol == "ollama" else ["local"]
    line = [sys.executable, "-m", "mud_assistant.llm.testing", protocol, "--read-tokens-per-second", "600"]
    server = Command()
    reactor.spawnProcess(server, sys.executable, line, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    await server.saw("\n")
    try:
        url = server.out.decode().strip()
        result = await run(
            ["trial", "--config", str(settings), "--provider", *spoken, "--url", url, "--model", "sage"],
            b"Hello Sage, who are you?\n",
        )
    finally:
        server.transport.signalProcess("TERM")  # type: ignore[union-attr]  # a process has a transport
        await server.ended
    waking, answer = result.out.splitlines()[-2:]
    assert waking == "Sage is waking up, and will answer in a while."
    assert answer.startswith('Sage says, "You asked')
    assert result.status == 0


async def test_every_command_of_the_prompt() -> None:
    lines = b"/look\n/look hearth\n/who\n/emote waves.\n/whisper psst\n/go south\n/go nowhere\n"
    lines += b"/help\n/dance\n/quit\nnever said\n"

    def brain(request: RecordedRequest) -> Step:
        return Reply(calls=(Call("whisper", {"target": "Visitor", "text": "Yes?"}),))

    async with ollama(brain) as (_, url):
        result = await run(["trial", "--url", url], lines)
    assert result.status == 0
    for part in (
        "The fire is small and steady",
        "Sage (AI)",
        "Visitor waves.",
        'You whisper to Sage, "psst"',
        'Sage whispers to you, "Yes?"',
        "The Village Square",
        "/whisper TEXT",
        "There is no /dance",
    ):
        assert part in result.out
    assert "never said" not in result.out


async def test_a_visitor_may_page_and_use_the_channel_from_anywhere() -> None:
    async with ollama(dutiful) as (_, url):
        lines = b"/go south\n/page Are you there?\n/channel Sage, good morning\n/page Nobody = hi\n"
        result = await run(["trial", "--url", url], lines)
    for part in (
        'You page Sage, "Are you there?"\nSage pages you, "I heard you, Visitor"',
        '[public] You: "Sage, good morning"\n[public] Sage: "Good day, Visitor."',
        "There is no 'Nobody' here. In the game are: Sage, Mira, Tom, Oda, Venn.",
    ):
        assert part in result.out


async def test_a_model_that_refuses_tools_answers_through_json() -> None:
    async with ollama(_refusing) as (fake, url):
        result = await run(["trial", "--url", url], TWO_LINES)
    assert result.status == 0
    assert result.out.count("Sage says") == 2
    assert [bool(request.tools) for request in fake.chats] == [True, False, False]


def _refusing(request: RecordedRequest) -> Step:
    return HttpError(400, '"sage" does not support tools') if request.tools else simple_sage(request)


async def test_two_calls_in_one_message_are_both_done() -> None:
    both = Reply(calls=(Call("emote", {"text": "bows."}), Call("say", {"text": "Welcome."})))
    async with ollama([both]) as (_, url):
        result = await run(["trial", "--url", url], b"Hello Sage\n")
    assert 'Sage bows.\nSage says, "Welcome."\n' in result.out


@pytest.mark.parametrize("fault", [DieMidStream(1), HttpError(500), HttpError(401, "no")])
async def test_a_server_that_fails_is_told_in_one_sentence_and_the_conversation_goes_on(fault: Any) -> None:
    async with ollama([fault]) as (_, url):
        result = await run(["trial", "--url", url], b"Hello Sage\n/look\n")
    assert result.status == 0
    assert "Sage looks lost in thought" in result.out
    assert result.out.count("could not think") == 1
    assert result.out.count("The Old Library") == 2
    assert "Traceback" not in result.out + result.err


async def test_a_server_that_hangs_is_left_after_its_time(tmp_path: Path) -> None:
    settings = tmp_path / "assistant.toml"
    settings.write_text("[model]\nfirst_byte_seconds = 0.3\nmax_attempts = 1\n")
    async with ollama([Hang("headers")]) as (_, url):
        result = await run(["trial", "--url", url, "--config", str(settings)], b"Hello Sage\n/who\n")
    assert result.status == 0
    assert "did not answer within 0.3 s" in result.out
    assert "In the hamlet" in result.out


async def test_an_outage_ends_and_the_line_is_answered_by_itself(tmp_path: Path) -> None:
    """The pause after the first failure is five seconds; the prompt stays usable all the while."""
    settings = tmp_path / "assistant.toml"
    settings.write_text("[model]\nmax_attempts = 1\n")
    async with ollama([HttpError(503, "busy"), *says("Here I am.")]) as (_, url):
        command = start("trial", "--url", url, "--config", str(settings))
        transport: Any = command.transport
        transport.write(b"Hello Sage\n")
        await command.saw("looks lost in thought")
        transport.write(b"/who\n")
        await command.saw("In the hamlet")
        await command.saw('Sage says, "Here I am."')
        transport.closeStdin()
        assert (await command.ended).status == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_in_mid_thought_leaves_cleanly(number: int) -> None:
    async with ollama([Hang("mid")]) as (fake, url):
        command = start("trial", "--url", url)
        transport: Any = command.transport
        transport.write(b"Hello Sage\n")
        await command.saw("You say")
        while not fake.chats:
            await _turn()
        transport.signalProcess(number)
        result = await command.ended
    assert result.status == 0
    assert "Traceback" not in result.err


def _turn() -> Any:
    from twisted.internet.task import deferLater  # noqa: PLC0415

    return deferLater(reactor, 0.01)


#: Of "Sage is thinking", which a terminal is sent only as far as it differs from what stood there.
THINKING = "think"


@pytest.mark.parametrize("leave", [b"\x03", b"\x04", b"/quit\r"])
async def test_at_a_terminal_there_is_a_prompt_a_sign_and_a_way_out(leave: bytes) -> None:
    slow = Reply(calls=(Call("say", {"text": "I am Sage."}),), delay_seconds=0.5)
    async with ollama([slow]) as (_, url):
        command = start("trial", "--url", url, environment={"TERM": "xterm"}, terminal=True)
        transport: Any = command.transport
        await command.saw("/help for commands")
        transport.write(b"Hello Sage\r")
        await command.saw(THINKING)
        await command.saw('Sage says, "I am Sage."')
        # While something is printed the terminal reads whole lines, and makes a NUL of a Ctrl-D typed just then.
        await command.saw("Ctrl-C", after='Sage says, "I am Sage."')
        transport.write(leave)
        result = await command.ended
    assert result.status == 0
    assert "Traceback" not in result.out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("thinking", [False, True])
async def test_a_signal_at_a_terminal_leaves_cleanly(number: int, thinking: bool) -> None:
    """Ctrl-C is a key while the prompt is shown and a signal while something is printed above it."""
    async with ollama([Hang("mid")]) as (_, url):
        command = start("trial", "--url", url, environment={"TERM": "xterm"}, terminal=True)
        transport: Any = command.transport
        await command.saw("/help for commands")
        if thinking:
            transport.write(b"Hello Sage\r")
            await command.saw(THINKING)
        transport.signalProcess(number)
        result = await command.ended
    assert result.status == 0, result.out
    assert "Traceback" not in result.out


async def test_lines_of_every_kind(tmp_path: Path) -> None:
    odd = b"\n   \n" + b"x" * 100_000 + b"\n" + b"hel\x07lo \x1b[2Jthere\xff\n" + b"\x00\x01\n" + b"last without an end"
    async with ollama(lambda _: Reply(calls=(Call("say", {"text": "Hm."}),))) as (_, url):
        result = await run(["trial", "--url", url], odd)
    assert result.status == 0
    assert result.out.count('Sage says, "Hm."') == 3
    assert "100000 characters" in result.out
    assert "Control characters were left out" in result.out
    assert result.out.count("Say something, or type /help.") == 2
    assert "\x1b" not in result.out
    assert "\x07" not in result.out


async def test_chat_completions_with_a_key_from_the_environment() -> None:
    fake = FakeChat(reactor, says("I am Sage."), "right-key")
    async with serve(fake, reactor) as url:
        good = ["trial", "--provider", "local", "--url", f"{url}/v1", "--model", "sage", "--key", "env:THE_KEY"]
        result = await run(good, b"Hello Sage\n", {"THE_KEY": "right-key"})
        assert 'Sage says, "I am Sage."' in result.out
        wrong = await run(good, b"Hello Sage\n", {"THE_KEY": "planted-wrong-key"})
    assert wrong.status == 2
    assert "refused the key" in wrong.err
    assert "planted-wrong-key" not in wrong.err + wrong.out


@pytest.mark.parametrize("name", ["openai", "openrouter", "anthropic"])
async def test_the_providers_on_the_internet_answer_too(name: str) -> None:
    fake = (FakeAnthropic if name == "anthropic" else FakeChat)(reactor, says("I am Sage.", "Books."), "right-key")
    async with serve(fake, reactor) as url:
        base = url if name == "anthropic" else f"{url}/v1"
        arguments = ["trial", "--provider", name, "--url", base, "--model", "sage", "--key", "env:THE_KEY"]
        result = await run(arguments, TWO_LINES, {"THE_KEY": "right-key"})
    assert result.status == 0, result.err
    assert 'Sage says, "I am Sage."' in result.out
    assert 'Sage says, "Books."' in result.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--provider", "magic"], "there is no provider 'magic'"),
        (["--provider", "ollama", "--url", "http://127.0.0.1:1"], "ollama serve"),
        (["--url", "http://127.0.0.1:1/v1"], "cannot connect"),
        (["--url", "not an address"], "address"),
        (["--provider", "local"], "--url"),
        (["--key", "sk-planted"], "by reference"),
        (["--provider", "ollama", "--key", "env:NOT_SET_ANYWHERE"], "NOT_SET_ANYWHERE"),
        (["--config", "nowhere.toml"], "no file nowhere.toml"),
        (["--log", "no/such/folder/x.log"], "cannot be written"),
    ],
)
async def test_what_cannot_start_says_why_in_one_sentence(arguments: list[str], words: str, tmp_path: Path) -> None:
    result = await run(["trial", *arguments], b"Hello\n", folder=str(tmp_path))
    assert result.status == 2
    assert words in result.err
    assert result.err.startswith("mud-assistant: ")
    assert result.err.count("\n") == 1
    assert "planted" not in result.err
    assert result.out == ""


async def test_a_missing_model_is_told_with_those_there_are() -> None:
    async with ollama([]) as (_, url):
        result = await run(["trial", "--provider", "ollama", "--url", url, "--model", "gone"], b"Hello\n")
    assert result.status == 2
    assert "no model 'gone'; it has: sage" in result.err


async def test_a_malformed_settings_file_is_told_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "assistant.toml").write_text("[assistant]\nname = 'Sage'\nmax_steps = fifty\n")
    result = await run(["trial"], b"Hello\n", folder=str(tmp_path))
    assert result.status == 2
    assert "assistant.toml, line 3" in result.err


async def test_a_tool_that_does_not_exist_is_told_with_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "assistant.toml").write_text("[assistant]\ntools = ['say', 'fly']\n")
    result = await run(["trial"], b"Hello\n", folder=str(tmp_path))
    assert result.status == 2
    assert "no tool 'fly'; those there are: say, look" in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("redirection", "status", "words"),
    [
        ("<&-", 2, "no standard input"),
        ("</dev/null", 0, ""),
        ("<<<'Hello Sage' >/dev/full", 1, "No space left"),
        ("<<<'Hello Sage' | true", 0, ""),
    ],
)
async def test_odd_ends_of_the_pipe(redirection: str, status: int, words: str) -> None:
    async with ollama(lambda _: Reply(calls=(Call("say", {"text": "Hm."}),))) as (_, url):
        line = f"set -o pipefail; {sys.executable} -m mud_assistant trial --url {url} {redirection}"
        out, err, code = await getProcessOutputAndValue("/bin/bash", ["-c", line], env=os.environ, reactor=reactor)
    assert code == status, err
    assert words in err.decode()
    assert b"Traceback" not in out + err


async def test_help_teaches() -> None:
    result = await run(["trial", "--help"], b"")
    assert result.status == 0
    for part in ("--provider", "--json", "examples:", "assistant.toml"):
        assert part in result.out


@pytest.mark.parametrize("protocol", ["chat", "anthropic"])
async def test_the_first_sentence_is_printed_while_the_server_still_writes(protocol: str) -> None:
    first, rest = "The well lies north of the mill.", "Past the old oak. Mind the wolves!"
    clock = Clock()  # nothing more comes than it is moved for
    reply = Reply(calls=(Call("say", {"text": f"{first} {rest}"}),), chunk_size=7, piece_seconds=1.0)
    fake = FakeChat(clock, [reply]) if protocol == "chat" else FakeAnthropic(clock, [reply])
    async with serve(fake, reactor) as url:
        where = ["--provider", "local", "--url", f"{url}/v1"] if protocol == "chat" else ["--provider", "anthropic"]
        if protocol == "anthropic":
            where += ["--url", url, "--key", "env:THE_KEY"]
        command = start("trial", *where, "--model", "sage", environment={"THE_KEY": "made-up-key"})
        transport: Any = command.transport
        transport.write(b"Tell me a story\n")
        seen = command.saw(f'Sage says, "{first}"')
        moving = LoopingCall(lambda: None if seen.called else clock.advance(1.0))
        moved = moving.start(0.05)
        await seen
        assert fake.abandoned == []
        assert rest not in command.out.decode()
        moving.stop()
        await moved
        said = command.saw(f'Sage says, "{rest}"')
        while not said.called:
            clock.advance(1.0)
            await deferLater(reactor, 0.01)
        transport.closeStdin()
        result = await command.ended
    assert result.status == 0
    assert result.out.index(first) < result.out.index(rest)
    assert len(fake.chats) == 1


@pytest.mark.parametrize("protocol", ["chat", "ollama"])
async def test_a_story_from_a_fake_that_anybody_can_start(protocol: str) -> None:
    fake = FakeChat(reactor, _slow_sage) if protocol == "chat" else FakeOllama(reactor, _slow_sage)
    async with serve(fake, reactor) as url:
        provider = ["--provider", "local", "--url", f"{url}/v1"] if protocol == "chat" else ["--url", url]
        result = await run(["trial", *provider, "--model", "sage"], b"Tell me a story\n")
    assert result.status == 0
    assert "Tell me a story" in result.out.partition("Sage says")[2]


def _slow_sage(request: RecordedRequest) -> Step:
    step = simple_sage(request)
    assert isinstance(step, Reply)
    return replace(step, piece_seconds=0.02)

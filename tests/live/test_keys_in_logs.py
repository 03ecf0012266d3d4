"""A server that repeats the key in every way there is: no log and no remark of the program shows it."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from twisted.internet.defer import Deferred, gatherResults

from mud_assistant.llm.testing import (
    Call,
    ErrorInStream,
    FakeChat,
    FakeOllama,
    HttpError,
    RecordedRequest,
    Reply,
    Step,
    serve,
)
from mud_assistant.llm.testing import Raw as RawStep
from tests.live.command import Result, reactor, run

#: With signs that URL, JSON and HTML escape, so that each form is another text.
KEY = "planted+key/0123456789=&end"
FORMS = (
    *(KEY, quote(KEY, safe=""), KEY.replace("&", "&amp;"), KEY.replace("/", "\\/"), KEY.encode().hex()),
    *(b64encode(b"x" * before + KEY.encode()).decode() for before in range(3)),
)
EVERY_FORM = " ".join(FORMS)
#: Of base64 that part which only the key's own bits make.
CODED = tuple(b64encode(b"x" * before + KEY.encode()).decode()[4:-4] for before in range(3))
PLANTED = (*FORMS, "planted", "0123456789", KEY[:12].encode().hex(), *CODED)

ECHOES: dict[str, Step] = {
    "error body": HttpError(400, f"what is this: {EVERY_FORM}"),
    "error body at the key's end": HttpError(400, "x" * 285 + KEY),
    "unauthorized": HttpError(401, f"Incorrect API key provided: {EVERY_FORM}"),
    "error that passes": HttpError(503, f"busy with {EVERY_FORM}", {"Retry-After": "0"}),
    "header": HttpError(429, "slow down", {"X-Key": KEY, "Retry-After": KEY, "X-Request-Id": EVERY_FORM}),
    "header of a success": RawStep(200, {"X-Request-Id": KEY, "Content-Type": KEY}, [b"data: {}\n\n"]),
    "status line in the body": RawStep(404, {}, [f"{KEY} not found".encode()]),
    "page": RawStep(200, {"Content-Type": "text/html"}, [f"<html><p>{EVERY_FORM}</p></html>".encode()]),
    "page of an error": RawStep(502, {"Content-Type": "text/html"}, [f"<h1>{EVERY_FORM}</h1>".encode()]),
    "error in the stream": ErrorInStream(f"failed for {EVERY_FORM}"),
    "broken stream": RawStep(200, {"Content-Type": "text/event-stream"}, [f"data: {EVERY_FORM}".encode()], abort=True),
    "no protocol": RawStep(200, {"Content-Type": "text/event-stream"}, [f"data: {EVERY_FORM}\n\n".encode()]),
    "tool that does not exist": Reply(calls=(Call(KEY, {"text": EVERY_FORM}),)),
    "arguments that are none": Reply(calls=(Call("say", f'{{"text": "{KEY}'),)),
    "arguments of another tool": Reply(calls=(Call("look", {"target": EVERY_FORM, "more": KEY}),)),
    "thoughts": Reply(reasoning=EVERY_FORM, text=""),
    "speech": Reply(calls=(Call("say", {"text": EVERY_FORM}),)),
    "text": Reply(EVERY_FORM),
    "a note": Reply(calls=(Call("remember", {"text": EVERY_FORM}), Call("say", {"text": "I noted it."}))),
}


def references(folder: Path) -> dict[str, tuple[str, Mapping[str, str]]]:
    path = folder / "sage.key"
    path.write_text(f"{KEY}\n")
    path.chmod(0o600)
    return {"env": ("env:THE_KEY", {"THE_KEY": KEY}), "file": ("file:sage.key", {})}


async def converse(step: Step, reference: str, environment: Mapping[str, str], folder: Path) -> tuple[Result, str]:
    """How a conversation ended in which every request is answered with `step`, and what was logged."""

    def brain(request: RecordedRequest) -> Step:
        return step

    fake = FakeChat(reactor, brain, KEY)
    async with serve(fake, reactor) as url:
        settings = folder / "assistant.toml"
        settings.write_text(
            f"[model]\nprovider = 'local'\nurl = '{url}/v1'\nmodel = 'sage'\nkey = '{reference}'\nmax_attempts = 2\n"
            f"[[fallback]]\nprovider = 'local'\nurl = '{url}/v1'\nmodel = 'other'\nkey = '{reference}'\n"
            "max_attempts = 1\n"
        )
        arguments = ["trial", "--config", str(settings), "--trace", "--log", str(folder / "log")]
        arguments += ["--journal", str(folder / "journal")]
        result = await run(arguments, b"/trace\n/trace\nHello Sage\n/status\n/quit\n", environment)
    assert fake.chats, result.err
    assert KEY in fake.chats[0].authorization
    # No later prompt holds it either.
    assert planted_in(json.dumps([request.messages for request in fake.chats], ensure_ascii=False)) == []
    return result, (folder / "log").read_text()


def journals(folder: Path) -> str:
    """All bytes of every journal, and of what lies beside it."""
    files = sorted(folder.rglob("journal*"))
    assert files
    return "".join(file.read_bytes().decode("latin-1") for file in files)


def planted_in(text: str) -> list[str]:
    return [form for form in PLANTED if form in text]


@pytest.mark.parametrize("echo", ECHOES)
async def test_a_key_that_comes_back_is_in_no_log_and_no_remark(echo: str, tmp_path: Path) -> None:
    """By each kind of reference, at the same time."""
    running = []
    for way in ("env", "file"):
        (folder := tmp_path / way).mkdir()
        reference, environment = references(folder)[way]
        running.append(Deferred.fromCoroutine(converse(ECHOES[echo], reference, environment, folder)))
    for result, log in await gatherResults(running, consumeErrors=True):
        assert result.status == 0, result.err
        assert planted_in(log) == []
        assert planted_in(result.out + result.err) == []
        assert planted_in(journals(tmp_path)) == []


@pytest.mark.parametrize("echo", ["error body", "unauthorized", "error that passes", "error in the stream"])
async def test_what_was_replaced_was_there(echo: str, tmp_path: Path) -> None:
    reference, environment = references(tmp_path)["env"]
    result, log = await converse(ECHOES[echo], reference, environment, tmp_path)
    assert log.count("[key]") >= 4
    assert result.out.count("[key]") >= 4


async def test_a_server_that_repeats_the_key_at_the_start_is_told_without_it(tmp_path: Path) -> None:
    reference, environment = references(tmp_path)["file"]

    class Echoing(FakeChat):
        def answer(self, request: RecordedRequest) -> Any:
            return self.error(500, f"refused {EVERY_FORM}")

    async with serve(Echoing(reactor, []), reactor) as url:
        arguments = ["trial", "--provider", "local", "--url", f"{url}/v1", "--key", reference, "--log", "log"]
        result = await run(arguments, b"", environment, str(tmp_path))
    assert result.status == 2
    assert result.err.count("[key]") >= 4
    assert planted_in(result.err + result.out + (tmp_path / "log").read_text()) == []


async def test_a_relative_key_file_starts_from_the_settings_or_for_the_option_from_here(tmp_path: Path) -> None:
    (games := tmp_path / "games").mkdir()
    references(games)
    (games / "assistant.toml").write_text("[model]\nprovider = 'ollama'\nkey = 'file:sage.key'\n")
    here = str(tmp_path)
    answers = [Reply(calls=(Call("say", {"text": "Yes."}),))] * 2
    fake = FakeOllama(reactor, answers, key=KEY)
    async with serve(fake, reactor) as url:
        config = ["trial", "--url", url, "--config", "games/assistant.toml"]
        from_settings = await run(config, b"Hello Sage\n", folder=here)
        from_option = await run([*config, "--key", "file:games/sage.key"], b"Hello Sage\n", folder=here)
        astray = await run([*config, "--key", "file:sage.key"], b"Hello Sage\n", folder=here)
    assert 'Sage says, "Yes."' in from_settings.out, from_settings.err
    assert 'Sage says, "Yes."' in from_option.out, from_option.err
    assert astray.status == 2
    assert f"there is no file {tmp_path}/sage.key" in astray.err


@pytest.mark.parametrize(
    ("mode", "content", "words"),
    [(0o644, KEY, "chmod 600"), (0o600, "", "is empty"), (0o600, f"{KEY}\n{KEY}", "more than one line")],
)
async def test_a_key_file_that_cannot_be_used_is_one_sentence(
    mode: int, content: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "sage.key"
    path.write_text(content)
    path.chmod(mode)
    arguments = ["trial", "--provider", "ollama", "--key", "file:sage.key", "--log", "log"]
    result = await run(arguments, b"Hello Sage\n", folder=str(tmp_path))
    assert result.status == 2
    assert words in result.err
    assert result.err.count("\n") == 1
    assert planted_in(result.err + result.out + (tmp_path / "log").read_text()) == []


async def test_a_key_in_the_place_of_its_reference_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "assistant.toml").write_text(f"[model]\nkey = {json.dumps(KEY)}\n")
    result = await run(["trial"], b"Hello Sage\n", folder=str(tmp_path))
    assert result.status == 2
    assert "assistant.toml, line 2: model.key: a key is given by reference" in result.err
    assert planted_in(result.err + result.out) == []

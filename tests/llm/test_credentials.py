"""A key goes to the origin it was given with, and nowhere else shows."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.logger import ILogObserver, LogEvent, globalLogPublisher
from zope.interface import implementer

from mud_assistant.llm import LLMError, Rejected, get_provider
from mud_assistant.llm.testing import HttpError, Raw, Reply
from mud_assistant.resilience import Limits
from tests.llm.test_client import ASKED, client_of

KEY = "planted-key-0123456789"
PROVIDERS = ("ollama", "local")


@pytest.mark.parametrize("name", PROVIDERS)
def test_another_origin_gets_no_key_and_another_path_does(name: str) -> None:
    provider = get_provider(name, "http://127.0.0.1:1/v1", "m", key=KEY)
    assert KEY in str(provider.build_headers())
    provider.api_url = "http://127.0.0.1:1/other/v1"
    assert KEY in str(provider.build_headers())
    for elsewhere in ("http://127.0.0.1:2/v1", "https://127.0.0.1:1/v1", "http://evil.example/v1"):
        provider.api_url = elsewhere
        assert KEY not in str(provider.build_headers())
    provider.rebind("http://127.0.0.1:2/v1", KEY)
    assert KEY in str(provider.build_headers())


@pytest.mark.parametrize("name", PROVIDERS)
async def test_94_a_redirect_is_not_followed(name: str) -> None:
    away = Raw(307, {"Location": "http://127.0.0.1:1/elsewhere"}, [b""])
    async with client_of(name, [away], key=KEY) as (client, fake):
        with pytest.raises(Rejected):
            await client.chat_completion(ASKED)
        assert len(fake.requests) == 1


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize(
    "step",
    [
        HttpError(401, f"Incorrect API key provided: {KEY}"),
        HttpError(400, f"bad request with {KEY}"),
        Raw(200, {"Content-Type": "text/html"}, [f"<p>{KEY}</p>".encode()]),
        Raw(200, {}, [b"data: {", b"nothing"], abort=True),
        Reply("x"),
    ],
)
async def test_95_a_key_is_in_no_error_no_repr_and_no_log_line(name: str, step: Any) -> None:
    seen: list[str] = []

    @implementer(ILogObserver)
    def watch(event: LogEvent) -> None:
        seen.append(f"{event!r} {event.get('log_failure')}")

    globalLogPublisher.addObserver(watch)
    try:
        async with client_of(name, [step], key=KEY, limits=Limits(1, 1, 1)) as (client, fake):
            assert fake.chats == []
            try:
                seen.append(repr(await client.chat_completion(ASKED)))
            except LLMError as error:
                seen.append(f"{error} {error!r} {vars(error)} {error.__cause__!r}")
            seen.append(f"{client!r} {client.provider!r} {client.record!r}")
            assert KEY in fake.chats[0].authorization
    finally:
        globalLogPublisher.removeObserver(watch)
    assert KEY not in "\n".join(seen)

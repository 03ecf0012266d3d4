"""The answers that the proxy gives by itself, as our own client reads them."""

from __future__ import annotations

import json
import zlib

import pytest
from twisted.web.http_headers import Headers

from mud_assistant.resilience import BodyTooLarge, Collected, ConnectionLost, Limits, Request
from mud_assistant.resilience.testing import (
    EndlessEvents,
    Faults,
    GzipBomb,
    HalfEvent,
    HtmlPage,
    HugeHeader,
    Latency,
    Slicer,
    Status,
    Truncate,
    always,
    overloaded,
    server_error,
    throttled,
)
from tests.resilience.testing.test_proxy import rigged


async def test_throttled_looks_like_openai() -> None:
    async with rigged(throttled(12)) as rig:
        sink = await rig.ask()
        assert sink.status == 429
        assert sink.headers.getRawHeaders("Retry-After") == ["12"]
        assert json.loads(sink.body)["error"]["code"] == "rate_limit_exceeded"


async def test_overloaded_looks_like_anthropic() -> None:
    async with rigged(overloaded()) as rig:
        sink = await rig.ask()
        assert sink.status == 529
        assert json.loads(sink.body)["error"]["type"] == "overloaded_error"


@pytest.mark.parametrize("code", [500, 503])
async def test_a_server_error(code: int) -> None:
    async with rigged(server_error(code)) as rig:
        sink = await rig.ask()
        assert sink.status == code
        assert json.loads(sink.body)["error"]["type"] == "server_error"


async def test_any_status_with_its_body_and_headers() -> None:
    async with rigged(Status(418, b"short", (("X-Pot", "tea"),))) as rig:
        sink = await rig.ask()
        assert (sink.status, sink.body, sink.headers.getRawHeaders("X-Pot")) == (418, b"short", ["tea"])
        rig.proxy.plan = always(Status(204))
        assert (await rig.ask()).status == 204
        assert rig.proxy.open_connections == 1


async def test_a_web_page() -> None:
    async with rigged(HtmlPage()) as rig:
        sink = await rig.ask()
        assert sink.headers.getRawHeaders("Content-Type") == ["text/html; charset=utf-8"]
        assert b"<html>" in sink.body


async def test_half_an_event_ends_well_as_http_sees_it() -> None:
    async with rigged(HalfEvent()) as rig:
        sink = await rig.ask()
        assert sink.headers.getRawHeaders("Content-Type") == ["text/event-stream"]
        assert sink.body.startswith(b"data: {")
        assert b"\n" not in sink.body
        await rig.ask()
        assert rig.proxy.open_connections == 1


async def test_endless_events_have_signs_of_life_until_the_client_leaves() -> None:
    class Patient(Collected):
        def data(self, piece: bytes) -> bool:
            super().data(piece)
            if len(self.body) > 60:
                raise InterruptedError
            return False

    async with rigged(EndlessEvents(0.005)) as rig:
        sink = Patient()
        with pytest.raises(InterruptedError):
            await rig.exchange.perform(Request("GET", rig.proxy.url, Headers()), sink)
        assert sink.body.startswith(b": ping\n\n: ping\n\n")


async def test_endless_events_outgrow_a_cap() -> None:
    async with rigged(EndlessEvents(0), Limits(5, 5, 5, max_body_bytes=2000)) as rig:
        with pytest.raises(BodyTooLarge):
            await rig.ask()


async def test_a_huge_header_is_cut_off_and_a_large_one_is_not() -> None:
    async with rigged(HugeHeader(2_000_000)) as rig:
        with pytest.raises(BodyTooLarge, match="head"):
            await rig.ask()
        rig.proxy.plan = always(HugeHeader(50_000))
        sink = await rig.ask()
        assert (sink.status, sink.body) == (200, b"{}")
        assert len("".join(sink.headers.getRawHeaders("X-Padding") or [])) > 48_000


async def test_a_bomb_is_small_until_it_is_unpacked() -> None:
    async with rigged(GzipBomb(20_000_000)) as rig:
        sink = await rig.ask()
        assert sink.headers.getRawHeaders("Content-Encoding") == ["gzip"]
        assert len(sink.body) < 40_000
        assert len(zlib.decompress(sink.body, 31)) == 20_000_000


async def test_faults_of_the_connection_befall_canned_answers_too() -> None:
    async with rigged(Faults(Latency(0.01), throttled(1), Slicer(7))) as rig:
        assert (await rig.ask()).status == 429
        rig.proxy.plan = always(Faults(HtmlPage(), Truncate(100)))
        with pytest.raises(ConnectionLost):
            await rig.ask()

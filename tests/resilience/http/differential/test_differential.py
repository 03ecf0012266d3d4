"""No response is read otherwise than h11 and Twisted read it, unless a rule says why (`rules.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import orjson
import pytest

from mud_assistant.resilience.testing.answers import (
    Answer,
    EndlessEvents,
    GzipBomb,
    HalfEvent,
    HtmlPage,
    HugeHeader,
    Status,
    overloaded,
    pieces,
    server_error,
    throttled,
)
from tests.resilience.http.differential.grammar import case_of
from tests.resilience.http.differential.readings import Case, End, h11s, ours, twisteds
from tests.resilience.http.differential.rules import compare

RECORDED = Path(__file__).parents[4].parent / "shared" / "data" / "recorded"
#: How many made responses a run compares; `python -m tests.resilience.http.differential` compares more.
MADE = 1500
#: The answers of `mud_assistant.resilience.testing`.
ANSWERS = [
    Status(200, b"{}", (("Content-Type", "application/json"),)), Status(204), Status(304), Status(404, b"no"),
    HtmlPage(),
    HalfEvent(), EndlessEvents(1), HugeHeader(100_000), GzipBomb(100_000), throttled(3),
    overloaded(), server_error(503),
]  # fmt: skip


@pytest.mark.parametrize("part", range(5))
def test_made_responses(part: int) -> None:
    for seed in range(part, MADE, 5):
        assert not compare(case_of(seed), Random(seed))  # noqa: S311


@pytest.mark.parametrize("answer", ANSWERS, ids=[type(each).__name__ for each in ANSWERS])
def test_answers_of_servers_in_trouble_cut_anywhere(answer: Answer) -> None:
    """The faults that cut an answer (Truncate, Reset, HangAfter, Hang, Refuse) leave some first bytes of it."""
    data = b"".join(islice(pieces(answer), 200))
    step = max(1, len(data) // 150)
    for closes in (True, False):
        for cut in {*range(0, len(data), step), len(data) - 1, len(data)}:
            assert not compare(Case("GET", data[:cut], closes), Random(cut), by_byte=cut < 300)  # noqa: S311


def recorded() -> Iterator[bytes]:
    """Each recorded response as it came, in one piece and in chunks."""
    for name in ("traffic.jsonl", "responses.jsonl"):
        for line in (RECORDED / name).read_bytes().splitlines():
            row = orjson.loads(line)
            body = row["response_body"]["text"].encode()
            hop = {"content-length", "transfer-encoding", "connection"}
            kept = [f"{key}: {value}" for key, value in row["response_headers"].items() if key.lower() not in hop]
            head = "\r\n".join([f"HTTP/1.1 {row['response_status']} X", *kept]).encode()
            yield head + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            chunks = [body[at : at + 500] for at in range(0, len(body), 500)]
            coded = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
            yield head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + coded + b"0\r\n\r\n"


@pytest.mark.skipif(not RECORDED.exists(), reason=f"no recordings at {RECORDED}")
def test_recorded_responses() -> None:
    chance = Random(20)  # noqa: S311
    for data in recorded():
        assert ours(Case("GET", data, closes=False), [data]).is_kept
        assert not compare(Case("GET", data, closes=False), chance, by_byte=len(data) < 1000)
        cut = data[: chance.randrange(len(data))]
        assert not compare(Case("GET", cut, closes=True), chance, by_byte=False)


#: Shapes that were read wrongly once, or that the rules stand on: what comes and what is made of it.
KNOWN = [
    ("coded twice", b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", End.FAILED, False),
    ("coded, and no chunks", b"Transfer-Encoding: gzip\r\n\r\nhello", End.FAILED, False),
    ("chunked twice", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", End.FAILED, False),
    ("a tab after the coding", b"Transfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n", End.FAILED, False),
    ("a line break after the body", b"Content-Length: 2\r\n\r\nok\r\n", End.COMPLETE, False),
    ("a body of line breaks", b"Content-Length: 2\r\n\r\n\r\n", End.COMPLETE, True),
    ("a line break after a body of them", b"Content-Length: 2\r\n\r\n\r\n\n", End.COMPLETE, False),
    ("a line break after chunks", b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n\r\n", End.COMPLETE, False),
    ("a second response", b"Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n", End.COMPLETE, False),
    ("trailers", b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n", End.COMPLETE, True),
]


@pytest.mark.parametrize(("rest", "end", "is_kept"), [each[1:] for each in KNOWN], ids=[each[0] for each in KNOWN])
def test_known_shapes(rest: bytes, end: End, is_kept: bool) -> None:
    data = b"HTTP/1.1 200 OK\r\n" + rest
    for pieces_of in (
        [data],
        [data[at : at + 1] for at in range(len(data))],
        [data[:-1], data[-1:]],
        [data[:-3], data[-3:]],
    ):
        reading = ours(Case("GET", data, closes=False), pieces_of)
        assert (reading.end, reading.is_kept) == (end, is_kept)


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (b"HTTP/1.1 150 X\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", End.FAILED),
        (
            b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            End.COMPLETE,
        ),
        (b"HTTP/2.0 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", End.FAILED),
        (b"RTSP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", End.FAILED),
        (b"\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", End.FAILED),
    ],
)
def test_known_heads_are_refused_or_not_kept(data: bytes, end: End) -> None:
    reading = ours(Case("GET", data, closes=False), [data])
    assert (reading.end, reading.is_kept) == (end, False)


def test_the_answer_to_head_has_no_body() -> None:
    data = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    reading = ours(Case("HEAD", data, closes=False), [data])
    assert (reading.end, reading.body, reading.is_kept) == (End.COMPLETE, b"", False)


def test_the_oracles_read_the_usual_response() -> None:
    """A comparison with an oracle that reads nothing would prove nothing."""
    case = Case("GET", b"HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 2\r\n\r\nok", closes=False)
    for read in (ours, h11s, twisteds):
        reading = read(case, [case.data])
        assert (reading.end, reading.status, reading.body, reading.is_kept) == (End.COMPLETE, 200, b"ok", True)
        assert (b"x", (b"y",)) in reading.headers

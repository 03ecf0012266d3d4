"""Received headers are those of Twisted, however they are looked at; sent ones are encoded once and hold one."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.web.http_headers import Headers

from mud_assistant.resilience.http.headers import ReceivedHeaders, SentHeaders, encode

NAMES = st.sampled_from([b"content-type", b"Content-Type", b"X", b"x", b"ETag", b"www-authenticate", b"Set-Cookie"])
VALUES = st.binary(max_size=8).filter(lambda value: not {0, 10, 11, 12, 13} & set(value))
PAIRS = st.lists(st.tuples(NAMES, VALUES), max_size=6)
Pairs = list[tuple[bytes, bytes]]


def plain(pairs: Pairs) -> Headers:
    """What Twisted's client makes of these lines: it takes the blanks round a value away."""
    headers = Headers()
    for name, value in pairs:
        headers.addRawHeader(name, value.strip())
    return headers


def text(headers: Headers, name: str) -> Any:
    try:
        return headers.getRawHeaders(name)
    except UnicodeDecodeError:  # ours has replacement characters there
        return [value.decode("utf-8", "replace") for value in headers.getRawHeaders(name.encode(), ())]


@given(PAIRS, NAMES, st.booleans())
def test_every_way_of_reading_is_that_of_twisted(pairs: Pairs, name: bytes, is_filled: bool) -> None:
    expected, headers = plain(pairs), ReceivedHeaders(pairs)
    if is_filled:
        list(headers.getAllRawHeaders())
    assert headers.hasHeader(name.decode()) == expected.hasHeader(name.decode())
    for each in (name, name.lower(), name.upper()):
        assert headers.hasHeader(each) == expected.hasHeader(each)
    assert headers.getRawHeaders(name) == expected.getRawHeaders(name)
    assert headers.getRawHeaders(name, [b"none"]) == expected.getRawHeaders(name, [b"none"])
    assert headers.getRawHeaders(name.decode()) == text(expected, name.decode())
    assert list(headers.getAllRawHeaders()) == list(expected.getAllRawHeaders())
    assert headers.getRawHeaders(name) == expected.getRawHeaders(name)
    assert repr(headers).partition("(")[2] == repr(expected).partition("(")[2]


@given(PAIRS, PAIRS)
def test_comparing_is_that_of_twisted(pairs: Pairs, others: Pairs) -> None:
    same, other = plain(pairs) == plain(others), plain(others)
    assert (ReceivedHeaders(pairs) == other) is same
    assert (other == ReceivedHeaders(pairs)) is same
    assert (ReceivedHeaders(pairs) != other) is not same
    assert (other != ReceivedHeaders(pairs)) is not same
    assert (ReceivedHeaders(pairs) == ReceivedHeaders(others)) is same
    other_kind: object = pairs
    assert ReceivedHeaders(pairs) != other_kind


@given(PAIRS, NAMES, VALUES)
def test_changing_is_that_of_twisted(pairs: Pairs, name: bytes, value: bytes) -> None:
    expected, headers = plain(pairs), ReceivedHeaders(pairs)
    for each in (expected, headers):
        each.addRawHeader(name, value)
        each.removeHeader(b"X")
        each.setRawHeaders("Z", ["1", "2"])
    assert headers == expected
    assert headers.hasHeader("z")


@given(PAIRS)
def test_copies_are_apart(pairs: Pairs) -> None:
    for copied in (ReceivedHeaders(pairs).copy(), deepcopy(ReceivedHeaders(pairs))):
        assert copied == plain(pairs)
    headers = ReceivedHeaders(pairs)
    headers.copy().setRawHeaders(b"Z", [b"1"])
    assert not headers.hasHeader(b"Z")


def test_blanks_round_a_value_are_none_of_it() -> None:
    headers = ReceivedHeaders([(b"Content-Type", b"text/event-stream \t")])
    assert headers.getRawHeaders("content-type") == ["text/event-stream"]
    assert not hasattr(headers, "anything")


def test_headers_that_frame_the_body_are_not_sent() -> None:
    names = ["Connection", "Content-Length", "Expect", "Keep-Alive", "Proxy-Connection", "TE", "Trailer"]
    names += ["Transfer-Encoding", "Upgrade"]
    for made in (Headers, SentHeaders):
        headers = made({**{name: ["x"] for name in names}, "X-Key": ["1", "2"]})
        assert encode(headers) == (b"X-Key: 1\r\nX-Key: 2\r\n", False)


def test_sent_headers_are_encoded_once_and_know_their_host() -> None:
    headers = SentHeaders({"host": ["elsewhere"]})
    assert encode(headers) == (b"Host: elsewhere\r\n", True)
    assert encode(headers) is encode(headers)


@pytest.mark.parametrize(
    "value", ["a\r\nX-Other: b", "a\nX-Other: b", "a\rX-Other: b", "\r\n\r\nGET / HTTP/1.1", "a\n"]
)
@pytest.mark.parametrize("made", [Headers, SentHeaders])
def test_a_value_cannot_end_its_line(made: Callable[[Any], Headers], value: str) -> None:
    lines, _ = encode(made({"X-Key": [value]}))
    assert lines.count(b"\r") == lines.count(b"\n") == 1
    assert lines.endswith(b"\r\n")


@pytest.mark.parametrize("name", ["X: y\r\nX-Other", "X\n", "X Y", "X:", "", "X\x00"])
@pytest.mark.parametrize("made", [Headers, SentHeaders])
def test_a_name_that_is_none_is_refused(made: Callable[[Any], Headers], name: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        encode(made({name: ["a"]}))

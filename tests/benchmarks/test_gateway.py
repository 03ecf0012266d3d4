"""The gateway under faults keeps nothing and leaves nobody without an answer; what judges that can tell."""

from __future__ import annotations

import pytest
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)

from benchmarks.children import stub
from benchmarks.gateway import body_of
from benchmarks.gateway_endurance import PATHS, Kept, endured, is_whole
from benchmarks.gateway_load import post, whole_json, whole_stream

CALLS = 120


async def test_requests_with_faults_are_answered_and_leave_nothing() -> None:
    async with stub(_reactor) as (url,):
        before, _, _ = await endured(_reactor, CALLS, url)
        after, ended, kept = await endured(_reactor, CALLS, url)
    assert kept.total == 0, kept
    assert (after.descriptors, after.calls) == (before.descriptors, before.calls)
    assert ended.total() == CALLS
    assert {"answered", "left"} < set(ended)
    assert not {"unanswered", "status 400", "status 500"} & set(ended), ended


def test_an_answer_is_whole_with_its_last_byte() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
    assert [whole_json(head[:-1]), whole_json(head + b"abc"), whole_json(head + b"abcd")] == [False, False, True]
    streamed = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
    assert [whole_stream(streamed), whole_stream(streamed + b"0\r\n\r\n")] == [False, True]
    assert is_whole(head.replace(b"200", b"502") + b"abcd")


def test_a_refusal_is_not_taken_for_an_answer() -> None:
    with pytest.raises(AssertionError):
        whole_json(b"HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("path", PATHS)
def test_a_request_has_about_two_kilobytes(path: str) -> None:
    body = body_of(path, "whole", streams=True)
    assert 1900 < len(body) < 2300
    assert post(80, path, body).endswith(b"\r\n\r\n" + body)


def test_all_that_is_kept_counts() -> None:
    assert Kept(1, 2, 3, 4, 5).total == 15

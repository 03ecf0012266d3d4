"""Calls with every fault, cancelled and out of time: all of them end, and leave nothing open."""

from __future__ import annotations

from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.ssl import Certificate, trustRootFromCertificates

from benchmarks.children import https_stub, stub
from benchmarks.endurance import endured
from benchmarks.figures import Figure
from benchmarks.held import Held, grown
from benchmarks.tls import contexts_used

CALLS = 150


async def test_calls_with_faults_leave_no_descriptor_and_no_timer() -> None:
    async with stub(_reactor) as (plain,), https_stub(_reactor) as (secure, made):
        roots = trustRootFromCertificates([Certificate.loadPEM(made.public)])
        before, _ = await endured(_reactor, CALLS, plain, secure, roots)
        with contexts_used() as contexts:
            after, ended = await endured(_reactor, CALLS, plain, secure, roots)
    assert (after.descriptors, after.calls) == (before.descriptors, before.calls)
    assert len(contexts) == 1
    assert ended.total() == CALLS
    assert {"answered", "cancelled", "LLMDeadlineExceeded"} < set(ended)


def test_what_has_grown_is_missed_and_what_is_less_is_not() -> None:
    found = grown("10", Held(1.0, 20, 3, 5), Held(9.0, 22, 3, 4), " after calls")
    assert found[0] == Figure("10", "descriptors more after calls", 2, "", 0, note="22")
    assert [one.verdict for one in found] == ["missed", "met", "met"]

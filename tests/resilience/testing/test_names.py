"""What can be typed on the command line, and what is said when it cannot."""

from __future__ import annotations

import pytest

from mud_assistant.resilience.testing import (
    PASS,
    Fault,
    Faults,
    HtmlPage,
    Latency,
    Reset,
    Slicer,
    SlowClose,
    Status,
    Truncate,
    describe,
    fault_named,
    overloaded,
    throttled,
)
from mud_assistant.resilience.testing.names import NAMES
from mud_assistant.resilience.testing.proxy import upstream_of


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_name_makes_a_fault_that_can_be_described(name: str) -> None:
    described = describe(fault_named(name))
    assert describe(fault_named(described)) == described


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("latency", Latency(1)),
        ("latency=0.5", Latency(0.5)),
        ("latency=.5,.1+slicer=3", Faults(Latency(0.5, 0.1), Slicer(3))),
        ("reset=100", Reset(100)),
        ("status=404", Status(404)),
        ("throttled=7", throttled(7)),
        ("overloaded", overloaded()),
        ("slow-close=1+truncate=9", Faults(SlowClose(1), Truncate(9))),
    ],
)
def test_what_a_name_makes(text: str, fault: Fault) -> None:
    assert fault_named(text) == fault


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("explode", "there is no fault 'explode'"),
        ("", "there is no fault ''"),
        ("latency=soon", "type a number, as in `latency=1`"),
        ("latency=nan", "type a number"),
        ("slicer=1.5", "type a whole number, as in `slicer=10`"),
        ("latency=1,2,3", "type `latency=SECONDS,JITTER_SECONDS`"),
        ("hang=1", "type `hang` alone"),
        ("status=99", "give the status as a number from 200 to 599"),
        ("hang+reset", "combine one fault that cuts"),
    ],
)
def test_a_name_that_makes_nothing_is_explained(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        fault_named(text)
    assert says in str(caught.value)


def test_a_fault_is_described_as_it_is_typed() -> None:
    assert describe(PASS) == "pass"
    assert describe(Faults(Latency(0.5), HtmlPage())) == "latency=0.5,0+html-page"
    assert describe(throttled(3)) == "status=429"


@pytest.mark.parametrize(
    ("url", "upstream"),
    [
        ("http://127.0.0.1:11434/v1", ("127.0.0.1", 11434, "/v1")),
        ("http://localhost", ("localhost", 80, "")),
        ("http://[::1]:8080/a?b=c", ("::1", 8080, "/a?b=c")),
    ],
)
def test_an_address_is_read(url: str, upstream: tuple[str, int, str]) -> None:
    assert upstream_of(url) == upstream


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("https://api.openai.com/v1", "plain http, not https"),
        ("127.0.0.1:11434", "with http:// and a host"),
        ("http://", "with http:// and a host"),
        ("http://host:port/", "a number up to 65535"),
        ("http://host:99999/", "a number up to 65535"),
        ("http://me:secret@host/", "without a name or a password"),
    ],
)
def test_an_address_that_cannot_be_is_explained(url: str, says: str) -> None:
    with pytest.raises(ValueError, match=r"like http://127\.0\.0\.1:11434/v1") as caught:
        upstream_of(url)
    assert says in str(caught.value)
    assert "secret" not in str(caught.value)

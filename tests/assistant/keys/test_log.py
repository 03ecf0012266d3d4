from __future__ import annotations

import io
import json
import time
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import pytest
from twisted.logger import (
    LegacyLogObserverWrapper,
    Logger,
    LogPublisher,
    eventAsText,
    formatEvent,
    jsonFileLogObserver,
    textFileLogObserver,
)
from twisted.python import log as legacy
from twisted.python.failure import Failure

from mud_assistant.assistant.keys.log import clean_event, redacting
from mud_assistant.assistant.keys.redaction import Secrets

KEY = "planted-key-0123456789"


class Holder:
    """Shows the key in every way an object can."""

    def __init__(self, inner: Any = KEY) -> None:
        self.inner = inner

    def __str__(self) -> str:
        return f"holder of {self.inner}"

    def __repr__(self) -> str:
        return f"<Holder {self.inner}>"


class Quiet(Holder):
    """Shows nothing, but its attribute can be asked for."""

    def __str__(self) -> str:
        return "quiet"

    __repr__ = __str__


class Broken:
    """Fails to show itself, and tells the key in its error."""

    def __str__(self) -> str:
        raise ValueError(KEY)

    __repr__ = __str__


class TwoParts(Exception):
    """Needs more arguments than a copy of it would be given."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"{status}: {body}")
        self.body = body


Pair = namedtuple("Pair", ["name", "value"])  # noqa: PYI024  (the plain kind)


def secrets_of(*values: str) -> Secrets:
    secrets = Secrets()
    for value in values:
        secrets.add(value)
    return secrets


class Sink:
    """A logger with every kind of observer behind the redaction."""

    def __init__(self, *values: str) -> None:
        self.secrets = secrets_of(*(values or (KEY,)))
        self.events: list[Any] = []
        self.text, self.json = io.StringIO(), io.StringIO()
        self.old: list[str] = []

        def told(event: Any) -> None:
            self.old.append(f"{legacy.textFromEventDict(event)} {event!r}")

        old: Any = told
        observers: list[Any] = [
            self.events.append,
            textFileLogObserver(self.text),
            jsonFileLogObserver(self.json),
            LegacyLogObserverWrapper(old),
        ]
        self.publisher = LogPublisher(*(redacting(observer, self.secrets) for observer in observers))
        self.log = Logger("test", observer=self.publisher)

    def everything(self) -> str:
        shown = [self.text.getvalue(), self.json.getvalue(), *self.old]
        for event in self.events:
            shown += [formatEvent(event), eventAsText(event), repr(event)]
            shown += [f"{value} {value!r}" for value in event.values()]
        return "\n".join(shown)


def raising(error: BaseException) -> None:
    raise error


def raised(error: BaseException) -> Failure:
    try:
        raising(error)
    except BaseException:  # noqa: BLE001  (what is caught is what is tested)
        return Failure()
    raise AssertionError


def chained() -> Failure:
    outside = RuntimeError("outside")
    outside.__cause__ = raised(ValueError(KEY)).value
    return raised(outside)


SHAPES: dict[str, Any] = {
    "text": f"a {KEY} b",
    "bytes": KEY.encode(),
    "bytearray": bytearray(KEY.encode()),
    "dict": {"headers": {"Authorization": [f"Bearer {KEY}"]}, KEY: 1},
    "list": ["x", ["y", (KEY, 3)]],
    "tuple": (1, KEY),
    "namedtuple": Pair("a", KEY),
    "set": {KEY, 1},
    "frozenset": frozenset({KEY}),
    "object": Holder(),
    "object in a list": [Holder(), Holder("nothing")],
    "object that cannot show itself": Broken(),
    "exception": TwoParts(401, KEY),
    "exception with a number": OSError(5, KEY, KEY),
    "exception in a dict": {"error": ValueError(KEY.encode())},
    "failure": raised(TwoParts(401, KEY)),
    "chained failure": chained(),
    "deep": [[[[[[[[[[[[KEY]]]]]]]]]]]],
    "json": json.dumps({"key": KEY}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_no_observer_sees_the_key_whatever_holds_it(shape: str) -> None:
    sink = Sink()
    sink.log.info("it said {value} and {value!r}", value=SHAPES[shape], other=7)
    assert KEY not in sink.everything()
    assert len(sink.events) == 1
    assert sink.events[0]["other"] == 7
    assert "it said" in sink.text.getvalue()


@pytest.mark.parametrize("shape", ["text", "bytes", "dict", "list", "namedtuple", "object", "exception"])
def test_an_event_keeps_its_format_where_that_says_the_same(shape: str) -> None:
    sink = Sink()
    sink.log.info("it said {value} and {value!r}", value=SHAPES[shape])
    assert sink.events[0]["log_format"] == "it said {value} and {value!r}"


def test_a_list_that_holds_itself_is_searched_once() -> None:
    sink = Sink()
    knot: list[Any] = [KEY, 1]
    knot += [knot] * 8
    sink.log.info("{knot}", knot=knot)
    assert KEY not in sink.everything()
    assert sink.events[0]["knot"][:2] == ["[key]", 1]


def test_a_key_that_only_the_format_brings_out_is_found() -> None:
    sink = Sink()
    sink.log.info("{quiet.inner} {{braces}}", quiet=Quiet())
    sink.log.info("{first}{second}", first=KEY[:9], second=KEY[9:])
    sink.log.info("{make()}", make=lambda: KEY)
    sink.log.info("in the format itself: " + KEY + " {missing}")  # noqa: G003  (as careless code does)
    assert sink.text.getvalue().count("[key]") >= 4
    assert KEY not in sink.text.getvalue() + "".join(map(eventAsText, sink.events))
    assert formatEvent(sink.events[0]) == "[key] {braces}"


def test_a_failure_keeps_its_type_and_its_traceback() -> None:
    sink = Sink()
    for detail in (False, True):
        try:
            secret_local = KEY
            raising(TwoParts(401, f"body with {secret_local}"))
        except TwoParts:
            sink.log.failure("it broke", failure=Failure(captureVars=detail))
    assert KEY not in sink.everything()
    failure = sink.events[0]["log_failure"]
    assert failure.check(TwoParts)
    assert "401: body with [key]" in failure.getTraceback()
    assert "test_a_failure_keeps_its_type" in failure.getTraceback()
    assert "[key]" in failure.getErrorMessage()
    told = [failure.getTraceback(detail=detail) for detail in ("default", "brief", "verbose")]
    assert KEY not in "".join([*told, failure.getBriefTraceback(), str(failure), repr(failure), str(vars(failure))])
    assert sink.text.getvalue().count("Traceback") >= 2


def test_an_event_without_a_key_is_handed_on_as_it_is() -> None:
    event = {"log_format": "{a}", "a": [1, {"b": Holder("x")}], "log_failure": raised(ValueError("x")), "log_time": 1.0}
    assert clean_event(event, secrets_of(KEY)) is event
    assert clean_event({"a": KEY}, Secrets()) == {"a": KEY}


def test_an_original_event_is_never_changed() -> None:
    inner = [KEY]
    event = {"log_format": "{a}", "a": inner}
    assert clean_event(event, secrets_of(KEY))["a"] == ["[key]"]
    assert event == {"log_format": "{a}", "a": [KEY]}
    assert inner == [KEY]


def test_a_number_that_is_a_key_is_found() -> None:
    sink = Sink("123456789")
    sink.log.info("{n} {small}", n=123456789, small=12)
    assert "123456789" not in sink.everything()


class Liar:
    """Fails at every question."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(KEY)


class Hostile(dict[str, Any]):
    """A dict that cannot be walked."""

    def items(self) -> Any:
        raise RuntimeError(KEY)


HOSTILE: dict[str, Callable[[], Any]] = {  # made late, because pytest looks at what it is given
    "liar": Liar,
    "dict": lambda: Hostile(a=KEY),
    "liar in a dict": lambda: {"a": Liar(), "b": KEY},
    "broken": Broken,
    "broken in a list": lambda: [Broken(), KEY],
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_it_never_raises_and_loses_no_event(kind: str) -> None:
    value = HOSTILE[kind]()
    seen: Any = []
    redacting(seen.append, secrets_of(KEY))({"log_format": "{value} {other}", "value": value, "other": "kept"})
    assert len(seen) == 1
    assert KEY not in eventAsText(seen[0])


def test_an_event_that_cannot_be_read_at_all_still_says_that_it_was() -> None:
    class Unreadable(dict[str, Any]):
        def __iter__(self) -> Any:
            raise RuntimeError(KEY)

        keys = items = __iter__

    seen: Any = []
    redacting(seen.append, secrets_of(KEY))(Unreadable(log_format="x", log_namespace="where"))
    assert "not shown" in eventAsText(seen[0])
    assert seen[0]["log_namespace"] == "where"


def test_legacy_events_are_cleaned() -> None:
    sink = Sink()
    publisher = legacy.LogPublisher(observerPublisher=LogPublisher(), publishPublisher=sink.publisher)
    publisher.msg("plain", KEY)
    publisher.msg(format="old %(value)s", value=Holder())
    publisher.msg(failure=raised(ValueError(KEY)), isError=1, why=f"because of {KEY}")
    assert len(sink.events) == 3
    assert KEY not in sink.everything()


def test_a_legacy_observer_that_is_not_wrapped_leaves_nothing_for_the_next() -> None:
    """It puts a copy of the event into the event."""
    seen: Any = []
    nothing: Any = lambda event: None  # noqa: E731  (Any, for zope's types)
    plain = LegacyLogObserverWrapper(nothing)
    log = Logger("test", observer=LogPublisher(plain, redacting(seen.append, secrets_of(KEY))))
    log.info("{a}", a=Holder())
    assert KEY not in f"{seen[0]!r} {seen[0]['log_legacy']}"


def test_ten_thousand_lines_are_quick() -> None:
    """A line of 200 characters with three fields costs about 20 microseconds; a slow machine has ten times that."""
    seen: Any = []
    log = Logger("test", observer=redacting(seen.append, secrets_of(KEY, KEY[::-1], "sk-ant-api03-" + "x" * 90)))
    text = "the model said something of no great length, with some words in it " * 3
    began = time.process_time()  # a clock of work, not of the day
    for number in range(10_000):
        log.info("{who} {text} {number}", who="Sage", text=text, number=number)
    spent = time.process_time() - began
    assert len(seen) == 10_000
    assert spent < 3

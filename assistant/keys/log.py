"""Keeps keys out of logs: an observer is shown each event with every secret replaced.

Not covered: the local variables in the frames of a traceback, when an observer walks the frames itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.logger import ILogObserver, LogEvent, LogPublisher, formatEvent
from twisted.python.failure import Failure
from twisted.python.log import logerr
from twisted.python.reflect import safe_repr, safe_str
from zope.interface import implementer

from mud_assistant.assistant.keys.redaction import Secrets

#: Twisted's own fields, which hold no text of others.
_OWN = frozenset({"log_level", "log_time", "log_logger", "log_trace"})
_UNREADABLE = "(not shown: it could not be searched for keys)"
#: An integer below this has fewer digits than a secret has characters.
_SHORT_NUMBER = 10**5
#: The depth of nested containers that are searched one by one; deeper ones are shown as text.
_MAX_DEPTH = 8


def redacting(observer: ILogObserver, secrets: Secrets) -> ILogObserver:
    """Return an observer that passes each event on without the secrets.

    It raises nothing of its own and loses no event.
    """
    return _Redacting(observer, secrets)


def install(publisher: LogPublisher, secrets: Secrets) -> Callable[[], None]:
    """Wrap the observers that the publisher has now; return a function that undoes it.

    The publisher's owner can still remove their observers by their own names. Observers added later are not wrapped:
    call this again, which wraps none twice.
    """
    observers = publisher._observers  # noqa: SLF001  (there is no public way to them)
    new = {id(known): _Redacting(known, secrets) for known in observers if not _is_ours(known, secrets)}
    # One assignment each, so that an event from another thread meets all of them or none.
    observers[:] = [new.get(id(known), known) for known in observers]
    ours = {id(wrapper): wrapper for wrapper in new.values()}

    def undo() -> None:
        observers[:] = [ours[id(known)].observer if id(known) in ours else known for known in observers]

    return undo


def clean_event(event: LogEvent, secrets: Secrets) -> LogEvent:
    """Return the event without secrets: the same one when it holds none, else a copy. Never raises."""
    try:
        return _without_secrets(event, secrets) if secrets else event
    except Exception:  # noqa: BLE001  (an event holds objects of anybody, and a log must not fail)
        kept: LogEvent = {name: event[name] for name in ("log_level", "log_time", "log_namespace") if name in event}
        return {**kept, "log_format": "an event is " + _UNREADABLE.strip("()")}


@implementer(ILogObserver)
class _Redacting:
    """An observer without secrets, equal to the one it wraps, so that a publisher can find and remove it."""

    def __init__(self, observer: ILogObserver, secrets: Secrets) -> None:
        self.observer = observer
        self.secrets = secrets

    def __call__(self, event: LogEvent) -> None:
        """Pass the event on. Errors of the observer itself are left to its publisher, which copes with them."""
        self.observer(clean_event(event, self.secrets))

    def __eq__(self, other: object) -> bool:
        return other is self or bool(self.observer == (other.observer if isinstance(other, _Redacting) else other))

    def __hash__(self) -> int:
        return hash(self.observer)

    def __repr__(self) -> str:
        return f"<redacting {self.observer!r}>"


def _is_ours(observer: ILogObserver, secrets: Secrets) -> bool:
    return isinstance(observer, _Redacting) and observer.secrets is secrets


def _without_secrets(event: LogEvent, secrets: Secrets) -> LogEvent:
    clean = dict(event)
    for name, value in event.items():
        if name not in _OWN:
            clean[name] = _field(value, secrets)
    is_same = all(clean[name] is value for name, value in event.items())
    said = formatEvent(event)
    shown = secrets.scrub(said)
    if is_same and shown == said:
        return event
    if formatEvent(clean) != shown:  # its format reaches into a value that is replaced now, or makes the key itself
        clean.pop("log_flattened", None)
        clean["log_format"] = shown.replace("{", "{{").replace("}", "}}")
    return clean


def _field(value: Any, secrets: Secrets) -> Any:
    try:
        return _Search(secrets).value(value)
    except Exception:  # noqa: BLE001  (as above; the other fields are still worth having)
        return _UNREADABLE


class _Search:
    """Returns each value as it is when it shows no secret, else a likeness that shows none."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._path: list[int] = []

    def value(self, value: Any) -> Any:
        match value:
            case None | bool() | float():
                return value
            case int() if abs(value) < _SHORT_NUMBER:
                return value
            case str():
                return self._unless_same(value, self._secrets.scrub(value))
            case bytes() | bytearray():
                return self._unless_same(value, self._secrets.scrub_bytes(bytes(value)))
            case dict() | list() | tuple() | set() | frozenset():
                return self._container(value)
            case Failure():
                return self._failure(value)
            case BaseException():
                return self._error(value) if self._shows(value) else value
            case _:
                return _Likeness(self, value) if self._shows(value) else value

    def text_of(self, value: Any) -> str:
        """Return what `str` makes of the value, without secrets."""
        return self._secrets.scrub(safe_str(value))

    def repr_of(self, value: Any) -> str:
        """Return what `repr` makes of the value, without secrets."""
        return self._secrets.scrub(safe_repr(value))

    def scrub(self, text: str) -> str:
        return self._secrets.scrub(text)

    @staticmethod
    def _unless_same(value: Any, scrubbed: Any) -> Any:
        return value if scrubbed == value else scrubbed

    def _shows(self, value: Any) -> bool:
        said, shown = safe_str(value), safe_repr(value)
        return self.scrub(said) != said or self.scrub(shown) != shown

    def _container(self, value: Any) -> Any:
        shown = safe_repr(value)
        if self.scrub(shown) == shown:
            return value
        if id(value) in self._path or len(self._path) >= _MAX_DEPTH:
            return self.scrub(shown)
        self._path.append(id(value))
        try:
            return self._rebuild(value)
        finally:
            self._path.pop()

    def _rebuild(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self.value(key): self.value(item) for key, item in value.items()}
        items = [self.value(item) for item in value]
        for kind in (list, set, frozenset):
            if isinstance(value, kind):
                return kind(items)
        return type(value)._make(items) if hasattr(value, "_make") else tuple(items)

    def _error(self, error: object) -> _CleanError:
        return _CleanError(self.text_of(error), self.repr_of(error))

    def _failure(self, failure: Failure) -> Failure:
        held = safe_repr(getattr(failure.value, "__dict__", None))
        everything = f"{failure.getTraceback(detail='verbose')}{held}"
        if self.scrub(everything) == everything and not self._shows(failure.value):
            return failure
        tracebacks = {
            detail: self.scrub(failure.getTraceback(detail=detail)) for detail in ("default", "brief", "verbose")
        }
        return _CleanFailure(self._error(failure.value), failure.type, tracebacks)


class _Likeness:
    """Looks like a value, without the secrets."""

    def __init__(self, search: _Search, value: Any) -> None:
        self._text = search.text_of(value)
        self._repr = search.repr_of(value)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._repr


class _CleanError(Exception):
    """Stands for an exception that shows a secret."""

    def __init__(self, text: str, shown: str) -> None:
        super().__init__(text)
        self._shown = shown

    def __repr__(self) -> str:
        return self._shown


class _CleanFailure(Failure):
    """Stands for a failure that shows a secret: of the same type for `check`, with its traceback as text only."""

    def __init__(self, error: _CleanError, kind: type[BaseException] | None, tracebacks: dict[str, str]) -> None:
        super().__init__(error, kind, None)  # type: ignore[no-untyped-call]  # Failure has no types
        self._tracebacks = tracebacks

    # The names of its arguments are Twisted's.
    def printTraceback(self, file: Any = None, elideFrameworkCode: bool = False, detail: str = "default") -> None:  # noqa: N802, N803
        """Write the traceback."""
        (logerr if file is None else file).write(self._tracebacks[detail])

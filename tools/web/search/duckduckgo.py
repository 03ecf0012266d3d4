"""Searches DuckDuckGo and similar engines without a key, through the library ddgs, which reads the pages people see.

The library blocks, cannot be cancelled, and says "blocked" and "nothing found" with the same words. So it runs in
threads of its own under our own deadline, and its "no results" is an error, after which another provider may be asked.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, MutableMapping
from concurrent.futures import thread as executors
from threading import Thread

from twisted.internet.defer import CancelledError, Deferred

from mud_assistant.resilience.background import DaemonThreads, FromThread, Full
from mud_assistant.resilience.deadline import Deadline
from mud_assistant.resilience.errors import DeadlineExceeded
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.search.api import ProviderOptions, Shared
from mud_assistant.tools.web.search.translate import domains_of, parse_results, text_of, with_sites
from mud_assistant.tools.web.source.protocol import SearchQuery, SearchResult, TimeRange

#: Named one by one, because the library's "auto" always begins with two encyclopaedias.
BACKENDS = ("duckduckgo", "brave", "mojeek", "startpage", "yahoo")
#: Engines that ignore the time range.
TIMELESS = frozenset({"mojeek"})
MAX_RESULTS = 20
CALL_SECONDS = 12.0
#: The most seconds a search waits for one of the threads.
TURN_SECONDS = 20.0
#: Seconds for each engine. A call asks five of them, two at a time.
ENGINE_SECONDS = 4
MISSING = "needs the package ddgs: pip install 'mud-assistant[web]'"
_NAME = "duckduckgo"

#: One search of the library: words, time limit, engines, number of results. It blocks.
Text = Callable[[str, str | None, str, int], object]


class DuckDuckGoOptions(ProviderOptions):
    """`region` is where to search from, such as `us-en` or `wt-wt`; `proxy` an http or socks5 address."""

    region: str = "us-en"
    proxy: str = ""


class DuckDuckGoSearchProvider:
    """Searches DuckDuckGo, Brave, Mojeek, Startpage and Yahoo as a person would. `close` it at the end."""

    def __init__(
        self,
        shared: Shared,
        key: str = "",
        url: str = "",
        options: DuckDuckGoOptions | None = None,
        *,
        text: Text | None = None,
        threads: DaemonThreads[object] | None = None,
    ) -> None:
        if key or url:
            raise ValueError("duckduckgo takes neither a key nor an address")
        self.name = _NAME
        self.total_seconds = TURN_SECONDS + CALL_SECONDS + 1.0
        self._clock = shared.clock
        self._text = text or Ddgs(options or DuckDuckGoOptions())
        reactor: FromThread = shared.clock  # type: ignore[assignment]  # a reactor; a bare clock comes with `threads`
        self._threads = threads or DaemonThreads(reactor, "ddgs")

    async def search(self, query: SearchQuery) -> list[SearchResult]:
        """Return at most `query.limit` results. Raises WebError; BLOCKED_OR_EMPTY when nothing came."""
        words = with_sites(text_of(query, self.name), domains_of(query, self.name))
        limit = max(1, min(query.limit, MAX_RESULTS))
        timed = query.time_range is not TimeRange.ALL
        timelimit = query.time_range.value if timed else None
        engines = ",".join(name for name in BACKENDS if not (timed and name in TIMELESS))
        try:
            found = await self._in_turn(lambda: self._text(words, timelimit, engines, limit))
        except Full as error:
            raise self._error(ErrorKind.RATE_LIMITED, "is busy: too many searches wait for it") from error
        except DeadlineExceeded as error:
            raise self._error(ErrorKind.TIMEOUT, f"did not answer within {CALL_SECONDS:g} s") from error
        except (WebError, CancelledError):
            raise
        except Exception as error:
            raise _failure(error) from error
        if not isinstance(found, list):
            raise self._error(ErrorKind.PARSE, "answered without a list of results")
        results = parse_results(found, limit, snippet="body", url="href")
        if not results:
            raise self._error(ErrorKind.BLOCKED_OR_EMPTY, "gave nothing: there is nothing, or it blocks us")
        return results

    async def _in_turn(self, work: Callable[[], object]) -> object:
        """Return the library's answer. Its own time begins when a thread takes the search up."""
        if not self._threads.is_busy:
            return await Deadline.after(self._clock, CALL_SECONDS).bound(self._threads.run(work))
        taken: Deferred[None] = Deferred()
        done = self._threads.run(work, lambda: _passing(taken)(None))
        patience = self._clock.callLater(TURN_SECONDS, taken.cancel)
        done.addBoth(_passing(taken))
        try:
            await taken
        except CancelledError:
            is_late = not patience.active()
            done.addErrback(lambda _: None)
            done.cancel()
            if is_late:
                raise self._error(ErrorKind.RATE_LIMITED, "is busy: too many searches wait for it") from None
            raise
        finally:
            if patience.active():
                patience.cancel()
        return await Deadline.after(self._clock, CALL_SECONDS).bound(done)

    def close(self) -> None:
        """Close the threads. Neither we nor the interpreter wait for a search that has begun."""
        self._threads.close()
        forget_workers()

    def _error(self, kind: ErrorKind, message: str) -> WebError:
        return WebError(kind, f"{self.name} {message}", provider=self.name)


def _passing(taken: Deferred[None]) -> Callable[[object], object]:
    """Return a callback that passes a result on and ends the wait for a turn."""

    def passing(result: object) -> object:
        if not taken.called:
            taken.callback(None)
        return result

    return passing


class Ddgs:
    """The library itself, imported at the first search. `make` is its class, by default the real one."""

    def __init__(self, options: DuckDuckGoOptions, make: Callable[..., object] | None = None) -> None:
        self._options = options
        self._make = make

    def __call__(self, words: str, timelimit: str | None, engines: str, limit: int) -> object:
        """Return the library's records.

        Each call makes a new object, because its engines keep the query on themselves.
        """
        make = self._make or _library()
        library = make(proxy=self._options.proxy or None, timeout=ENGINE_SECONDS)
        return library.text(  # type: ignore[attr-defined]  # the library is not imported for its types
            words,
            region=self._options.region,
            safesearch="moderate",
            timelimit=timelimit,
            max_results=limit,
            backend=engines,
        )


def _library() -> Callable[..., object]:
    try:
        found: Callable[..., object] = importlib.import_module("ddgs").DDGS
    except ImportError as error:
        raise WebError(ErrorKind.AUTH, f"{_NAME} {MISSING}", provider=_NAME) from error
    return found


def _failure(error: Exception) -> WebError:
    """Return the error for what the library raised. Its text is not repeated: it holds addresses and whole answers."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    words = str(error)[:1000].lower()
    if "RatelimitException" in kinds:
        kind, message = ErrorKind.RATE_LIMITED, "is asked too fast"
    elif "TimeoutException" in kinds:
        kind, message = ErrorKind.TIMEOUT, "did not answer in time"
    elif "DDGSException" in kinds and "no results" in words:
        kind, message = ErrorKind.BLOCKED_OR_EMPTY, "gave nothing: there is nothing, or it blocks us"
    elif "connect" in words or "dns" in words:
        kind, message = ErrorKind.NETWORK, "could not be reached"
    else:
        kind, message = ErrorKind.PARSE, f"could not be read ({type(error).__name__})"
    return WebError(kind, f"{_NAME} {message}", provider=_NAME)


def forget_workers() -> None:
    """Keep the interpreter's end from waiting for the threads that ddgs starts for its engines.

    They are daemons, as are our threads that start them, but concurrent.futures joins each thread it ever started.
    """
    known: MutableMapping[Thread, object] = getattr(executors, "_threads_queues", {})
    for thread in list(known):
        if thread.name.startswith("DDGS"):
            known.pop(thread, None)

"""Brave Search: its own index, with a key."""

from __future__ import annotations

from twisted.internet.task import deferLater
from twisted.web.http_headers import Headers

from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.search.api import CALL_SECONDS, Api, ApiReply, ProviderOptions, Shared
from mud_assistant.tools.web.search.refusals import Refusal, refusal_of
from mud_assistant.tools.web.search.translate import domains_of, parse_results, text_of, with_sites, without_markup
from mud_assistant.tools.web.source.protocol import SearchQuery, SearchResult

URL = "https://api.search.brave.com/res/v1"
MAX_RESULTS = 20
#: A short window that opens within this time is waited for; on every known plan it is one second.
MAX_WAIT_SECONDS = 2.0
_MAX_HEADER_CHARS = 100
_RATE_LIMITED = 429


class BraveOptions(ProviderOptions):
    """`country` is two letters; `search_lang` a language code. Brave chooses without them."""

    country: str = ""
    search_lang: str = ""


class BraveSearchProvider:
    """Searches with Brave. Each of its answers says how much may still be asked; no request is sent beyond that."""

    def __init__(self, shared: Shared, key: str, url: str = "", options: BraveOptions | None = None) -> None:
        self.name = "brave"
        self.total_seconds = MAX_WAIT_SECONDS + CALL_SECONDS + 1.0
        self._options = options or BraveOptions()
        self._clock = shared.clock
        #: When each window opens again, in clock seconds: the short one, then the month's.
        self._closed_until = (0.0, 0.0)
        headers = {"X-Subscription-Token": key}
        self._api = Api(shared, self.name, url or URL, headers, (key,), _refusal)

    async def search(self, query: SearchQuery) -> list[SearchResult]:
        """Return at most `query.limit` results, 20 at most. Raises WebError."""
        words = with_sites(text_of(query, self.name), domains_of(query, self.name))
        parameters = {"q": words, "count": str(max(1, min(query.limit, MAX_RESULTS))), "text_decorations": "false"}
        if query.time_range != "all":
            parameters["freshness"] = f"p{query.time_range}"
        parameters |= {name: value for name, value in self._options if value}
        await self._wait_for_window()
        reply = await self._api.get("web/search", parameters)
        short, month = closed_windows(reply.headers)
        self._closed_until = (reply.at + short, reply.at + month)
        web = reply.record.get("web", {"results": []})  # an answer without results has no `web`
        found = web.get("results") if isinstance(web, dict) else None
        if not isinstance(found, list):
            raise self._api.error(ErrorKind.PARSE, "answered without a list of results")
        return parse_results(found, query.limit, snippet="description", plain=without_markup)

    async def _wait_for_window(self) -> None:
        """Wait for the short window. Raise WebError while the month's is closed, or the short one for too long."""
        short, month = (until - self._clock.seconds() for until in self._closed_until)
        if month > 0:
            raise self._api.error(ErrorKind.QUOTA, "has no requests left on this plan", self._closed_until[1])
        if short > MAX_WAIT_SECONDS:
            raise self._api.error(ErrorKind.RATE_LIMITED, "is asked too fast", self._closed_until[0])
        if short > 0:
            await deferLater(self._clock, short)


def closed_windows(headers: Headers) -> tuple[float, float]:
    """Return for how many seconds the short and the long window are closed; 0 for one that is open or not named.

    `X-RateLimit-Remaining: 0, 14990` and `X-RateLimit-Reset: 1, 2419200` close the short one for a second.
    """
    remaining, resets = (_numbers(headers, f"x-ratelimit-{name}") for name in ("remaining", "reset"))
    closed = [reset if left <= 0 else 0.0 for left, reset in zip(remaining, resets, strict=False)]
    return closed[0] if closed else 0.0, max(closed[1:], default=0.0)


def _refusal(reply: ApiReply) -> Refusal:
    """Explain Brave's errors: a 429 lasts a second, or the rest of the month."""
    plain = refusal_of(reply)
    if reply.status != _RATE_LIMITED:
        return plain
    short, month = closed_windows(reply.headers)
    if month:
        return Refusal(ErrorKind.QUOTA, f"has no requests left on this plan ({_RATE_LIMITED})", reply.at + month)
    return Refusal(plain.kind, plain.message, reply.at + short if short else plain.retry_at)


def _numbers(headers: Headers, name: str) -> list[float]:
    """Return the numbers of a header such as `1, 15000`; none when any of them is not a plain number."""
    value = ", ".join(headers.getRawHeaders(name) or [])
    words = [word.strip() for word in value.split(",")]
    if len(value) > _MAX_HEADER_CHARS or not all(word.isascii() and word.isdigit() for word in words):
        return []
    return [float(word) for word in words]

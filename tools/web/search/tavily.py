"""Tavily: searching and reading, with a key, or without one under a cap."""

from __future__ import annotations

from typing import Literal

from mud_assistant.llm.messages import JSON, JSONObject
from mud_assistant.llm.wire.rate_limits import Moment, retry_wish
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.fetch.url import normal_url
from mud_assistant.tools.web.search.api import CALL_SECONDS, Api, ApiReply, ProviderOptions, Shared
from mud_assistant.tools.web.search.refusals import Refusal, clean_message, refusal, refusal_of
from mud_assistant.tools.web.search.translate import MAX_TITLE_CHARS, domains_of, parse_results, range_word, text_of
from mud_assistant.tools.web.source.protocol import ReadResult, SearchQuery, SearchResult

URL = "https://api.tavily.com"
KEYLESS = {"X-Tavily-Access-Mode": "keyless"}
MAX_RESULTS = 20
#: A keyless cap that lasts longer, in seconds, is a used-up quota and not a matter of speed.
QUOTA_AFTER_SECONDS = 3600.0
_MAX_WAIT_SECONDS = 40 * 24 * 3600.0
_EXTRACT_SECONDS = 12
_RATE_LIMITED = 429


class TavilyOptions(ProviderOptions):
    """How thorough it is: `advanced` costs twice the credits."""

    search_depth: Literal["basic", "advanced", "fast", "ultra-fast"] = "basic"
    extract_depth: Literal["basic", "advanced"] = "basic"


class TavilyProvider:
    """Searches and reads with Tavily. `credits` is the sum of what Tavily says its answers cost."""

    def __init__(self, shared: Shared, key: str = "", url: str = "", options: TavilyOptions | None = None) -> None:
        self.name = "tavily"
        self.total_seconds = CALL_SECONDS + 1.0
        self.credits = 0.0
        self._options = options or TavilyOptions()
        headers = {"Authorization": f"Bearer {key}"} if key else KEYLESS
        self._api = Api(shared, self.name, url or URL, headers, (key,), _refusal)
        self._is_keyless = not key

    async def search(self, query: SearchQuery) -> list[SearchResult]:
        """Return at most `query.limit` results, 20 at most. Raises WebError."""
        record: dict[str, JSON] = {
            "query": text_of(query, self.name),
            "search_depth": self._options.search_depth,
            "max_results": max(1, min(query.limit, MAX_RESULTS)),
        }
        if domains := domains_of(query, self.name):
            record["include_domains"] = [*domains]
            record["include_domains_mode"] = "restrict"
        if word := range_word(query.time_range):
            record["time_range"] = word
        reply = await self._ask("search", record)
        return parse_results(self._api.list_of(reply, "results"), query.limit)

    async def read_url(self, url: str, *, offset: int = 0, max_length: int = 15_000) -> ReadResult:
        """Return the page's Markdown from character `offset` on. Raises WebError."""
        record: JSONObject = {
            "urls": [url],
            "format": "markdown",
            "extract_depth": self._options.extract_depth,
            "timeout": _EXTRACT_SECONDS,
        }
        reply = await self._ask("extract", record)
        page = _of(self._api.list_of(reply, "results"), url)
        content = page.get("raw_content")
        if not isinstance(content, str) or not content.strip():
            why = clean_message(_why(_of(reply.record.get("failed_results"), url)))
            raise self._api.error(ErrorKind.BLOCKED_OR_EMPTY, f"could not read the page{why and f': {why}'}")
        kept = content[offset : offset + max_length]
        return ReadResult(url, _title(page, content), kept, len(kept), len(content), len(kept) < len(content))

    async def _ask(self, path: str, record: JSONObject) -> ApiReply:
        reply = await self._api.post(path, record if self._is_keyless else {**record, "include_usage": True})
        usage = reply.record.get("usage")
        spent = usage.get("credits") if isinstance(usage, dict) else None
        if isinstance(spent, int | float) and not isinstance(spent, bool) and spent > 0:
            self.credits += spent
        return reply


def _refusal(reply: ApiReply) -> Refusal:
    """Explain Tavily's errors: `detail.error` with a key; without one an `error` object that says when to come back."""
    detail, keyless = reply.record.get("detail"), reply.record.get("error")
    if isinstance(detail, dict) and isinstance(words := detail.get("error"), str):
        return refusal(reply, clean_message(words), retry_wish(reply.headers, Moment(reply.at)))
    if not isinstance(keyless, dict) or reply.status != _RATE_LIMITED:
        return refusal_of(reply)
    words, wait = keyless.get("message"), keyless.get("retry_after_seconds")
    message = clean_message(words) if isinstance(words, str) else ""
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 < wait <= _MAX_WAIT_SECONDS:
        return refusal(reply, message, retry_wish(reply.headers, Moment(reply.at)))
    kind = ErrorKind.QUOTA if wait > QUOTA_AFTER_SECONDS else ErrorKind.RATE_LIMITED
    return refusal(reply, message, reply.at + wait, kind)


def _of(entries: object, url: str) -> JSONObject:
    """Return the record about `url`, an empty one when there is none.

    The records come in any order, and Tavily may write their addresses in another way.
    """
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and _same(entry.get("url"), url):
            return entry
    return {}


def _same(one: object, other: str) -> bool:
    """Tell whether two addresses are of one page, with a slash at the end or without."""
    return isinstance(one, str) and normal_url(one.strip()).rstrip("/") == normal_url(other).rstrip("/")


def _why(failed: JSONObject) -> str:
    words = failed.get("error")
    return words if isinstance(words, str) else ""


def _title(page: JSONObject, content: str) -> str:
    """Return the page's title if Tavily gives one, else its first heading."""
    told = page.get("title")
    if not isinstance(told, str):
        lines = content[:4000].splitlines()
        told = next((line.lstrip("#") for line in lines if line.startswith("# ")), "")
    return one_line(told, max_chars=MAX_TITLE_CHARS)

"""SearXNG: the operator's own search engine over many others, without a key.

Its address is the operator's and may well be on this machine or in a private network, so the rules for the addresses of
pages do not apply to it. They apply to all else: no redirect is followed, and its results are pages like any other.
"""

from __future__ import annotations

from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.search.api import CALL_SECONDS, Api, ApiReply, ProviderOptions, Shared
from mud_assistant.tools.web.search.refusals import Refusal, refusal_of
from mud_assistant.tools.web.search.translate import domains_of, parse_results, range_word, text_of, with_sites
from mud_assistant.tools.web.source.protocol import SearchQuery, SearchResult

JSON_IS_OFF = "answers no JSON (403): JSON is off: add json to search.formats in settings.yml"
#: A second page is asked for when the first had this many entries and yet too few that can be used.
FULL_PAGE = 10
_FORBIDDEN = 403
_MAX_ENGINES = 5


class SearxngOptions(ProviderOptions):
    """`engines` and `categories` are names with commas between them; `language` a code or `all`."""

    engines: str = ""
    categories: str = ""
    language: str = ""


class SearxngSearchProvider:
    """Searches with the SearXNG (or searx) at `url`.

    `key`, if any, is for a proxy before it that wants a bearer token.
    """

    def __init__(self, shared: Shared, key: str = "", url: str = "", options: SearxngOptions | None = None) -> None:
        self.name = "searxng"
        self.total_seconds = 2 * CALL_SECONDS + 1.0  # there may be a second page
        self._options = options or SearxngOptions()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._api = Api(shared, self.name, url, headers, (key,), _refusal)

    async def search(self, query: SearchQuery) -> list[SearchResult]:
        """Return at most `query.limit` results. Raises WebError, also when nothing was found and engines failed."""
        parameters = {
            "q": with_sites(text_of(query, self.name), domains_of(query, self.name)),
            "format": "json",
            "pageno": "1",
        }
        if word := range_word(query.time_range):
            parameters["time_range"] = word
        parameters |= {name: value for name, value in self._options if value}
        reply = await self._api.get("search", parameters)
        entries = self._api.list_of(reply, "results")
        results = parse_results(entries, query.limit)
        if not results:
            self._complain(reply)
        if len(results) < query.limit and len(entries) >= FULL_PAGE:
            results = parse_results([*entries, *await self._second_page(parameters)], query.limit)
        return results

    async def _second_page(self, parameters: dict[str, str]) -> list[object]:
        """Return more entries; none when the second page fails, since the first must do then."""
        try:
            return self._api.list_of(await self._api.get("search", parameters | {"pageno": "2"}), "results")
        except WebError:
            return []

    def _complain(self, reply: ApiReply) -> None:
        """Raise WebError when nothing was found and engines failed: then there may be hits all the same."""
        if failed := _unresponsive(reply.record.get("unresponsive_engines")):
            message = f"found nothing, and some of its engines failed: {failed}"
            raise self._api.error(ErrorKind.BLOCKED_OR_EMPTY, message)


def _unresponsive(engines: object) -> str:
    """Return the engines that failed and why, as far as the pairs of name and reason tell."""
    pairs = [pair for pair in engines if isinstance(pair, list) and pair] if isinstance(engines, list) else []
    told = [one_line(": ".join(part for part in pair[:2] if isinstance(part, str)), max_chars=80) for pair in pairs]
    return ", ".join([word for word in told if word][:_MAX_ENGINES])


def _refusal(reply: ApiReply) -> Refusal:
    """Explain SearXNG's errors. Most often it is a 403 with a page: JSON is off until the operator turns it on."""
    if reply.status == _FORBIDDEN and not reply.record:
        return Refusal(ErrorKind.AUTH, JSON_IS_OFF)
    return refusal_of(reply)

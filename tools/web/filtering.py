"""What is left of a provider's hits: of the hosts that were asked for, once each, short and clean.

Domains are sent to the provider, but not every one obeys (and DuckDuckGo's `site:` is a hint), so hosts are looked at
again here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tools.clean import one_line
from tools.web.errors import Kind, WebError
from tools.web.location import domain, host_of, is_web_url, is_within, normal_url
from tools.web.providers import SearchProvider, SearchQuery, SearchResult
from tools.web.served import Hits

MAX_TITLE_CHARS = 160
MAX_SNIPPET_CHARS = 500


@dataclass(frozen=True, slots=True)
class Domains:
    """The operator's lists: with any `allowed` no other is asked; `blocked` is never shown. Each with all below it."""

    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()


class FilteredSearch:
    """A search provider whose hits have been looked through."""

    def __init__(self, provider: SearchProvider, domains: Domains | None = None) -> None:
        self.name = provider.name
        self._provider = provider
        self._domains = domains or Domains()

    async def search(self, query: SearchQuery) -> Sequence[SearchResult]:
        """At most `query.limit` hits that may be shown. Raises WebError, POLICY for domains not to be searched."""
        asked = narrowed(query, self._domains)
        found = await self._provider.search(asked)
        kept = sifted(found, asked, self._domains.blocked)
        return replace(found, results=kept) if isinstance(found, Hits) else kept


def narrowed(query: SearchQuery, domains: Domains) -> SearchQuery:
    """The query with no domain that the operator does not allow. Raises WebError when none is left of those named."""
    wanted = _domains(query.allowed_domains)
    allowed, blocked = _domains(domains.allowed), _domains(domains.blocked)
    names = wanted or allowed
    if wanted and allowed:
        inside = [name for name in wanted if is_within(name, allowed)]
        names = _domains([*inside, *(name for name in allowed if is_within(name, wanted))])
    names = tuple(name for name in names if not is_within(name, blocked))
    if (wanted or allowed) and not names:
        hint = f"; allowed are {', '.join(allowed[:10])}" if allowed else ""
        raise WebError(Kind.POLICY, f"none of these domains may be searched{hint}")
    return replace(query, allowed_domains=names)


def sifted(found: Iterable[SearchResult], query: SearchQuery, blocked: Iterable[str] = ()) -> tuple[SearchResult, ...]:
    """The hits that may be shown, best first: the first of several with one URL, cleaned."""
    wanted, unwanted = _domains(query.allowed_domains), _domains(blocked)
    kept: dict[str, SearchResult] = {}
    for hit in found:
        if len(kept) >= query.limit:
            break
        url = hit.url.strip()
        if not is_web_url(url):
            continue
        host = host_of(url)
        if is_within(host, unwanted) or (wanted and not is_within(host, wanted)):
            continue
        kept.setdefault(normal_url(url), _clean(hit, url, host))
    return tuple(kept.values())


def _domains(names: Iterable[str]) -> tuple[str, ...]:
    """The names as hosts are compared, each once, in order."""
    return tuple(dict.fromkeys(name for name in map(domain, names) if name))


def _clean(hit: SearchResult, url: str, host: str) -> SearchResult:
    title = one_line(hit.title[: 8 * MAX_TITLE_CHARS], max_chars=MAX_TITLE_CHARS)
    snippet = one_line(hit.snippet[: 8 * MAX_SNIPPET_CHARS], max_chars=MAX_SNIPPET_CHARS)
    return SearchResult(title or host, url, snippet)

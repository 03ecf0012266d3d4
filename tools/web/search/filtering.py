"""Filters a provider's hits: only the hosts that were asked for, each URL once, short and clean.

Domains are sent to the provider, but not every provider obeys (and DuckDuckGo's `site:` is a hint), so the hosts are
checked again here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from msgspec import Struct, structs

from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.hosts import is_within, normal_domains
from mud_assistant.tools.web.fetch.url import normal_url, try_normalise
from mud_assistant.tools.web.source.answers import Hits
from mud_assistant.tools.web.source.protocol import SearchQuery, SearchResult, WebSource

MAX_TITLE_CHARS = 160
MAX_SNIPPET_CHARS = 500
MOST_FOCUSED = 3
_WORD = re.compile(r"[^\W_]{3,}")
_CLAUSE_END = re.compile(r"(?<=[^\W\d_]{2}[.!?])\s+(?=[^\W_])|;\s+|,\s+(?:and|but|while)\s+")
_ASKING = frozenset(_WORD.findall("who whom whose what when where which how why the and for wa were did doe can many"))
#: The most hits that every provider can give.
MOST_ASKED = 20


class Domains(Struct, frozen=True):
    """The operator's lists of domains; each name includes its subdomains.

    When `allowed` is not empty, only those are searched. `blocked` ones are never shown.
    """

    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()


class FilteredSearch:
    """A source of hits that filters those of another one."""

    def __init__(self, source: WebSource[SearchQuery, Hits], domains: Domains | None = None) -> None:
        self.name = source.name
        self._source = source
        self._domains = domains or Domains()

    async def ask(self, query: SearchQuery) -> Hits:
        """Return at most `query.limit` hits that may be shown.

        When hits may have to be left out, more are asked for than are shown. If too few are left, the provider is
        asked once more, for the most hits it gives. Raises WebError; POLICY for domains that may not be searched.
        """
        asked = narrow(query, self._domains)
        is_filtered = bool(self._domains.blocked or asked.allowed_domains)
        limits = (max(query.limit, min(2 * query.limit, MOST_ASKED)), MOST_ASKED) if is_filtered else (query.limit,)
        found = Hits(())
        kept: tuple[SearchResult, ...] = ()
        for limit in dict.fromkeys(limits):
            try:
                found = await self._source.ask(structs.replace(asked, limit=limit))
            except WebError:
                if not kept:
                    raise
                break
            kept = sift(found, asked, self._domains.blocked)
            if len(kept) >= query.limit or len(found) < limit:
                break
        return replace(found, results=kept, notes=(*found.notes, *_note_left_out(query, asked)))


def _note_left_out(query: SearchQuery, asked: SearchQuery) -> tuple[str, ...]:
    """Return the note about domains that were asked for and may not be searched."""
    names = [name for name in normal_domains(query.allowed_domains) if not _overlaps(name, asked.allowed_domains)]
    return (f"It is not allowed to search {', '.join(names[:5])}.",) if names else ()


def _overlaps(name: str, domains: Sequence[str]) -> bool:
    return is_within(name, domains) or any(is_within(other, [name]) for other in domains)


def narrow(query: SearchQuery, domains: Domains) -> SearchQuery:
    """Return the query with only the domains the operator allows. Raises WebError when none of those named is left."""
    wanted = normal_domains(query.allowed_domains)
    allowed, blocked = normal_domains(domains.allowed), normal_domains(domains.blocked)
    names = wanted or allowed
    if wanted and allowed:
        inside = [name for name in wanted if is_within(name, allowed)]
        names = normal_domains([*inside, *(name for name in allowed if is_within(name, wanted))])
    names = tuple(name for name in names if not is_within(name, blocked))
    if (wanted or allowed) and not names:
        hint = f"; allowed are {', '.join(allowed[:10])}" if allowed else ""
        told = "none of these domains may be searched"
        raise WebError(ErrorKind.POLICY, f"{told}{hint}", told=told)
    return structs.replace(query, allowed_domains=names)


def sift(found: Iterable[SearchResult], query: SearchQuery, blocked: Iterable[str] = ()) -> tuple[SearchResult, ...]:
    """Return the hits that may be shown, best first and cleaned; of several with one URL, the first."""
    wanted, unwanted = normal_domains(query.allowed_domains), normal_domains(blocked)
    kept: dict[str, SearchResult] = {}
    for hit in found:
        if len(kept) >= query.limit:
            break
        url = hit.url.strip()
        safe = try_normalise(url)
        if safe is None or is_within(safe.host, unwanted) or (wanted and not is_within(safe.host, wanted)):
            continue
        kept.setdefault(normal_url(url), _clean(hit, url, safe.host))
    return tuple(kept.values())


def focus(found: Sequence[SearchResult], text: str) -> tuple[SearchResult, ...]:
    """Return the hits that share most words with the question, at most `MOST_FOCUSED`; the first ones when none does.

    In each snippet, the clauses that fit best come first.
    """
    words = _words(text)
    shared = [len(words & _words(f"{hit.title} {hit.snippet}")) for hit in found]
    enough = max(shared, default=0) / 2
    order = sorted(range(len(found)), key=lambda place: -shared[place])
    chosen = [found[place] for place in order if shared[place] > enough or not enough][:MOST_FOCUSED]
    return tuple(structs.replace(hit, snippet=_best_first(hit.snippet, words - _words(hit.title))) for hit in chosen)


def _best_first(snippet: str, words: set[str]) -> str:
    """Return the snippet with the clauses that share most words first; unchanged when they come first already."""
    clauses = [clause.strip(" .") for clause in _CLAUSE_END.split(snippet)]
    ordered = sorted(clauses, key=lambda clause: -len(words & _words(clause)))
    return snippet if ordered == clauses else ". ".join(clause for clause in ordered if clause) + "."


def _words(text: str) -> set[str]:
    """Return the words that say what the text is about, without a plural's ending."""
    return {word.removesuffix("s") for word in _WORD.findall(text.lower())} - _ASKING


def _clean(hit: SearchResult, url: str, host: str) -> SearchResult:
    title = one_line(hit.title[: 8 * MAX_TITLE_CHARS], max_chars=MAX_TITLE_CHARS)
    snippet = one_line(hit.snippet[: 8 * MAX_SNIPPET_CHARS], max_chars=MAX_SNIPPET_CHARS)
    return SearchResult(title or host, url, snippet)

"""Translates between us and any search provider: our query into its words, its entries into our results.

Every entry was written by strangers, so no field of it is trusted.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable

from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.hosts import is_domain, normal_domains
from mud_assistant.tools.web.fetch.url import normal_url, web_url
from mud_assistant.tools.web.source.protocol import SearchQuery, SearchResult, TimeRange

MAX_TITLE_CHARS = 200
MAX_SNIPPET_CHARS = 500
#: The most entries of one answer that are looked at.
MAX_ENTRIES = 200
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,300}>|<!--.{0,300}?-->", re.DOTALL)
_WORDS = {TimeRange.DAY: "day", TimeRange.WEEK: "week", TimeRange.MONTH: "month", TimeRange.YEAR: "year"}


def text_of(query: SearchQuery, provider: str) -> str:
    """Return the query's words on one line. Raises WebError when there are none."""
    words = " ".join(query.text.split())
    if not words:
        raise WebError(ErrorKind.BAD_REQUEST, f"{provider} needs words to search for", provider=provider)
    return words


def domains_of(query: SearchQuery, provider: str) -> list[str]:
    """Return the allowed domains in their normal form.

    Raises WebError for one that is no domain: it could hold operators.
    """
    names = [name.strip() for name in query.allowed_domains]
    if not all(map(is_domain, names)):
        raise WebError(ErrorKind.BAD_REQUEST, f"{provider} takes domains such as example.org", provider=provider)
    return list(normal_domains(names))


def with_sites(text: str, domains: Iterable[str]) -> str:
    """Return the words with the sites to search, in the search engines' own language."""
    sites = " OR ".join(f"site:{domain}" for domain in domains)
    if not sites:
        return text
    return f"{text} ({sites})" if " OR " in sites else f"{text} {sites}"


def range_word(time_range: TimeRange) -> str | None:
    """Return the time range as most services call it, None for all of time."""
    return _WORDS.get(time_range)


def parse_results(
    entries: object,
    limit: int,
    *,
    snippet: str = "content",
    url: str = "url",
    plain: Callable[[str], str] = str,
) -> list[SearchResult]:
    """Return at most `limit` results of a list of records, without those that have no title or no web address.

    `snippet` and `url` are the fields' names; `plain` turns a service's titles and snippets into text.
    """
    results: dict[str, SearchResult] = {}
    for entry in _records(entries):
        address = web_url(entry.get(url))
        title = text(entry.get("title"), MAX_TITLE_CHARS, plain)
        if address and title and (page := normal_url(address)) not in results:
            results[page] = SearchResult(title, address, text(entry.get(snippet), MAX_SNIPPET_CHARS, plain))
        if len(results) >= limit:
            break
    return list(results.values())


def text(value: object, max_chars: int, plain: Callable[[str], str] = str) -> str:
    """Return a stranger's text on one clean line, empty when it is no text."""
    return one_line(plain(value[: 8 * max_chars]), max_chars=max_chars) if isinstance(value, str) else ""


def without_markup(value: str) -> str:
    """Return text without HTML's tags and references."""
    return html.unescape(_MARKUP.sub("", value))


def _records(entries: object) -> Iterable[dict[str, object]]:
    listed = entries[:MAX_ENTRIES] if isinstance(entries, list) else []
    return (entry for entry in listed if isinstance(entry, dict))

"""Prepares a query for any provider before it is sent."""

from __future__ import annotations

from collections.abc import Iterable

from tools.web.errors import ErrorKind, WebError
from tools.web.fetch.hosts import is_domain, normal_domains
from tools.web.source.protocol import SearchQuery, TimeRange

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

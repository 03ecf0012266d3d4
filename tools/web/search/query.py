"""Prepares a query for any provider before it is sent."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tools.web.errors import ErrorKind, WebError
from tools.web.source.protocol import SearchQuery, TimeRange

#: A host name in any script: without blanks, without operators of a search language; no IPv6 address or URL.
_DOMAIN = re.compile(r"(?=.{1,253}\Z)[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)+\.?")
_WORDS = {TimeRange.DAY: "day", TimeRange.WEEK: "week", TimeRange.MONTH: "month", TimeRange.YEAR: "year"}


def text_of(query: SearchQuery, provider: str) -> str:
    """Return the query's words on one line. Raises WebError when there are none."""
    words = " ".join(query.text.split())
    if not words:
        raise WebError(ErrorKind.BAD_REQUEST, f"{provider} needs words to search for", provider=provider)
    return words


def domains_of(query: SearchQuery, provider: str) -> list[str]:
    """Return the allowed domains in lower case. Raises WebError for one that is no domain: it could hold operators."""
    domains = [domain.strip().lower() for domain in query.allowed_domains]
    if not all(map(is_domain, domains)):
        raise WebError(ErrorKind.BAD_REQUEST, f"{provider} takes domains such as example.org", provider=provider)
    return [domain.rstrip(".") for domain in dict.fromkeys(domains)]


def is_domain(name: str) -> bool:
    """Tell whether a name looks like a domain of the web: labels with dots between, nothing a search engine obeys."""
    return _DOMAIN.fullmatch(name) is not None


def with_sites(text: str, domains: Iterable[str]) -> str:
    """Return the words with the sites to search, in the search engines' own language."""
    sites = " OR ".join(f"site:{domain}" for domain in domains)
    if not sites:
        return text
    return f"{text} ({sites})" if " OR " in sites else f"{text} {sites}"


def range_word(time_range: TimeRange) -> str | None:
    """Return the time range as most services call it, None for all of time."""
    return _WORDS.get(time_range)

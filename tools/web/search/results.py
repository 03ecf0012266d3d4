"""Turns a provider's entries into results. Every entry was written by strangers, so no field is trusted."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable

from tools.text.clean import one_line
from tools.web.fetch.url import normal_url, web_url
from tools.web.source.protocol import SearchResult

MAX_TITLE_CHARS = 200
MAX_SNIPPET_CHARS = 500
#: The most entries of one answer that are looked at.
MAX_ENTRIES = 200
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,300}>|<!--.{0,300}?-->", re.DOTALL)


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

"""What comes back from a provider, into results. Every entry was written by strangers: nothing about it is believed."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from urllib.parse import quote, urlsplit, urlunsplit

from tools.clean import one_line
from tools.web.providers import SearchResult

MAX_TITLE_CHARS = 200
MAX_SNIPPET_CHARS = 500
MAX_URL_CHARS = 2048
#: As many entries of one answer are looked at, however many it holds.
MAX_ENTRIES = 200
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,300}>|<!--.{0,300}?-->", re.DOTALL)
#: What may stand in a path, a query or a fragment as it is (RFC 3986), `%` apart.
_SAFE = "/:?@!$&'()*+,;=~-._[]"
_STRAY_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
_CONTROLS = re.compile("[\x00-\x1f\x7f]")
_HIDDEN = re.compile("[\x00-\x20\x7f-\x9f\\\\]")


def taken(
    entries: object,
    limit: int,
    *,
    snippet: str = "content",
    url: str = "url",
    plain: Callable[[str], str] = str,
) -> list[SearchResult]:
    """At most `limit` results of a list of records, without those that have no title or no web address.

    `snippet` and `url` are the fields' names; `plain` makes a service's titles and snippets text.
    """
    results: dict[str, SearchResult] = {}
    for entry in _records(entries):
        address = web_url(entry.get(url))
        title = text(entry.get("title"), MAX_TITLE_CHARS, plain)
        if address and title and address not in results:
            results[address] = SearchResult(title, address, text(entry.get(snippet), MAX_SNIPPET_CHARS, plain))
        if len(results) >= limit:
            break
    return list(results.values())


def text(value: object, max_chars: int, plain: Callable[[str], str] = str) -> str:
    """A stranger's text on one clean line, empty when it is no text."""
    return one_line(plain(value[: 8 * max_chars]), max_chars=max_chars) if isinstance(value, str) else ""


def without_markup(value: str) -> str:
    """Text without HTML's tags and references."""
    return html.unescape(_MARKUP.sub("", value))


def web_url(value: object) -> str:
    """The address quoted as addresses are, empty when it is no http(s) address.

    What is quoted already stays. Some libraries decode addresses (ddgs does), so blanks and letters are quoted again.
    """
    # urlsplit would drop tabs and line ends without a word.
    if not isinstance(value, str) or len(value) > MAX_URL_CHARS or _CONTROLS.search(value.strip()):
        return ""
    try:
        parts = urlsplit(value.strip())
        host = parts.hostname
        _ = parts.port
    except ValueError:
        return ""
    if parts.scheme not in {"http", "https"} or not host or parts.username is not None or _HIDDEN.search(parts.netloc):
        return ""
    built = urlunsplit((parts.scheme, parts.netloc, *(_quoted(part) for part in parts[2:])))
    return built if len(built) <= MAX_URL_CHARS else ""


def _quoted(part: str) -> str:
    return quote(_STRAY_PERCENT.sub("%25", part), safe=_SAFE + "%", errors="replace")


def _records(entries: object) -> Iterable[dict[str, object]]:
    listed = entries[:MAX_ENTRIES] if isinstance(entries, list) else []
    return (entry for entry in listed if isinstance(entry, dict))

"""The redirects that lead to one page, and the cookies set by the servers on the way. None of it is kept.

Cookies live as long as the path. Each goes back only to the origin that set it (scheme, host and port), whatever domain
it names, so no list of public suffixes is needed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from tools.web.fetch.url import SafeUrl

MAX_COOKIES = 20
MAX_COOKIE_CHARS = 4096
#: Servers write 1970 to take a cookie back; no server means a date in the years just after it.
_LONG_AGO = 2000
#: The characters of a name and a value (RFC 6265 section 4.1.1): none that could begin another header.
_PAIR = re.compile(r"(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128})=(?P<value>[!-+\--:<-\[\]-~]*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Cookie:
    """A cookie's value, and the path of its origin below which it is sent."""

    value: str
    path: str


@dataclass(slots=True)
class RedirectPath:
    """The steps taken so far. A step is a URL with the cookies sent there: with other cookies it is another request."""

    steps: set[tuple[SafeUrl, str]] = field(default_factory=set)
    _cookies: dict[str, dict[str, _Cookie]] = field(default_factory=dict)

    def cookie_for(self, url: SafeUrl) -> str:
        """Return the Cookie header for a request, empty when there is none."""
        path = url.target.partition("?")[0]
        pairs = [
            f"{name}={cookie.value}"
            for name, cookie in self._cookies.get(url.origin, {}).items()
            if _is_in_folder(path, cookie.path)
        ]
        return "; ".join(pairs)

    def learn(self, url: SafeUrl, set_cookies: list[str]) -> None:
        """Keep the cookies that the server of `url` set, and remove those it takes back."""
        own = self._cookies.setdefault(url.origin, {})
        for written in set_cookies[:MAX_COOKIES]:
            pair, *attributes = (part.strip() for part in written.split(";"))
            found = _PAIR.fullmatch(pair)
            if found is None or len(written) > MAX_COOKIE_CHARS:
                continue
            named = {
                name.strip().lower(): value.strip() for name, _, value in (one.partition("=") for one in attributes)
            }
            if _is_gone(named):
                own.pop(found["name"], None)
            elif (found["name"] in own or len(own) < MAX_COOKIES) and ("secure" not in named or url.scheme == "https"):
                own[found["name"]] = _Cookie(found["value"], _path_of(named.get("path", ""), url))


def _path_of(named: str, url: SafeUrl) -> str:
    """Return the path a cookie is for: the one it names, else the folder of the page (RFC 6265 section 5.1.4)."""
    return named if named.startswith("/") else url.target.partition("?")[0].rpartition("/")[0] or "/"


def _is_in_folder(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


def _is_gone(named: dict[str, str]) -> bool:
    """Tell whether a cookie is taken back: by its age, or by a date long past, as is usual."""
    age = named.get("max-age", "")
    if age.lstrip("-").isascii() and age.lstrip("-").isdigit():
        return int(age[:12]) <= 0
    try:
        return parsedate_to_datetime(named["expires"]).year <= _LONG_AGO if "expires" in named else False
    except (ValueError, TypeError):
        return False

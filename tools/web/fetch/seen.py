"""Keeps the URLs that stood word for word in a search result or a player's message, for the policy `url_origin: seen`.

A model that obeys a stranger's text can carry secrets out in a URL it composes, but not in one it was given.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from itertools import islice

#: People write `example.org/news` as often as the whole URL.
_WRITTEN = re.compile(
    r"https?://[^\s<>\"]+|(?<![\w@/.-])(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+[^\W\d_]{2,24}(?::\d+)?(?:/[^\s<>\"]*)?",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_TRAILING = ".,;:!?)]}'*_~…。、\uff09"
_MOST_TRAILING = 6
_MOST_IN_TEXT = 50
_MAX_TEXT_CHARS = 20_000


class SeenUrls:
    """The last `most` URLs that were shown, in their normal form (`urls.SafeUrl.normal`)."""

    def __init__(self, most: int = 1000) -> None:
        self._most = most
        self._urls: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        """Return how many URLs are kept."""
        return len(self._urls)

    def __contains__(self, url: object) -> bool:
        """Tell whether a URL was shown."""
        from mud_assistant.tools.web.fetch.url import SafeUrl  # noqa: PLC0415  (a caller with one has loaded it)

        return isinstance(url, SafeUrl) and url.normal in self._urls

    def add(self, url: str) -> None:
        """Note a URL; leave out one that could not be asked for anyway."""
        # With the web, this is loaded since the start; without it, it takes 7 ms at the first URL in a message.
        from mud_assistant.tools.web.fetch.url import UrlRefused, normalise  # noqa: PLC0415  (two parsers and the table of addresses)

        try:
            normal = normalise(url).normal
        except UrlRefused:
            return
        self._urls[normal] = None
        self._urls.move_to_end(normal)
        while len(self._urls) > self._most:
            self._urls.popitem(last=False)

    def add_text(self, text: str) -> None:
        """Note the URLs in a text, each as it stands and without the punctuation that may end a sentence.

        One without a scheme counts with both http and https. Of a long text only the first fifty count.
        """
        for match in islice(_WRITTEN.finditer(text[:_MAX_TEXT_CHARS]), _MOST_IN_TEXT):
            written = match[0]
            for candidate in _readings(written):
                for scheme in ("",) if _SCHEME.match(candidate) else ("https://", "http://"):
                    self.add(scheme + candidate)


def _readings(written: str) -> list[str]:
    """Return the URL as written, and without one, two... of the marks at its end that may belong to the sentence."""
    bare = written.rstrip(_TRAILING)
    ends = range(max(len(bare) + 1, len(written) - _MOST_TRAILING), len(written) + 1)
    return [bare, *(written[:end] for end in ends)]

"""The requests that models were sent last, as bytes in memory. They are never written to a disk.

A body is kept as the very object that was sent, so keeping it costs no copy. No header is kept, so no key of one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from urllib.parse import urlsplit

from msgspec import Struct

from mud_assistant.assistant.page.values.runs import AskedRequest
from mud_assistant.resilience.http.request import origin_of

#: The most requests that are kept, and the most bytes of them together.
MAX_REQUESTS, MAX_BYTES = 200, 8 * 1024 * 1024
#: Of a longer text its first and its last so many characters are shown.
HEAD_CHARS = TAIL_CHARS = 64 * 1024
#: More characters than any key has: so many beside a cut are left out, since they may be a part of one.
_MARGIN = 1024


class _Kept(Struct, frozen=True):
    assistant: str
    run: str
    step: int
    url: str
    body: bytes


class AskedRequests:
    """A ring of the last requests. `scrub` returns a text without keys. Give it to `Watchers.keep_requests`."""

    def __init__(
        self, scrub: Callable[[str], str], *, max_requests: int = MAX_REQUESTS, max_bytes: int = MAX_BYTES
    ) -> None:
        self._scrub = scrub
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._kept: deque[_Kept] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        """Return how many requests are kept."""
        return len(self._kept)

    def asked(self, me: str, run_id: str, step: int, url: str, body: bytes) -> None:
        """Keep a request. One that is larger than all the room is not kept."""
        if len(body) > self._max_bytes:
            return
        self._kept.append(_Kept(me, run_id, step, url, body))
        self._bytes += len(body)
        while self._bytes > self._max_bytes or len(self._kept) > self._max_requests:
            self._bytes -= len(self._kept.popleft().body)

    def forget(self, me: str) -> None:
        """Drop every request of this assistant: a player whose words may be in them is forgotten."""
        self._kept = deque(one for one in self._kept if one.assistant != me)
        self._bytes = sum(len(one.body) for one in self._kept)

    def find(self, assistant: str, run: str) -> tuple[AskedRequest, ...]:
        """Return the requests of a run that are still kept, in the order they were sent, without keys.

        `step` is the number of the step in the journal. An answer whose first sentence was spoken early is two steps
        there: its request stands under the first. A request that was tried again is there once for each attempt.
        """
        return tuple(self._shown(one) for one in self._kept if one.assistant == assistant and one.run == run)

    def _shown(self, kept: _Kept) -> AskedRequest:
        text, is_cut = _cut(kept.body.decode("utf-8", "replace"), self._scrub)
        path = urlsplit(kept.url).path
        return AskedRequest(
            step=kept.step, origin=origin_of(kept.url), path=path, text=text, bytes=len(kept.body), is_cut=is_cut
        )


def _cut(text: str, scrub: Callable[[str], str]) -> tuple[str, bool]:
    """Return the text without keys, and whether its middle was left out."""
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return scrub(text), False
    head = scrub(text[: HEAD_CHARS + _MARGIN])[:-_MARGIN]
    tail = scrub(text[-TAIL_CHARS - _MARGIN :])[_MARGIN:]
    return f"{head}\n[...]\n{tail}", True

"""The fakes of the services that only read pages: Jina Reader and Crawl4AI.

Their base keeps pages, a record of requests and a limit per minute. The fake Jina has its envelope, its error names,
and its warning when the page itself failed; the fake Crawl4AI has its `md` endpoint, FastAPI's errors, slowapi's limit
and a browser's error text in a 500.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from msgspec import Struct, field

from mud_assistant.resilience.testing.fake import Fake, Response, ServedRequest, json_response, sized_response


class FakePage(Struct, frozen=True):
    """A page as the service sees it."""

    title: str
    content: str
    status: int = 200


class Failing(Struct, frozen=True):
    """A response that the service gives once instead of a page."""

    status: int
    body: Mapping[str, Any] | bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class FakeReader(Fake[ServedRequest]):
    """Serves `pages` by URL. Each of `failures` is given first, to one request. `now` gives clock seconds."""

    request_type = ServedRequest

    def __init__(self, now: Callable[[], float], pages: Mapping[str, FakePage], *, key: str = "") -> None:
        super().__init__()
        self.now = now
        self.pages = dict(pages)
        self.key = key
        self.failures: deque[Failing] = deque()
        self._times: deque[float] = deque()

    def seconds_over(self, most_per_minute: int) -> float:
        """Count a request if there is room for it; return 0 then, else the seconds until there is room."""
        now = self.now()
        while self._times and self._times[0] <= now - 60.0:
            self._times.popleft()
        if len(self._times) >= most_per_minute:
            return self._times[0] + 60.0 - now
        self._times.append(now)
        return 0.0

    def say(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
        """Return an answer."""
        if isinstance(body, bytes):
            return sized_response(body, "text/html", status, headers)
        return json_response(body, status, headers)

    def failure(self, request: ServedRequest) -> Response | None:
        """Return the first of the failures that are left."""
        if not self.failures:
            return None
        failing = self.failures.popleft()
        return self.say(failing.status, failing.body, failing.headers)

    def url_of(self, request: ServedRequest) -> str:
        """Return the page that a request is for: the `url` in its body, else its target."""
        return str(request.body.get("url", unquote(request.target.removeprefix("/"))))

    def is_locked(self, request: ServedRequest) -> bool:
        """Tell whether a key is required and the request lacks it."""
        return bool(self.key) and request.headers.get("authorization") != f"Bearer {self.key}"


class FakeJina(FakeReader):
    """Allows 20 requests a minute without a key and 500 with the right one; a wrong key is refused."""

    keyless_per_minute = 20
    keyed_per_minute = 500

    def answer(self, request: ServedRequest) -> Response:
        """Answer one request."""
        url, has_key = self.url_of(request), "authorization" in request.headers
        if has_key and self.is_locked(request):
            return self._refuse((401, "AuthenticationFailedError", 40103), "Invalid API key")
        most = self.keyed_per_minute if has_key else self.keyless_per_minute
        wait = self.seconds_over(most)
        if wait:
            said = f"Per IP rate limit exceeded ({most} RPM)"
            retry_after = {"Retry-After": str(math.ceil(wait))}
            return self._refuse((429, "RateLimitTriggeredError", 42903), said, retry_after)
        if not url.startswith(("http://", "https://")):
            return self._refuse((422, "ParamValidationError", 40001), f"Invalid URL: {url}")
        page = self.pages.get(url)
        if page is None:
            said = f"Failed to goto {url}: Error: net::ERR_NAME_NOT_RESOLVED at {url}"
            return self._refuse((422, "AssertionFailureError", 42206), said)
        data: dict[str, Any] = {
            "title": page.title,
            "description": "",
            "url": url,
            "content": page.content,
            "usage": {"tokens": len(page.content) // 4},
        }
        if page.status != HTTPStatus.OK:
            data["warning"] = f"Target URL returned error {page.status}: Not good"
        return self.say(200, {"code": 200, "status": 20000, "data": data})

    def _refuse(self, refusal: tuple[int, str, int], said: str, headers: dict[str, str] | None = None) -> Response:
        code, name, status = refusal
        body = {
            "data": None,
            "code": code,
            "name": name,
            "status": status,
            "message": said,
            "readableMessage": f"{name}: {said}",
        }
        return self.say(code, body, headers)


class FakeCrawl4AI(FakeReader):
    """Answers `POST /md`.

    The filter `fit` gives no text for pages in `bare`, as the real filter does for pages with little text.
    """

    per_minute = 1000
    bare: frozenset[str] = frozenset()

    def answer(self, request: ServedRequest) -> Response:
        """Answer one request."""
        if request.path != "/md" or request.method != "POST":
            return self.say(404, {"detail": "Not Found"})
        if self.is_locked(request):
            return self.say(401, {"detail": "Invalid or expired token"})
        if self.seconds_over(self.per_minute):
            return self.say(429, {"error": f"Rate limit exceeded: {self.per_minute} per 1 minute"})
        if "url" not in request.body:
            missing = {"type": "missing", "loc": ["body", "url"], "msg": "Field required", "input": {}}
            return self.say(422, {"detail": [missing]})
        url = self.url_of(request)
        page = self.pages.get(url)
        if page is None:
            said = f"Failed on navigating ACS-GOTO: Page.goto: net::ERR_NAME_NOT_RESOLVED at {url}"
            return self.say(500, {"detail": said})
        how = request.body.get("f", "fit")
        markdown = "" if how == "fit" and url in self.bare else page.content
        body = {
            "url": url,
            "filter": how,
            "query": request.body.get("q"),
            "cache": request.body.get("c", "0"),
            "markdown": markdown,
            "success": True,
        }
        return self.say(200, body)

"""A fake Jina Reader: its envelope, its error names, and its warning when the page itself failed."""

from __future__ import annotations

import math
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from twisted.web.http import Request

from tools.web.testing.serving import FakeReader


class FakeJina(FakeReader):
    """Allows 20 requests a minute without a key and 500 with the right one; a wrong key is refused."""

    keyless_per_minute = 20
    keyed_per_minute = 500

    def render(self, request: Request) -> bytes:
        """Answer one request."""
        heard = self.hear(request, unquote(request.uri.decode("ascii").removeprefix("/")))
        if self.failures:
            failing = self.failures.popleft()
            return self.say(request, failing.status, failing.body, failing.headers)
        has_key = "authorization" in heard.headers
        if has_key and self.is_locked(heard):
            return self._refuse(request, (401, "AuthenticationFailedError", 40103), "Invalid API key")
        most = self.keyed_per_minute if has_key else self.keyless_per_minute
        wait = self.seconds_over(most)
        if wait:
            said = f"Per IP rate limit exceeded ({most} RPM)"
            retry_after = {"Retry-After": str(math.ceil(wait))}
            return self._refuse(request, (429, "RateLimitTriggeredError", 42903), said, retry_after)
        if not heard.url.startswith(("http://", "https://")):
            return self._refuse(request, (422, "ParamValidationError", 40001), f"Invalid URL: {heard.url}")
        page = self.pages.get(heard.url)
        if page is None:
            said = f"Failed to goto {heard.url}: Error: net::ERR_NAME_NOT_RESOLVED at {heard.url}"
            return self._refuse(request, (422, "AssertionFailureError", 42206), said)
        data: dict[str, Any] = {
            "title": page.title,
            "description": "",
            "url": heard.url,
            "content": page.content,
            "usage": {"tokens": len(page.content) // 4},
        }
        if page.status != HTTPStatus.OK:
            data["warning"] = f"Target URL returned error {page.status}: Not good"
        return self.say(request, 200, {"code": 200, "status": 20000, "data": data})

    def _refuse(
        self, request: Request, refusal: tuple[int, str, int], said: str, headers: dict[str, str] | None = None
    ) -> bytes:
        code, name, status = refusal
        body = {
            "data": None,
            "code": code,
            "name": name,
            "status": status,
            "message": said,
            "readableMessage": f"{name}: {said}",
        }
        return self.say(request, code, body, headers)

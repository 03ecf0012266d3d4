"""A fake Crawl4AI server: its `md` endpoint, FastAPI's errors, slowapi's limit, a browser's error text in a 500."""

from __future__ import annotations

from twisted.web.http import Request

from tools.web.testing.serving import FakeReader


class FakeCrawl4AI(FakeReader):
    """Answers `POST /md`.

    The filter `fit` gives no text for pages in `bare`, as the real filter does for pages with little text.
    """

    per_minute = 1000
    bare: frozenset[str] = frozenset()

    def render(self, request: Request) -> bytes:
        """Answer one request."""
        heard = self.hear(request)
        if self.failures:
            failing = self.failures.popleft()
            return self.say(request, failing.status, failing.body, failing.headers)
        if request.path != b"/md" or request.method != b"POST":
            return self.say(request, 404, {"detail": "Not Found"})
        if self.is_locked(heard):
            return self.say(request, 401, {"detail": "Invalid or expired token"})
        if self.seconds_over(self.per_minute):
            return self.say(request, 429, {"error": f"Rate limit exceeded: {self.per_minute} per 1 minute"})
        if "url" not in heard.record:
            missing = {"type": "missing", "loc": ["body", "url"], "msg": "Field required", "input": {}}
            return self.say(request, 422, {"detail": [missing]})
        page = self.pages.get(heard.url)
        if page is None:
            said = f"Failed on navigating ACS-GOTO: Page.goto: net::ERR_NAME_NOT_RESOLVED at {heard.url}"
            return self.say(request, 500, {"detail": said})
        how = heard.record.get("f", "fit")
        markdown = "" if how == "fit" and heard.url in self.bare else page.content
        body = {
            "url": heard.url,
            "filter": how,
            "query": heard.record.get("q"),
            "cache": heard.record.get("c", "0"),
            "markdown": markdown,
            "success": True,
        }
        return self.say(request, 200, body)

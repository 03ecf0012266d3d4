"""Reads pages through Jina Reader, a service that renders them and gives Markdown.

    200, data                            the page
    200, warning "returned error 404"    BAD_REQUEST: there is no such page (404, 410), which Jina calls a success
    ... another status of the page       BLOCKED_OR_EMPTY: another reader may get it
    401                                  AUTH
    402                                  QUOTA
    403, 451 SecurityCompromise          BLOCKED_OR_EMPTY: the site is blocked there
    422 AssertionFailure                 BLOCKED_OR_EMPTY: the page could not be rendered
    422 ParamValidation                  BAD_REQUEST
    429                                  RATE_LIMITED, with Retry-After
    408, 504, 524                        TIMEOUT

URLs travel in the body of a POST: Jina's GET has them in its path, where a fragment is lost and other characters are
interpreted twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Literal

from msgspec import Struct
from pydantic import Field

from mud_assistant.llm.messages import JSON
from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.read.judging import JUDGING_SECONDS, Judge, page_limits
from mud_assistant.tools.web.search.api import Api, ApiReply, ProviderOptions, Shared
from mud_assistant.tools.web.search.refusals import Refusal, clean_message, refusal, refusal_of
from mud_assistant.tools.web.source.protocol import ReadResult, part_of

_WARNED = re.compile(r"returned (?:error )?([45]\d\d)\b", re.IGNORECASE)
_GONE = {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}
#: Cloudflare's status, sent in front of Jina's own servers: the origin did not answer in time.
_CLOUDFLARE_TIMEOUT = 524


class JinaSettings(Struct, frozen=True):
    """The operator's settings: `base_url` may be the European `https://eu.r.jina.ai`; times in seconds."""

    base_url: str = "https://r.jina.ai"
    engine: str = ""
    page_seconds: int = 20
    total_seconds: float = 30.0


class JinaOptions(ProviderOptions):
    """What an owner may set: `engine` is browser, direct or cf-browser-rendering; times in seconds."""

    engine: Literal["", "browser", "direct", "cf-browser-rendering"] = ""
    page_seconds: int = Field(default=20, ge=1, le=180)
    total_seconds: float = Field(default=30.0, ge=1, le=240)


class JinaReadProvider:
    """Reads pages through Jina; it works without a key, but slowly."""

    name = "jina"

    def __init__(self, shared: Shared, judge: Judge, key: str = "", settings: JinaSettings | None = None) -> None:
        settings = settings or JinaSettings()
        self._judge = judge
        self.total_seconds = JUDGING_SECONDS + settings.total_seconds
        self._api = Api(
            shared,
            self.name,
            settings.base_url,
            _headers(settings, key),
            secrets=(key,),
            explain=_explain,
            seconds=settings.total_seconds,
            limits=page_limits(settings.total_seconds),
        )

    async def read_url(self, url: str, *, offset: int = 0, max_length: int = 15_000) -> ReadResult:
        """Return the page's text from Jina. Raises WebError. May be cancelled."""
        await self._judge(url)
        reply = await self._api.post("", {"url": url})
        return part_of(self._page(reply, url), offset, max_length)

    def _page(self, reply: ApiReply, url: str) -> ReadResult:
        record = reply.record
        code, data = record.get("code"), record.get("data")
        if isinstance(code, int) and code != HTTPStatus.OK:
            refused = _explain(ApiReply(code, reply.headers, reply.body, reply.at))
            raise self._api.error(refused.kind, refused.message, refused.retry_at)
        if not isinstance(data, dict):
            raise self._api.error(ErrorKind.PARSE, "answered without a page")
        self._heed_warning(data)
        content = _text(data, "content")
        if not content.strip():
            raise self._api.error(ErrorKind.BLOCKED_OR_EMPTY, "got no text from the page")
        return ReadResult(_text(data, "url") or url, _text(data, "title"), content, len(content), len(content))

    def _heed_warning(self, data: Mapping[str, JSON]) -> None:
        """Raise WebError when a warning says that the page itself failed, which Jina calls a success."""
        match = _WARNED.search(_text(data, "warning"))
        if match is None:
            return
        kind = ErrorKind.BAD_REQUEST if int(match[1]) in _GONE else ErrorKind.BLOCKED_OR_EMPTY
        raise self._api.error(kind, f"was told {match[1]} by the page's server")


def _headers(settings: JinaSettings, key: str) -> dict[str, str]:
    values = {
        "X-Return-Format": "markdown",
        "X-Retain-Images": "none",
        "X-Timeout": str(settings.page_seconds),
    }
    if settings.engine:
        values["X-Engine"] = settings.engine
    if key:
        values["Authorization"] = f"Bearer {key}"
    return values


def _explain(reply: ApiReply) -> Refusal:
    """Explain an error by Jina's names where the status is not enough."""
    record = reply.record
    name, message = _text(record, "name"), clean_message(_text(record, "message"))
    if name.startswith("SecurityCompromise") or reply.status == HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS:
        return refusal(reply, f"it does not read this site: {message}", kind=ErrorKind.BLOCKED_OR_EMPTY)
    if name.startswith("AssertionFailure"):
        return refusal(reply, f"the page could not be read: {message}", kind=ErrorKind.BLOCKED_OR_EMPTY)
    if reply.status == _CLOUDFLARE_TIMEOUT:
        return refusal(reply, message, kind=ErrorKind.TIMEOUT)
    usual = refusal_of(reply)
    return refusal(reply, message, usual.retry_at) if message else usual


def _text(record: Mapping[str, JSON], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""

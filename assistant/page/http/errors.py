"""Errors as answers: a page, or a problem document of RFC 9457 for the API. None shows a stack, a path or a key."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, TypeVar

import msgspec
from twisted.logger import Logger

from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.page.http.call import PageCall, Reply
from mud_assistant.assistant.page.ports import InvalidInput, PageError, TooManyRequests, Unauthenticated, Unavailable
from mud_assistant.assistant.page.values.common import ProblemDocument

PROBLEM = "application/problem+json"
Model = TypeVar("Model", bound=msgspec.Struct)
#: Makes the page of an error; the call is None where the visitor is not known.
RenderError = Callable[[PageCall | None, PageError], bytes]
_BEARER = (("WWW-Authenticate", 'Bearer realm="mud-assistant"'),)
#: What a door that refuses further tries is taken to mean, in seconds.
_WAIT = (("Retry-After", "60"),)

_log = Logger()


class HttpRefusal(PageError):
    """A request was refused for its form: its host, size, method, content type or rate."""

    def __init__(self, status: int, title: str, sentence: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(sentence)
        self.status = status
        self.title = title
        self.headers = headers


def too_many(seconds: float) -> HttpRefusal:
    """Return the refusal of a visitor who asks too often; they may ask again after `seconds`."""
    wait = max(1, int(-(-seconds // 1)))
    sentence = f"You asked too often. Try again in {wait} s."
    return HttpRefusal(429, "Too many requests", sentence, (("Retry-After", str(wait)),))


# Any: JSON of a client.
def parse_body(model: type[Model], data: Any) -> Model:
    """Return what a client sent as `model`. Raises InvalidInput that names the first field that is wrong."""
    try:
        return msgspec.convert(data, model, strict=False)  # numbers of a query are text
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        raise InvalidInput(f"{where.strip('.`') or 'the body'}: {what}") from None


def as_page_error(error: Exception) -> PageError:
    """Return what the visitor is told of an error. What was not foreseen is logged, and told without details."""
    match error:
        case PageError():
            return error
        case SettingsError():
            return InvalidInput(error.sentence)
        case AssistantError():
            return Unavailable(error.sentence)
        case _:
            _log.failure("a request of the page failed")
            return PageError("Something went wrong. The log of the server says what.")


def plain_error_page(_: PageCall | None, error: PageError) -> bytes:
    """Return a page of an error without any style, for when there is no better one."""
    title, sentence = escape(error.title), escape(str(error))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title></head><body><main><h1>{title}</h1><p>{sentence}</p></main></body></html>"
    ).encode()


def error_reply(
    error: Exception,
    call: PageCall | None,
    *,
    is_api: bool,
    render: RenderError,
    scrub: Callable[[str], str],
) -> Reply:
    """Return the answer that tells of an error; call it where the error is handled, for the log."""
    told = as_page_error(error)
    headers = told.headers if isinstance(told, HttpRefusal) else ()
    if isinstance(told, TooManyRequests):
        headers = _WAIT
    elif isinstance(told, Unauthenticated) and is_api:
        headers = _BEARER
    safe = HttpRefusal(told.status, told.title, scrub(str(told)), headers)
    if is_api:
        problem = ProblemDocument(title=safe.title, status=safe.status, detail=str(safe))
        return Reply(msgspec.json.encode(problem), safe.status, PROBLEM, headers)
    try:
        body = render(call, safe)
    except Exception:  # noqa: BLE001  (drawing is synchronous; the plain page is what is left)
        _log.failure("the page of an error could not be drawn")
        body = plain_error_page(call, safe)
    return Reply(body, safe.status, headers=headers)

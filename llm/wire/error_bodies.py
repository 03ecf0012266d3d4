"""Reads error bodies of every shape into one message, code, parameter and status."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import orjson
from msgspec import Struct, field
from msgspec.structs import replace

from mud_assistant.llm.errors import ContextOverflow, LLMError, OutputUnreadable, Rejected
from mud_assistant.llm.wire.error_kinds import kind_of, limit_in
from mud_assistant.llm.wire.rate_limits import seconds_of

_MAX_MESSAGE = 300
_MAX_GENERATED = 64 * 1024
_MARKUP = re.compile(r"<[^<>]{0,200}>")
#: The statuses that error words stand for when no status is given, as in the middle of a stream.
_STATUS_OF_WORD: Mapping[str, int] = {
    "overloaded_error": 529,
    "server_is_overloaded": 503,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "ratelimitreached": 429,
    "insufficient_quota": 429,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "exceed_context_size_error": 400,
    "tool_use_failed": 400,
}
#: Fields of a body that say when to retry, and the header that says the same.
_WISH_FIELDS: Mapping[str, str] = {
    "retry_after": "retry-after",
    "retry_after_seconds": "retry-after",
    "retry_after_ms": "retry-after-ms",
    "retrydelay": "retry-after",
}
_TELLS_A_TIME = re.compile(r"retry-after(-ms)?|x-ratelimit-[a-z-]{1,40}", re.IGNORECASE)
_COME_BACK = re.compile(
    r"(?:try again|retry) (?:in|after) "
    r"((?:\d+(?:\.\d+)? ?(?:ms|h(?:ours?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z]) ?)+)",
    re.IGNORECASE,
)
_UNIT = re.compile(r" ?(ms|h|m|s)[a-z]* ?", re.IGNORECASE)
_GENERIC = "provider returned error"


class ErrorBody(Struct, frozen=True):
    """What an error body says.

    `message` is a sentence for people, `code` the provider's code words joined, `status` the status the body names,
    `parameter` the request field it blames, and `limit` the context length it gives. `generated` is the model's output
    when the server could not parse it. `wishes` says when to retry, under the names of the headers that would say so.
    `is_page`: the body is a page for people, as a bot filter sends it.
    """

    message: str
    code: str = ""
    limit: int | None = None
    status: int | None = None
    parameter: str = ""
    generated: str = ""
    wishes: Mapping[str, str] = field(default_factory=dict)
    is_page: bool = False

    @property
    def implied_status(self) -> int:
        """The status named or implied, 500 when there is neither."""
        words = (_STATUS_OF_WORD[word] for word in self.code.lower().split() if word in _STATUS_OF_WORD)
        return self.status or next(words, 500)


def read_error_body(body: bytes) -> ErrorBody:
    """Read an error body of any shape. Never raises."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ErrorBody(excerpt(body), is_page=body.lstrip()[:1] == b"<")
    return read_error(data)


def excerpt(body: bytes) -> str:
    """Return the beginning of a body that is not JSON, on one line and without markup."""
    plain = _MARKUP.sub(" ", body[:4000].decode("utf-8", "replace"))
    return " ".join(word for word in plain.split() if word.isprintable())[:_MAX_MESSAGE]


def read_error(data: object) -> ErrorBody:
    """Read a decoded error value, which may be an object, a list or plain text."""
    if isinstance(data, list):
        return read_error(data[0]) if data else ErrorBody("")
    if not isinstance(data, Mapping):
        return ErrorBody(_sentence(data))
    inner = data.get("error")
    if isinstance(inner, Mapping):
        found = _from_mapping(inner)
        return found if found.status else replace(found, status=_status(data))
    return _from_mapping(data)


def typed_error(status: int, body: ErrorBody, *, provider: str, model: str, request_id: str | None = None) -> LLMError:
    """Return the error for a status and its body. `kind_of` decides its type, and so whose fault it is."""
    said = f"{body.code} {body.parameter} {body.message}"
    kind = kind_of(status, said, is_page=body.is_page, model=model)
    message = body.message or f"answered with status {status}"
    error = kind(message, provider, model, status, request_id, wishes=body.wishes)
    if isinstance(error, ContextOverflow):
        error.limit = body.limit or limit_in(body.message)
    elif isinstance(error, OutputUnreadable):
        error.generated = body.generated
    elif isinstance(error, Rejected):
        error.parameter = body.parameter
    return error


def _from_mapping(data: Mapping[str, object]) -> ErrorBody:
    first = next((data[key] for key in ("message", "detail", "error", "msg") if data.get(key)), "")
    message, parameter = _detail(first)
    if message.lower() == _GENERIC:
        message = _upstream(data.get("metadata")) or message
    limit, written = data.get("n_ctx"), data.get("failed_generation")
    named = data.get("param")
    return ErrorBody(
        message,
        " ".join(str(data[key])[:_MAX_MESSAGE] for key in ("code", "type") if data.get(key)),
        limit if isinstance(limit, int) else None,
        _status(data),
        named if isinstance(named, str) else parameter,
        written[:_MAX_GENERATED] if isinstance(written, str) else "",
        _wishes(data, message),
    )


def _detail(said: object) -> tuple[str, str]:
    """Return the sentence and field name of a message, or of a validation report as FastAPI and Mistral send it."""
    if isinstance(said, list) and said and isinstance(said[0], Mapping):
        place = said[0].get("loc")
        parameter = str(place[-1]) if isinstance(place, list) and place else ""
        sentence = _sentence(said[0].get("msg") or said[0].get("message"))
        return (f"{parameter}: {sentence}" if parameter else sentence), parameter
    if isinstance(said, Mapping):
        inner = read_error(said)
        return inner.message, inner.parameter
    return _sentence(said), ""


def _upstream(metadata: object) -> str:
    """Return what the provider behind OpenRouter said, from `metadata.raw`."""
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return read_error_body(raw.encode("utf-8", "replace")).message if isinstance(raw, str) else ""


def _wishes(data: Mapping[str, object], message: str) -> dict[str, str]:
    """Find when to retry: in the body's fields, repeated headers (OpenRouter), details (Google) or the message."""
    wishes: dict[str, str] = {}
    metadata = data.get("metadata")
    places = [data, metadata if isinstance(metadata, Mapping) else {}]
    details = data.get("details")
    places += [entry for entry in details if isinstance(entry, Mapping)] if isinstance(details, list) else []
    for place in places:
        headers = place.get("headers")
        if isinstance(headers, Mapping):
            wishes |= {name: str(value) for name, value in headers.items() if _TELLS_A_TIME.fullmatch(str(name))}
        for name, value in place.items():
            header = _WISH_FIELDS.get(str(name).lower().replace("-", "_"))
            if header and isinstance(value, int | float | str) and not isinstance(value, bool):
                wishes[header] = str(value).removesuffix("s")
    said = _COME_BACK.search(message)
    if not wishes and said and (seconds := seconds_of(_UNIT.sub(r"\1", said.group(1).lower()))):
        wishes["retry-after"] = f"{seconds:.9g}"
    return wishes


def _status(data: Mapping[str, object]) -> int | None:
    """Return the HTTP status that the body itself names."""
    return next(_statuses(data), None)


def _statuses(data: Mapping[str, object]) -> Iterator[int]:
    for key in ("status_code", "status", "code"):
        value = data.get(key)
        if isinstance(value, str) and value.isdecimal() and len(value) == 3:  # noqa: PLR2004  (HTTP)
            value = int(value)
        if isinstance(value, int) and 400 <= value <= 599:  # noqa: PLR2004  (HTTP)
            yield value


def _sentence(said: object) -> str:
    return "" if said is None else str(said)[:_MAX_MESSAGE]

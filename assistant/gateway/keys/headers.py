"""Says in headers what a key has left, as each dialect's clients read it. They never tell of the provider's limits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import ceil

from mud_assistant.assistant.gateway.keys.admission import Admission
from mud_assistant.assistant.gateway.keys.spending import LimitLeft

_MINUTE, _HOUR = 60, 3600


def limit_headers(admission: Admission, dialect: str) -> list[tuple[str, str]]:
    """Return names and values of the headers. `dialect` is the name of one; without limits known to it, none."""
    limits = [("requests", admission.requests_left()), ("tokens", admission.tokens_left())]
    known = [(what, left) for what, left in limits if left is not None]
    match dialect:
        case "messages":
            return [header for what, left in known for header in _of_messages(what, left, admission.wall())]
        case "chat" | "responses":
            return [header for what, left in known for header in _of_chat(what, left)]
    return []


def _of_messages(what: str, left: LimitLeft, wall: float) -> list[tuple[str, str]]:
    begin = f"anthropic-ratelimit-{what}"
    resets_at = datetime.fromtimestamp(ceil(wall), UTC) + timedelta(seconds=ceil(left.seconds))
    return [
        (f"{begin}-limit", str(left.limit)),
        (f"{begin}-remaining", str(left.left)),
        (f"{begin}-reset", f"{resets_at:%Y-%m-%dT%H:%M:%SZ}"),
    ]


def _of_chat(what: str, left: LimitLeft) -> list[tuple[str, str]]:
    return [
        (f"x-ratelimit-limit-{what}", str(left.limit)),
        (f"x-ratelimit-remaining-{what}", str(left.left)),
        (f"x-ratelimit-reset-{what}", _duration(left.seconds)),
    ]


def _duration(seconds: float) -> str:
    """Return seconds as such headers write them: 25ms, 7.5s, 6m0s, 23h59m0s."""
    if seconds < 1:
        return f"{ceil(seconds * 1000)}ms"
    if seconds < _MINUTE:
        return f"{ceil(seconds * 10) / 10:g}s"
    minutes, rest = divmod(ceil(seconds), _MINUTE)
    hours, minutes = divmod(minutes, _HOUR // _MINUTE)
    return f"{hours}h{minutes}m{rest}s" if hours else f"{minutes}m{rest}s"

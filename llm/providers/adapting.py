"""What a Chat Completions server's 400 teaches about the request's fields.

"max_tokens is not supported ... use max_completion_tokens", or the reverse    renamed
"temperature does not support 0.5 with this model", top_p, seed and friends    left out
"function tools with reasoning_effort are not supported"                       reasoning_effort "none" with tools
"""

from __future__ import annotations

import re
from dataclasses import replace

from llm.errors import Rejected
from llm.modes.mode import FieldOverride, RequestMode

_LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
#: Fields a request can do without.
_OPTIONAL = (
    "temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs",
    "top_logprobs", "seed", "stop", "stream_options", "reasoning_effort", "reasoning", "verbosity", "tool_choice",
    "parallel_tool_calls",
)  # fmt: skip
_FIELD = re.compile(rf"(?<![\w-])({'|'.join(sorted((*_LIMITS, *_OPTIONAL), key=len, reverse=True))})(?![\w-])")
_REFUSED = re.compile(
    r"unsupported|not support|unrecognized|unknown|unexpected|extra inputs|extra_forbidden|not permitted|deprecated"
    r"|not allowed|only .{0,40}(allowed|supported)|is not valid",
    re.IGNORECASE,
)
_TOOLS = re.compile(r"\b(tools?|functions?)\b", re.IGNORECASE)
_NO_EFFORT = FieldOverride("reasoning_effort", value="none", with_tools=True)


def adapt_fields(error: Rejected, mode: RequestMode) -> RequestMode | None:
    """Return the mode without what was refused, or None when no field was refused or that was tried already."""
    override = _override_for(error, mode)
    if override is None or override in mode.overrides:
        return None
    back = any(earlier.rename == override.field for earlier in mode.overrides)
    return None if back else replace(mode, overrides=(*mode.overrides, override))


def _override_for(error: Rejected, mode: RequestMode) -> FieldOverride | None:
    named = _FIELD.search(error.parameter) or _FIELD.search(error.message)
    if named is None or not _REFUSED.search(error.message):
        return None
    field = named.group(1)
    if field == "reasoning_effort" and mode.native and _TOOLS.search(error.message):
        return _NO_EFFORT
    return FieldOverride(field, rename=_LIMITS.get(field, ""))

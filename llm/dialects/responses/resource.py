"""The `response` object: what an answer says of itself, and what it repeats of the request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall
from mud_assistant.llm.messages import JSON
from mud_assistant.llm.response import Usage

#: The values of settings that the request leaves out.
_USUAL: Mapping[str, JSON] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "parallel_tool_calls": True,
    "temperature": 1.0,
    "top_p": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "top_logprobs": 0,
    "truncation": "disabled",
    "metadata": {},
    "safety_identifier": None,
    "prompt_cache_key": None,
    "user": None,
}


class ResponseResource:
    """The response object of one answer. `value` gives it as it is at one moment."""

    def __init__(self, asked: AskedCall, head: AnswerHead) -> None:
        body = asked.body
        self.id = f"resp_{head.id}"
        self._fixed: dict[str, object] = {
            "id": self.id,
            "object": "response",
            "created_at": head.created,
            "model": asked.model,
            "previous_response_id": None,
            "store": False,
            "background": False,
            "service_tier": "default",
            **{key: usual if body.get(key) is None else body[key] for key, usual in _USUAL.items()},
            "text": _text(body.get("text")),
            "reasoning": _reasoning(body.get("reasoning")),
            "tool_choice": _choice(body.get("tool_choice")),
            # Often the largest part by far, and in three events of a stream.
            "tools": orjson.Fragment(orjson.dumps(_tools(body.get("tools")))),
        }

    def value(
        self,
        status: str,
        output: Sequence[JSON] = (),
        usage: Usage | None = None,
        *,
        completed_at: int | None = None,
        incomplete: str = "",
        error: JSON = None,
    ) -> dict[str, object]:
        """Return the response as it is now. `incomplete` is why the answer is cut off, empty when it is not."""
        return {
            **self._fixed,
            "status": status,
            "completed_at": completed_at,
            "error": error,
            "incomplete_details": {"reason": incomplete} if incomplete else None,
            "output": list(output),
            "usage": None if usage is None else _usage(usage),
        }


def _usage(usage: Usage) -> dict[str, JSON]:
    """Return the use of tokens. What is not known is 0 in this dialect."""
    return {
        "input_tokens": usage.input_tokens or 0,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens or 0},
        "output_tokens": usage.output_tokens or 0,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": usage.total_tokens or 0,
    }


def _tools(tools: JSON) -> list[JSON]:
    """Return the tools as they came. The schema of a response wants fields that a request may leave out."""
    entries = tools if isinstance(tools, list) else []
    return [_tool(tool) if isinstance(tool, Mapping) else tool for tool in entries]


def _tool(tool: Mapping[str, JSON]) -> JSON:
    if tool.get("type") != "function":
        return tool
    return {"description": None, "parameters": None, **tool, "strict": bool(tool.get("strict"))}


def _choice(choice: JSON) -> JSON:
    """Return the choice in this dialect's own spelling."""
    if not isinstance(choice, Mapping):
        return choice or "auto"
    if isinstance(function := choice.get("function"), Mapping):
        return {"type": "function", "name": function.get("name")}
    return {"mode": "auto", **choice} if choice.get("type") == "allowed_tools" else choice


def _text(text: JSON) -> JSON:
    """Return how the text is formed."""
    said = text if isinstance(text, Mapping) else {}
    form = said.get("format")
    form = form if isinstance(form, Mapping) else {"type": "text"}
    if form.get("type") == "json_schema":
        # The published schema of a response has no place for the schema of the text.
        form = {"description": None, **form, "schema": None, "strict": bool(form.get("strict"))}
    return {**said, "format": form}


def _reasoning(reasoning: JSON) -> JSON:
    said = reasoning if isinstance(reasoning, Mapping) else {}
    return {"effort": said.get("effort"), "summary": said.get("summary")}

"""Keeps a model's reasoning as it came, so that it can be sent back.

The same thing has four names: `reasoning_content` (DeepSeek, llama.cpp), `reasoning` (Ollama, vLLM), `thinking`, and
OpenRouter's `reasoning_details`, a list of typed pieces that may be signed or encrypted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mud_assistant.llm.messages import JSON, JSONObject

_PLAIN = ("reasoning_content", "reasoning", "thinking")
#: Members of a detail that arrive in pieces. Any other arrives once.
_JOINED = ("text", "summary", "data")
#: The fields of a piece that hold reasoning.
REASONING_NAMES = frozenset({*_PLAIN, "reasoning_details"})


class ReasoningKept:
    """The reasoning of one answer, collected piece by piece."""

    def __init__(self) -> None:
        self._content: list[str] | None = None
        self._details: list[dict[str, Any]] = []

    def take(self, piece: Mapping[str, Any]) -> str:
        """Return the reasoning in one delta or message, once, however many of the names it has."""
        plain = next((key for key in _PLAIN if isinstance(piece.get(key), str) and piece[key]), "")
        if isinstance(content := piece.get("reasoning_content"), str):
            self._content = self._content or []
            self._content.append(content)
        details = piece.get("reasoning_details")
        pieces = [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []
        for detail in pieces:
            self._add(detail)
        if plain:
            return str(piece[plain])
        return "".join(str(detail.get("text") or detail.get("summary") or "") for detail in pieces)

    def fields(self) -> dict[str, JSON]:
        """Return the fields to send back to the server that wrote them. Empty when there are none.

        DeepSeek wants its `reasoning_content` back even when it is empty.
        """
        fields: dict[str, JSON] = {}
        if self._content is not None:
            fields["reasoning_content"] = "".join(self._content)
        if self._details:
            fields["reasoning_details"] = list(self._details)
        return fields

    def _add(self, detail: JSONObject) -> None:
        """Join a piece to the detail it continues: the last one, if of the same type and index and not yet signed."""
        last = self._details[-1] if self._details else None
        same = last is not None and all(last.get(key) == detail.get(key) for key in ("type", "index"))
        if last is None or not same or last.get("signature") or detail.get("id", last.get("id")) != last.get("id"):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            if key in _JOINED and isinstance(value, str) and isinstance(last.get(key), str):
                last[key] += value
            elif value is not None:
                last[key] = value

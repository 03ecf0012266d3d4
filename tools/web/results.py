"""The results of the two web tools, `web_search` and `open_page`. A model gets them as JSON."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


class _WithoutEmpty(BaseModel):
    """Leaves fields that say nothing out of the JSON a model is given; `model_dump` has them all."""

    model_config = ConfigDict(frozen=True)

    @model_serializer(mode="wrap", when_used="json")
    def _drop_empty(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialize(self).items() if value not in (None, "", [])}


class SearchResultItem(_WithoutEmpty):
    """One hit and the number to cite it by."""

    citation_id: int
    title: str
    snippet: str
    url: str


class WebSearchToolResult(BaseModel):
    """Hits, what the model must know about the search itself, and the sources as lines of a footer.

    `message` holds no instructions: those stand in the system text (`assistant/loop/prompt.py`). The sources are the
    hits once more, for programs, and are left out of the JSON a model is given.
    """

    model_config = ConfigDict(frozen=True)

    results: list[SearchResultItem]
    message: str = ""
    sources: list[str] = []

    @model_serializer(mode="wrap", when_used="json")
    def _drop_sources(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        told: dict[str, Any] = serialize(self)
        return {name: told[name] for name in ("results", "message") if name == "results" or told[name]}


class OpenPageToolResult(_WithoutEmpty):
    """A page or the part of it that was asked for, or why there is none.

    `original_length` is of the whole page, when known; `truncated` when `content` is not all of it. It is
    cited by `citation_id`, the number it had in a search.
    """

    url: str
    title: str = ""
    content: str = ""
    content_length: int = 0
    original_length: int | None = None
    truncated: bool = False
    status: Literal["success", "error"] = "success"
    error: str = ""
    citation_id: int | None = None
    notes: list[str] = []

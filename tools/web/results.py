"""What the two tools of the web answer, as ADR 013 names it. A model gets it as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class SearchResultItem(BaseModel):
    """One hit and the number to cite it by."""

    model_config = ConfigDict(frozen=True)

    title: str
    url: str
    snippet: str
    citation_id: int


class WebSearchToolResult(BaseModel):
    """Hits, a word on what to do with them, and the sources as lines of a footer."""

    model_config = ConfigDict(frozen=True)

    results: list[SearchResultItem]
    message: str
    sources: list[str]


class OpenPageToolResult(BaseModel):
    """A page or the part of it that was asked for, or why there is none.

    `original_length` is of the whole page, when known; `truncated` when `content` is not all of it. It is
    cited by `citation_id`, the number it had in a search.
    """

    model_config = ConfigDict(frozen=True)

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

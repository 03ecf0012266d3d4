"""The building blocks of the pages: cards, tables, pills, notices. Each is a pure function that returns an element.

The classes are those of static/page.css. Text given to them is escaped by the element tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import quote, urlencode

from msgspec import Struct

from mud_assistant.assistant.page.http.call import PageCall
from mud_assistant.assistant.page.views.element import Element, h

#: What a word of a state means for the eye. Anything else is quiet.
_TONES = {
    "ok": {"awake", "ok", "closed", "answered", "granted", "done", "allowed", "reachable"},
    "busy": {"opening", "thinking", "waiting", "half_open", "half-open", "open run"},
    "warn": {"stopped", "limit", "unknown", "asked", "expired", "cancelled", "probing"},
    "danger": {"emergency", "lost", "open", "failed", "wrong", "refused", "denied", "unavailable"},
}


class TableColumn(Struct, frozen=True):
    """A column of a table. Numbers stand to the right; a `wide` one takes the room that is left and breaks lines."""

    label: str
    is_number: bool = False
    is_wide: bool = False


#: The heads of a table; a plain text is a column of text.
Columns = Sequence[TableColumn | str]


class TableRow(Struct, frozen=True):
    """A row of a table: its cells, and an id by which the script and links find it."""

    cells: Sequence[object]
    id: str | None = None
    class_: str | None = None


def path_to(call: PageCall, *parts: str, **query: str) -> str:
    """Return the path of a page of ours: `path_to(call, "a", "assistant:12", done="x")`. Empty queries are left out."""
    path = f"{call.prefix}/" + "/".join(quote(part, safe="") for part in parts)
    asked = urlencode({key: value for key, value in query.items() if value != ""})
    return f"{path}?{asked}" if asked else path


def link(call: PageCall, text: object, *parts: str, **query: str) -> Element:
    """Return a link to a page of ours."""
    return h("a", text, href=path_to(call, *parts, **query))


def card(title: str, *content: object, actions: object = None, id_: str | None = None, live: bool = False) -> Element:
    """Return a section with a heading. A `live` one is fetched anew every few seconds by the script; it needs an id."""
    return h(
        "section",
        h("div", h("h2", title), h("div", actions, class_="card-actions") if actions else None, class_="card-head"),
        h("div", content, class_="card-body"),
        class_="card",
        id=id_,
        data_refresh=live and bool(id_),
    )


def table(
    caption: str,
    columns: Columns,
    rows: Iterable[Sequence[object] | TableRow],
    *,
    empty: object = "There is nothing here yet.",
) -> Element:
    """Return a table, whose rows become cards on a narrow screen. The first cell of a row is its heading.

    The caption is read out and not shown. Without rows, `empty` is shown instead.
    """
    heads = [TableColumn(column) if isinstance(column, str) else column for column in columns]
    body = [_row(heads, row if isinstance(row, TableRow) else TableRow(row)) for row in rows]
    if not body:
        return empty if isinstance(empty, Element) else empty_state(str(empty))
    return h(
        "div",
        h(
            "table",
            h("caption", caption, class_="hidden"),
            h("thead", h("tr", [h("th", head.label, scope="col", class_=_cell_class(head)) for head in heads])),
            h("tbody", body),
        ),
        class_="table",
    )


def _row(heads: Sequence[TableColumn], row: TableRow) -> Element:
    cells = [
        h(
            "td" if index else "th",
            h("span", cell, class_="cell"),
            scope=None if index else "row",
            class_=_cell_class(head),
            data_label=head.label or None,
        )
        for index, (head, cell) in enumerate(zip(heads, row.cells, strict=True))
    ]
    return h("tr", cells, id=row.id, class_=row.class_)


def _cell_class(column: TableColumn) -> str | None:
    return "num" if column.is_number else "wide" if column.is_wide else None


def tone_of(word: str) -> str:
    """Return how a word of a state looks: ok, busy, warn, danger or quiet."""
    return next((tone for tone, words in _TONES.items() if word in words), "quiet")


def pill(word: str, tone: str | None = None) -> Element:
    """Return a state as a word with a mark, whose shape differs by tone, so that colour is not all there is."""
    return h("span", word, class_=f"pill {tone or tone_of(word)}")


def count_badge(count: int, what: str) -> Element | None:
    """Return a small count for a link; nothing for none. `what` is read out after it."""
    if count <= 0:
        return None
    return h("span", str(count), h("span", f" {what}", class_="hidden"), class_="count")


def key_values(*pairs: tuple[str, object]) -> Element:
    """Return a list of names and values. Pairs whose value is None are left out."""
    return h(
        "dl",
        [h("div", h("dt", key), h("dd", value)) for key, value in pairs if value is not None],
        class_="pairs",
    )


def notice(sentence: object, *more: object, tone: str = "info") -> Element:
    """Return a sentence that should be seen. `tone` is info, ok, warn or danger; danger is announced at once."""
    role = "alert" if tone == "danger" else "status"
    return h("div", h("p", sentence), more, class_=f"notice {tone}", role=role)


def empty_state(sentence: str, *more: object) -> Element:
    """Return what stands where a list would be: why it is empty, and what to do."""
    return h("div", h("p", sentence), more, class_="empty")


def figure_tile(label: str, value: object, note: object = None, tone: str = "") -> Element:
    """Return one number of a row of numbers, with a line under it."""
    return h(
        "div",
        h("dt", label),
        h("dd", h("span", value, class_="figure"), h("span", note, class_="note") if note else None),
        class_=f"tile {tone}".strip(),
    )


def tiles(*each: Element, id_: str | None = None) -> Element:
    """Return a row of `figure_tile`s. With an id it is fetched anew every few seconds."""
    return h("dl", each, class_="tiles", id=id_, data_refresh=bool(id_))


def words(text: str) -> Element:
    """Return words of a player or a model, with their line breaks."""
    return h("span", text, class_="words", dir="auto")


def code_block(text: str, label: str, *, copies: bool = True) -> Element:
    """Return text as it is, in a box that scrolls; the script adds a button that copies it."""
    return h(
        "div",
        h("pre", h("code", text), tabindex="0", role="region", aria_label=label, dir="ltr"),
        class_="code",
        data_copy=copies,
    )


def more_of(summary: str, *content: object, is_open: bool = False) -> Element:
    """Return content that opens on a click, also without script."""
    return h("details", h("summary", summary), h("div", content, class_="more"), open=is_open)

"""The forms of the pages: fields, buttons, searches, pagers. A form that changes something carries the csrf token."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mud_assistant.assistant.page.http.call import PageCall
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.parts import path_to


def submit(label: object, tone: str = "plain", *, name: str | None = None, value: str | None = None) -> Element:
    """Return a button that sends its form. `tone` is plain, primary, danger or link."""
    return h("button", label, type="submit", class_=f"button {tone}", name=name, value=value)


def text_field(  # the parts of one control
    name: str,
    label: str,
    value: str = "",
    *,
    hint: str = "",
    kind: str = "text",
    placeholder: str | None = None,
    required: bool = False,
    rows: int = 0,
    id_: str | None = None,
) -> Element:
    """Return a labelled field: one line of `kind`, or a text area of `rows` lines. `hint` stands under it."""
    key = id_ or f"f-{name}"
    told = f"{key}-hint" if hint else None
    shared: dict[str, str | float | bool | None] = {
        "id": key,
        "name": name,
        "required": required,
        "placeholder": placeholder,
        "aria_describedby": told,
    }
    control = (
        h("textarea", value, rows=rows, **shared)
        if rows
        else h("input", type=kind, value=value, autocomplete="off", **shared)
    )
    return _field(key, label, control, hint)


def choice_field(
    name: str,
    label: str,
    choices: Iterable[tuple[str, str]],
    value: str = "",
    *,
    hint: str = "",
    id_: str | None = None,
) -> Element:
    """Return a labelled choice of (value, what people read). A value that is no choice is added, so it is not lost."""
    key = id_ or f"f-{name}"
    pairs = list(choices)
    if value not in {each for each, _ in pairs}:
        pairs.append((value, value))
    options = [h("option", shown, value=each, selected=each == value) for each, shown in pairs]
    return _field(
        key, label, h("select", options, id=key, name=name, aria_describedby=f"{key}-hint" if hint else None), hint
    )


def check_field(name: str, label: str, *, checked: bool = False, id_: str | None = None) -> Element:
    """Return a labelled check box, whose value is "yes"."""
    key = id_ or f"f-{name}"
    return h(
        "div",
        h("input", type="checkbox", id=key, name=name, value="yes", checked=checked),
        h("label", label, for_=key),
        class_="check",
    )


def _field(key: str, label: str, control: Element, hint: str) -> Element:
    return h(
        "div",
        h("label", label, for_=key),
        control,
        h("p", hint, class_="hint", id=f"{key}-hint") if hint else None,
        class_="field",
    )


def post_form(
    call: PageCall,
    path: str,
    *content: object,
    fields: Mapping[str, str] | None = None,
    class_: str = "form",
    confirm: str = "",
) -> Element:
    """Return a form that changes something. `confirm` is a question the script asks first; never ask it for a stop."""
    hidden = {"csrf": call.csrf, **(fields or {})}
    return h(
        "form",
        [h("input", type="hidden", name=name, value=value) for name, value in hidden.items()],
        content,
        method="post",
        action=path,
        class_=class_,
        data_confirm=confirm or None,
    )


def action_form(
    call: PageCall,
    path: str,
    do: str,
    label: object,
    *,
    fields: Mapping[str, str] | None = None,
    tone: str = "plain",
    confirm: str = "",
    needs: VisitorRole = VisitorRole.OPERATOR,
    describe: str = "",
) -> Element:
    """Return a form of one button, which posts `do` to `path`. `describe` says in a sentence what it does.

    A visitor whose role is not enough sees the button, off, with the reason.
    """
    if not call.visitor.role.may(needs):
        return h(
            "span",
            h(
                "button",
                label,
                type="button",
                class_=f"button {tone}",
                disabled=True,
                title=f"This needs the role {needs}.",
            ),
            class_="action",
        )
    told = h("span", describe, class_="hint") if describe else None
    return post_form(
        call, path, submit(label, tone), told, fields={"do": do, **(fields or {})}, class_="action", confirm=confirm
    )


def filter_bar(
    path: str, *controls: object, is_used: bool = False, label: str = "Filter", folds: bool = False
) -> Element:
    """Return a search as a GET form, so that the filter stands in the address. `is_used` adds a link that clears it.

    One that `folds` is closed on a narrow screen until it is used.
    """
    form = h(
        "form",
        controls,
        h(
            "div",
            h("button", label, type="submit", class_="button primary"),
            h("a", "Clear", href=path, class_="button link") if is_used else None,
            class_="filter-go",
        ),
        method="get",
        action=path,
        class_="filters",
        role="search",
    )
    return h("details", h("summary", label), form, class_="fold", open=is_used) if folds else form


def pager(call: PageCall, parts: Sequence[str], query: Mapping[str, str], before: str, *, shown: int) -> Element | None:
    """Return links to the newest and to older entries. `before` is the key of the next page, empty at the end."""
    is_first = not query.get("before")
    if is_first and not before:
        return None
    rest = {key: value for key, value in query.items() if key != "before"}
    return h(
        "nav",
        None if is_first else h("a", "Newest", href=path_to(call, *parts, **rest), class_="button plain"),
        h("span", f"{shown} shown", class_="quiet"),
        h("a", "Older", href=path_to(call, *parts, **rest, before=before), class_="button plain", rel="next")
        if before
        else h("span", "This is the oldest.", class_="quiet"),
        class_="pager",
        aria_label="Pages",
    )

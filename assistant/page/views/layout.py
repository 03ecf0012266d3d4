"""The frame of every page: head, header with the way to each page and the stop button, what was done, footer."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from functools import cache
from importlib import resources

from mud_assistant.assistant.page.http.call import PageCall, Reply, redirect
from mud_assistant.assistant.page.http.static import StaticTable
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.forms import action_form
from mud_assistant.assistant.page.views.parts import count_badge, notice, path_to

#: The key of a page in the header, its path under the prefix, what people read.
_PAGES = (
    ("overview", "", "Overview"),
    ("live", "live", "Live"),
    ("runs", "runs", "Runs"),
    ("approvals", "approvals", "Approvals"),
    ("money", "money", "Money"),
    ("doctor", "doctor", "Doctor"),
    ("settings", "settings", "Settings"),
)
_FILES = ("page.css", "charts.css", "page.js", "icon.svg")
_STOP_ALL = "At once, until started again. Nothing is deleted."
_LONGEST_FLASH = 400


def page(
    call: PageCall,
    title: str,
    *content: object,
    current: str = "",
    stop: tuple[str, str] | None = None,
    waiting: int | None = None,
    lead: object = None,
    actions: object = None,
    crumbs: Sequence[tuple[str, str]] = (),
) -> bytes:
    """Return a whole document: header, `title` as its only h1, then the content.

    `current` is the key of the page in the header: overview, live, runs, approvals, money, doctor or settings. `stop`
    is (id, name) of the one assistant that the page is about, which can then be stopped beside all. `waiting` is how
    many approvals wait, where the page knows. `lead` stands under the title, `actions` beside it. `crumbs` are (what
    people read, path) of the pages above this one.
    """
    head = h(
        "div",
        h(
            "div",
            h("nav", [(h("a", text, href=path), " / ") for text, path in crumbs], class_="crumbs", aria_label="Above")
            if crumbs
            else None,
            h("h1", title),
            h("p", lead, class_="lead") if lead else None,
        ),
        h("div", actions, class_="page-actions") if actions else None,
        class_="page-head",
    )
    body = (
        h("a", "Skip to the content", href="#content", class_="skip"),
        _header(call, current, stop, waiting),
        h("main", _flash(call), head, content, id="content", tabindex="-1"),
        _footer(call),
    )
    return document(call.prefix, title, *body)


@cache
def static_files() -> StaticTable:
    """Return the style sheets, the script and the icon. The first call reads files: make it once at the start."""
    folder = resources.files("mud_assistant.assistant.page.views") / "static"
    return StaticTable({name: (folder / name).read_bytes() for name in _FILES})


def document(prefix: str, title: str, *body: object, script: bool = True) -> bytes:
    """Return a document with our style sheet and script, and nothing in its body but what is given."""
    files = static_files()
    head = h(
        "head",
        h("meta", charset="utf-8"),
        h("title", f"{title} \u00b7 mud-assistant"),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("meta", name="color-scheme", content="light dark"),
        h("meta", name="robots", content="noindex"),
        h("link", rel="icon", type="image/svg+xml", href=prefix + files.path("icon.svg")),
        [h("link", rel="stylesheet", href=prefix + files.path(name)) for name in ("page.css", "charts.css")],
        h("script", src=prefix + files.path("page.js"), defer=True) if script else None,
    )
    return b"<!DOCTYPE html>\n" + h("html", head, h("body", body, data_prefix=prefix), lang="en").render().encode()


def flash(call: PageCall, text: str, *parts: str, **query: str) -> Reply:
    """Send the browser to a page of ours, which then shows `text` once as what was done.

    The text is signed with the session's csrf token, so that no link from elsewhere can put words on a page.
    """
    shown = text[:_LONGEST_FLASH]
    return redirect(path_to(call, *parts, **query, done=shown, proof=_proof(call, shown)))


def _proof(call: PageCall, text: str) -> str:
    return hmac.new(call.csrf.encode(), text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:24]


def _flash(call: PageCall) -> Element | None:
    text = call.query.get("done", "")
    if not text or not hmac.compare_digest(_proof(call, text).encode(), call.query.get("proof", "").encode()):
        return None
    return notice(text, tone="ok")


def _header(call: PageCall, current: str, stop: tuple[str, str] | None, waiting: int | None) -> Element:
    links = [
        h(
            "li",
            h(
                "a",
                text,
                count_badge(waiting or 0, "waiting") if key == "approvals" else None,
                href=path_to(call, path),
                aria_current="page" if key == current else None,
                id=f"nav-{key}",
                data_refresh=key == "approvals" and waiting is not None,
            ),
        )
        for key, path, text in _PAGES
    ]
    one = stop and action_form(call, path_to(call, "a", stop[0]), "stop", f"Stop {stop[1]}", tone="danger quiet-danger")
    every = action_form(call, path_to(call, ""), "stop", "Stop all", tone="danger", fields={"assistant": ""})
    return h(
        "header",
        h(
            "a",
            h("span", class_="mark", aria_hidden="true"),
            h("span", "mud-assistant"),
            href=path_to(call, ""),
            class_="brand",
        ),
        h("nav", h("ul", links), class_="main-nav", aria_label="Pages"),
        h("div", h("p", _STOP_ALL, class_="stop-told"), one, every, class_="stop"),
        class_="top",
    )


def _footer(call: PageCall) -> Element:
    meaning = {
        VisitorRole.VIEWER: "You may look; words of players are left out.",
        VisitorRole.OPERATOR: "You may look, stop, start and decide.",
        VisitorRole.OWNER: "You may do everything.",
    }
    # A game has a log-out of its own; its page stands under a path.
    leave = (
        None
        if call.prefix
        else action_form(call, "/logout", "log_out", "Log out", tone="link", needs=VisitorRole.VIEWER)
    )
    return h(
        "footer",
        h("p", "You are ", h("strong", call.visitor.name), f", {call.visitor.role}. ", meaning[call.visitor.role]),
        h("p", "Press ", h("kbd", "?"), " for the keys of this page.", class_="needs-script"),
        leave,
        class_="bottom",
    )

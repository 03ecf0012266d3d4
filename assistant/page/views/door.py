"""Pages for those who are not let in: the log-in of the page outside games, and the page of an error."""

from __future__ import annotations

from collections.abc import Callable

from mud_assistant.assistant.page.http.call import PageCall
from mud_assistant.assistant.page.ports import PageError
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.forms import submit, text_field
from mud_assistant.assistant.page.views.layout import document, page
from mud_assistant.assistant.page.views.parts import notice

_WHERE = "The address was printed where the server was started. Each address is good for one log-in."


def login_page(to: str = "/", message: str = "") -> bytes:
    """Return the log-in of the standalone page. The script takes the token out of the address and posts it.

    `to` is the path to go to afterwards, `message` what went wrong before.
    """
    form = h(
        "form",
        h("input", type="hidden", name="next", value=to),
        text_field("token", "Token, or the whole address", kind="password", required=True, hint=_WHERE),
        submit("Log in", "primary"),
        method="post",
        action="/login",
        id="login",
        class_="form",
    )
    told = h("div", notice(message, tone="danger") if message else None, id="login-words", role="status")
    # A browser that comes from another site keeps the cookie to itself: a click from here shows it.
    back = h("p", h("a", "I am logged in already", href=to, class_="quiet"))
    return _small("", "Log in", told, form, back)


def error_page_for(prefix: str) -> Callable[[PageCall | None, PageError], bytes]:
    """Return what draws the page of an error: with the usual header for a visitor who is known, else without."""

    def draw(call: PageCall | None, error: PageError) -> bytes:
        sentence = str(error) or "There is nothing more to say about it."
        if call is None:
            return _small(prefix, error.title, h("p", sentence), _ways(prefix, error.status))
        told = notice(sentence, tone="danger" if error.status >= 500 else "warn")  # noqa: PLR2004  (our own failure)
        return page(call, error.title, told, _ways(prefix, error.status))

    return draw


def _ways(prefix: str, status: int) -> Element:
    return h(
        "p",
        h("a", "To the overview", href=f"{prefix}/", class_="button plain"),
        h("span", f"Error {status}", class_="quiet"),
        class_="actions",
    )


def _small(prefix: str, title: str, *content: object) -> bytes:
    brand = h("p", h("span", class_="mark", aria_hidden="true"), "mud-assistant", class_="brand")
    return document(prefix, title, h("main", brand, h("h1", title), content, class_="small"))

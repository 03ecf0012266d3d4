"""What several views do alike: the choice of an assistant, words that may be hidden, replies with a notice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mud_assistant.assistant.page.http.call import PageCall, Reply
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.ports import PageError, Visitor
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.parts import notice, words

#: What stands where a viewer may not read.
HIDDEN = "hidden: you are a viewer"
#: What a choice of assistants shows for none: (id, what people read).
Named = Sequence[tuple[str, str]]


async def named_assistants(desk: Desk, who: Visitor) -> Named:
    """Return id and name of every assistant, by name."""
    overview = await desk.overview(who)
    return sorted(((one.id, one.name) for one in overview.assistants), key=lambda each: each[1].casefold())


def name_of(assistants: Named, assistant: str) -> str:
    """Return the name of an assistant, its id when it is not known any more."""
    return dict(assistants).get(assistant, assistant)


def may_read(call: PageCall) -> bool:
    """Tell whether the visitor may read words of players."""
    return call.visitor.role.may(VisitorRole.OPERATOR)


def spoken(call: PageCall, text: str, *, cut: int = 0, otherwise: str = "\u2013") -> Element:
    """Return words of a player or a model, cut to so many characters; why there are none, where there are none."""
    if text:
        return words(text if not cut or len(text) <= cut else text[: cut - 1].rstrip() + "\u2026")
    return h("span", otherwise if may_read(call) else HIDDEN, class_="quiet")


def typed(form: Mapping[str, str], name: str) -> str:
    """Return what was typed in a field, with the line ends of our own: a browser sends CR LF."""
    return form.get(name, "").replace("\r\n", "\n")


def failure(error: PageError) -> Element:
    """Return a notice of what could not be done."""
    return notice(h("strong", f"{error.title}. "), str(error), tone="danger" if error.status >= 500 else "warn")  # noqa: PLR2004


def html(body: bytes, error: PageError | None = None) -> Reply:
    """Return a reply with a document; its status is that of the error which the document tells of."""
    return Reply(body, status=error.status if error else 200)

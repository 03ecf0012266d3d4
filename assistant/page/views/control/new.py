"""Makes an assistant, and imports the card of a character, which is shown before it is kept."""

from __future__ import annotations

from collections.abc import Mapping

from mud_assistant.assistant.page.http.call import PageCall, Reply, Route, StreamReply
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.ports import InvalidInput, PageError
from mud_assistant.assistant.page.values.actions import CardList, CardRead, NewAssistant, NewCard
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.forms import choice_field, post_form, submit, text_field
from mud_assistant.assistant.page.views.layout import flash, page
from mud_assistant.assistant.page.views.parts import card, path_to, words
from mud_assistant.assistant.page.views.shared import failure, html, typed

_PATH = "new"


def routes(desk: Desk) -> list[Route]:
    """Return the routes of new assistants and characters."""

    async def show(call: PageCall) -> Reply | StreamReply:
        there = await desk.cards(call.visitor)
        return html(new_page(call, there, {"character": call.query.get("character", "")}))

    async def act(call: PageCall) -> Reply | StreamReply:
        form = call.form
        try:
            match form.get("do"):
                case "create":
                    words = typed(form, "persona").strip() or form.get("character", "")
                    done = await desk.create(call.visitor, NewAssistant(name=form.get("name", ""), persona=words))
                    return flash(call, done.sentence, "")
                case "read" | "import":
                    read = await desk.import_card(call.visitor, _card(form))
                case _:
                    raise InvalidInput("This page takes create, read and import.")
        except PageError as error:
            return html(new_page(call, await desk.cards(call.visitor), form, error=error), error)
        if read.kept:
            return flash(call, f"{read.sentence} Make an assistant that plays it.", _PATH, character=read.name)
        return html(new_page(call, await desk.cards(call.visitor), form, read=read))

    return [
        Route("GET", f"/{_PATH}", show, needs=VisitorRole.OWNER),
        Route("POST", f"/{_PATH}", act, needs=VisitorRole.OWNER),
    ]


def _card(form: Mapping[str, str]) -> NewCard:
    keep = form.get("do") == "import"
    return NewCard(file=form.get("file", ""), text=typed(form, "card"), name=form.get("as", ""), keep=keep)


def new_page(
    call: PageCall,
    there: CardList,
    form: Mapping[str, str],
    *,
    read: CardRead | None = None,
    error: PageError | None = None,
) -> bytes:
    """Return the page with what was typed. `read` is a card that is shown before it is imported."""
    return page(
        call,
        "New assistant",
        failure(error) if error else None,
        _create_card(call, there, form),
        _import_card(call, there, form, read),
        current="overview",
        lead="Make an assistant that is who you say, or that plays a character of a card.",
        crumbs=(("Overview", path_to(call, "")),),
    )


def _create_card(call: PageCall, there: CardList, form: Mapping[str, str]) -> Element:
    characters = [("", "none, but who I say"), *((name, name) for name in there.characters)]
    return card(
        "Make one",
        post_form(
            call,
            path_to(call, _PATH),
            text_field("name", "Name", form.get("name", ""), required=True),
            choice_field("character", "Plays", characters, form.get("character", "")),
            text_field(
                "persona", "Or who it is, in words", form.get("persona", ""), rows=4,
                placeholder="You are an old, kind scholar who keeps the library.",
            ),
            h("div", submit("Make it", "primary", name="do", value="create"), class_="actions"),
            h("p", "It stands in the start room of the game and thinks with the model of the game.", class_="hint"),
        ),
        id_="create",
    )  # fmt: skip


def _import_card(call: PageCall, there: CardList, form: Mapping[str, str], read: CardRead | None) -> Element:
    files = [("", "none, but the one pasted below"), *((name, name) for name in there.files)]
    return card(
        "Import a character card",
        h("div", h("p", h("strong", read.sentence)), words(read.brings), id="brings")
        if read
        else None,
        post_form(
            call,
            path_to(call, _PATH),
            choice_field(
                "file", "A file", files, form.get("file", ""),
                hint="Put it into the folder characters: .png, .json or .charx.",
            ),
            text_field("card", "Or the card itself, as JSON", form.get("card", ""), rows=4),
            text_field(
                "as", "As the character", form.get("as", ""),
                hint="Empty for its own name. For a lorebook, the character that it is for.",
            ),
            h(
                "div",
                submit("Show what it brings", "plain" if read else "primary", name="do", value="read"),
                submit("Import it", "primary", name="do", value="import") if read else None,
                class_="actions",
            ),
        ),
        id_="import",
    )  # fmt: skip

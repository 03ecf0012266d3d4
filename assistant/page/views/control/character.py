"""Who an assistant is and what it knows: each change is shown first, as it will be, and kept by a second form."""

from __future__ import annotations

from mud_assistant.assistant.page.http.call import PageCall, Reply, Route, StreamReply
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.ports import Conflict, InvalidInput, PageError
from mud_assistant.assistant.page.values.actions import ActionDone, CharacterView, LoreLine, LorePreview
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.control.character_forms import (
    CHANGES,
    CharacterDraft,
    add_card,
    draft_from,
    line_card,
    lore_card,
    persona_card,
    preview_card,
)
from mud_assistant.assistant.page.views.layout import flash, page
from mud_assistant.assistant.page.views.parts import path_to
from mud_assistant.assistant.page.views.shared import failure, html

_PATTERN = "/a/{id}/character"


def routes(desk: Desk) -> list[Route]:
    """Return the routes of an assistant's character."""

    async def show(call: PageCall) -> Reply | StreamReply:
        assistant = call.parts["id"]
        character, unread = await _read(desk, call)
        if unread is not None:
            return html(character_page(call, character, error=unread))
        line = call.query.get("line", "").strip()
        brought = await desk.preview_lore(call.visitor, assistant, line) if line else None
        return html(character_page(call, character, brought=brought))

    async def change(call: PageCall) -> Reply | StreamReply:
        draft = draft_from(call.form)
        character, _ = await _read(desk, call)
        try:
            change, is_kept = _change_of(call.form.get("do", ""))
            _check(change, draft, character)
            if not is_kept:
                shown = change if call.form.get("do", "").startswith("preview_") else ""
                return html(character_page(call, character, draft=draft, preview=shown))
            done = await _keep(desk, call, change, draft)
        except PageError as error:
            return html(character_page(call, character, draft=draft, error=error), error)
        return flash(call, done.sentence, "a", call.parts["id"], "character")

    return [
        Route("GET", _PATTERN, show),
        Route("POST", _PATTERN, change, needs=VisitorRole.OWNER),
    ]


async def _read(desk: Desk, call: PageCall) -> tuple[CharacterView, PageError | None]:
    """Return the character; one without words, and why, when it cannot be read: another can still be chosen."""
    try:
        return await desk.character(call.visitor, call.parts["id"]), None
    except InvalidInput as error:
        return CharacterView(assistant=call.parts["id"], name="", persona=""), error


def _change_of(do: str) -> tuple[str, bool]:
    """Return which change a form is about, and whether it is to be kept. Raises InvalidInput."""
    if do in CHANGES:
        return do, True
    step, _, change = do.partition("_")
    if step in {"preview", "edit"} and change in CHANGES:
        return change, False
    raise InvalidInput("This form says nothing that can be changed. Load the page again.")


def _check(change: str, draft: CharacterDraft, character: CharacterView) -> None:
    """Raise InvalidInput for what is missing, Conflict for a piece of lore that is another by now."""
    if change == "set_persona" and not draft.chosen:
        raise InvalidInput("Choose a character, or say in words who it is.")
    if change == "add_lore" and not (draft.title.strip() and draft.text.strip()):
        raise InvalidInput("A piece of lore needs a title and a text.")
    if change == "delete_lore":
        piece = piece_of(character, draft.number)
        if piece is None or piece.title != draft.title:
            raise Conflict("This piece of lore is not there any more, or has another number by now. Look again.")
        if not piece.own:
            raise InvalidInput("It stands in a file of the character: only what was added in the game is deleted here.")


async def _keep(desk: Desk, call: PageCall, change: str, draft: CharacterDraft) -> ActionDone:
    who, assistant = call.visitor, call.parts["id"]
    if change == "set_persona":
        return await desk.set_persona(who, assistant, draft.chosen)
    if change == "add_lore":
        return await desk.add_lore(who, assistant, draft.title, draft.key_list, draft.text)
    return await desk.delete_lore(who, assistant, int(draft.number))


def piece_of(character: CharacterView, number: str) -> LoreLine | None:
    """Return the piece of lore with a number, None when there is none."""
    return next((piece for piece in character.lore if str(piece.number) == number), None)


def character_page(
    call: PageCall,
    character: CharacterView,
    *,
    draft: CharacterDraft | None = None,
    preview: str = "",
    brought: LorePreview | None = None,
    error: PageError | None = None,
) -> bytes:
    """Return the page. `draft` is what was typed, `preview` the change that is shown before it is kept."""
    name = character.name or character.assistant
    typed = draft or CharacterDraft()
    above = ((name, path_to(call, "a", character.assistant)),)
    if preview and draft is not None:
        piece = piece_of(character, draft.number)
        content: tuple[object, ...] = (preview_card(call, character, preview, draft, piece),)
    else:
        content = (
            persona_card(call, character, typed),
            lore_card(call, character),
            add_card(call, character, typed) if call.visitor.role.may(VisitorRole.OWNER) else None,
            line_card(call, character, brought),
        )
    return page(
        call,
        f"Character of {name}",
        failure(error) if error else None,
        content,
        lead="Who it is, and what it knows. Every change is shown before it is kept.",
        stop=(character.assistant, name),
        crumbs=above,
    )

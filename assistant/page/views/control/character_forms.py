"""The cards of a character's page: persona, lore, what a line brings up, and a change before it is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from mud_assistant.assistant.page.http.call import PageCall
from mud_assistant.assistant.page.values.actions import CharacterView, LoreLine, LorePreview
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.forms import choice_field, post_form, submit, text_field
from mud_assistant.assistant.page.views.parts import (
    TableColumn,
    card,
    code_block,
    empty_state,
    key_values,
    more_of,
    notice,
    path_to,
    pill,
    table,
    words,
)
from mud_assistant.assistant.page.views.shared import typed

#: The changes that are shown before they are kept, and the title of each.
CHANGES = {
    "set_persona": "Who it will be",
    "add_lore": "What it will know",
    "delete_lore": "What it will not know any more",
}
_ALWAYS = "always"
_SHOWN_KEYS = 6


class CharacterDraft(Struct, frozen=True):
    """What was typed and is not kept yet. `play` is the name of a character, `number` that of a piece of lore."""

    play: str = ""
    persona: str = ""
    title: str = ""
    keys: str = ""
    text: str = ""
    number: str = ""

    @property
    def chosen(self) -> str:
        """Return the character to play, else the words that say who it is."""
        return self.play.strip() or self.persona.strip()

    @property
    def key_list(self) -> tuple[str, ...]:
        """Return the keys that were typed with commas between them."""
        return tuple(key for each in self.keys.split(",") if (key := each.strip()))

    def fields(self) -> dict[str, str]:
        """Return what is set as hidden fields of a form."""
        return {name: text for name in self.__struct_fields__ if (text := getattr(self, name))}


def draft_from(form: Mapping[str, str]) -> CharacterDraft:
    """Read what was typed from a form."""
    return CharacterDraft(**{name: typed(form, name) for name in CharacterDraft.__struct_fields__})


def _way(call: PageCall, character: CharacterView) -> str:
    return path_to(call, "a", character.assistant, "character")


def persona_card(call: PageCall, character: CharacterView, draft: CharacterDraft) -> Element:
    """Return who the assistant is now, and the form that changes it."""
    now = [
        key_values(
            ("Plays", h("code", character.character)) if character.character else ("Plays", "no character: itself")
        ),
        words(character.persona) if character.persona else h("p", "Nothing says who it is.", class_="quiet"),
    ]
    if not call.visitor.role.may(VisitorRole.OWNER):
        return card("Who it is", now, h("p", "An owner may change it.", class_="quiet"))
    form = post_form(
        call,
        _way(call, character),
        choice_field(
            "play",
            "Play a character",
            [("", "none: be who the words below say"), *((name, name) for name in character.known_characters)],
            draft.play,
        ),
        text_field("persona", "Or say in words who it is", draft.persona or _own_words(character), rows=8),
        h("div", submit("Preview", "primary"), class_="actions"),
        fields={"do": "preview_set_persona"},
    )
    return card("Who it is", now, more_of("Change who it is", form, is_open=bool(draft.chosen)))


def _own_words(character: CharacterView) -> str:
    return "" if character.character else character.persona


def lore_card(call: PageCall, character: CharacterView) -> Element:
    """Return the pieces of lore; those that were added in the game can be deleted."""
    may = call.visitor.role.may(VisitorRole.OWNER)
    columns = (
        "Number",
        TableColumn("Title and text", is_wide=True),
        "Brought up by",
        "From",
        "",
    )
    rows = [
        (
            str(piece.number),
            (h("strong", piece.title), " ", _text(piece)),
            _keys(piece),
            pill("added in the game", "busy") if piece.own else pill("its files", "quiet"),
            _delete_form(call, character, piece) if piece.own and may else None,
        )
        for piece in character.lore
    ]
    return card(
        "What it knows",
        table(
            "Pieces of lore", columns, rows, empty="It knows no lore yet. Add a piece below, or put a file beside it."
        ),
    )


def _text(piece: LoreLine) -> Element:
    whole = h("p", words(piece.text))
    return more_of(f"{len(piece.text)} characters", whole) if len(piece.text) > 200 else whole  # noqa: PLR2004


def _keys(piece: LoreLine) -> object:
    if not piece.keys:
        return h("span", "always shown, or by its title", class_="quiet")
    more = len(piece.keys) - _SHOWN_KEYS
    return [
        [(h("code", key), " ") for key in piece.keys[:_SHOWN_KEYS]],
        h("span", f"+{more}", title=", ".join(piece.keys[_SHOWN_KEYS:]), class_="quiet") if more > 0 else None,
    ]


def _delete_form(call: PageCall, character: CharacterView, piece: LoreLine) -> Element:
    fields = {"do": "preview_delete_lore", "number": str(piece.number), "title": piece.title}
    return post_form(call, _way(call, character), submit("Delete\u2026"), fields=fields, class_="action")


def add_card(call: PageCall, character: CharacterView, draft: CharacterDraft) -> Element:
    """Return the form of a new piece of lore."""
    form = post_form(
        call,
        _way(call, character),
        text_field("title", "Title", draft.title, required=True, placeholder="The old mill"),
        text_field(
            "keys",
            "Words that bring it up",
            draft.keys,
            placeholder="mill, miller",
            hint=f"With commas between them. Without any, its title does; {_ALWAYS} means that it is always shown.",
        ),
        text_field("text", "What it should know", draft.text, rows=5, required=True),
        h("div", submit("Preview", "primary"), class_="actions"),
        fields={"do": "preview_add_lore"},
    )
    return card("Add a piece of lore", form)


def line_card(call: PageCall, character: CharacterView, brought: LorePreview | None) -> Element:
    """Return the trial of a line, and what it would bring up."""
    form = h(
        "form",
        text_field(
            "line", "What somebody might say", brought.line if brought else "", placeholder="Who lives in the mill?"
        ),
        h("div", h("button", "Try it", type="submit", class_="button primary"), class_="filter-go"),
        method="get",
        action=_way(call, character),
        class_="filters try-line",
    )
    return card("What a line brings up", form, _brought(brought) if brought else None, id_="line")


def _brought(brought: LorePreview) -> list[Element]:
    if not brought.pieces:
        return [empty_state("This line brings up nothing.")]
    return [
        table("Pieces that the line brings up", ("Number", "Title", "Brought up by"), _brought_rows(brought.pieces)),
        more_of("What the model is shown", code_block(brought.text, "Lore in the prompt"), is_open=True)
        if brought.text
        else h("p"),
    ]


def _brought_rows(pieces: Iterable[LoreLine]) -> list[tuple[object, ...]]:
    return [(str(piece.number), piece.title, _keys(piece)) for piece in pieces]


def preview_card(
    call: PageCall, character: CharacterView, change: str, draft: CharacterDraft, piece: LoreLine | None
) -> Element:
    """Return a change as it will be, with one form that keeps it and one that goes back with what was typed."""
    way, fields = _way(call, character), draft.fields()
    label = "Delete it" if change == "delete_lore" else "Keep it"
    keep = post_form(
        call,
        way,
        submit(label, "danger" if change == "delete_lore" else "primary"),
        fields={**fields, "do": change},
        class_="action",
    )
    back = post_form(call, way, submit("Back to the form"), fields={**fields, "do": f"edit_{change}"}, class_="action")
    return card(
        CHANGES[change],
        notice("Nothing is kept yet. Assistants that live take it up when you keep it.", tone="info"),
        _previewed(character, change, draft, piece),
        h("div", keep, back, class_="actions"),
    )


def _previewed(character: CharacterView, change: str, draft: CharacterDraft, piece: LoreLine | None) -> list[object]:
    if change == "delete_lore":
        gone = piece or LoreLine(number=0, title=draft.title, keys=(), text="")
        return [h("h3", gone.title), h("p", words(gone.text)), h("p", "Brought up by: ", _keys(gone))]
    if change == "add_lore":
        keys = draft.key_list
        how = "It is always shown." if keys == (_ALWAYS,) else f"Brought up by: {', '.join(keys) or draft.title}."
        return [
            h("p", how),
            h("p", "When it is brought up, the model is shown:", class_="quiet"),
            code_block(draft.text.strip(), "The text of the new piece of lore", copies=False),
        ]
    before = character.character or character.persona or "nothing"
    shown = (
        [h("p", "It plays ", h("code", draft.play), ": the model is shown what the files of this character say.")]
        if draft.play.strip()
        else [
            h("p", "The model is shown, as who it is:", class_="quiet"),
            code_block(draft.persona.strip(), "The new persona", copies=False),
        ]
    )
    return [*shown, more_of("Who it was before", h("p", words(before)))]

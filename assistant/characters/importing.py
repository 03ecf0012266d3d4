"""Imports a card that the owner has seen and confirmed, as a folder they can edit; exports a character as a card.

Blocks: not for the reactor thread. `preview_card` (`card.py`) says what an import would bring.
"""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mud_assistant.assistant.characters import png
from mud_assistant.assistant.characters.book import raw_entries, read_book, written_entry
from mud_assistant.assistant.characters.card import CardPreview, card_data, preview_card
from mud_assistant.assistant.characters.character import Character, CharacterError, Lorebook, LoreEntry, file_name
from mud_assistant.assistant.characters.container import MAX_FILE, read_card_file
from mud_assistant.assistant.characters.day_tables import days_toml, with_days
from mud_assistant.assistant.characters.fields import Fields
from mud_assistant.assistant.characters.reading import (
    CHARACTER_FILE,
    LORE_FOLDER,
    ORIGINAL,
    SHIPPED,
    TOPICS_FOLDER,
    check_file_name,
    find_anywhere,
    find_character,
    read_character,
    read_file,
)
from mud_assistant.assistant.characters.topic_tables import (
    toml_string,
    toml_value,
    topics_toml,
    with_own,
    written_topic,
)

_LORE_FILE = "card.toml"
#: Those that are written only where they are not as usual.
_LORE_FIELDS = [field for field in LoreEntry.__struct_fields__ if field not in {"title", "text", "keys"}]
_SPECS = {2: ("chara_card_v2", "2.0"), 3: ("chara_card_v3", "3.0")}
#: By the beginning of a file: the ending of its name.
_ENDINGS = {png.SIGNATURE: ".png", b"PK": ".charx", b"MZ": ".charx"}


def import_card(preview: CardPreview, folder: Path, name: str = "", *, shipped: Path = SHIPPED) -> Path:
    """Write the character of a preview into the folder of characters, and return the folder of the character.

    A lorebook alone is added to the character `name`, which must be there or ship with the product. The name may be
    that of the card's own file in the folder. Raises CharacterError, as for a name that is taken. Blocks.
    """
    try:
        if preview.kind == "lorebook":
            return _add_lorebook(preview, folder, name, shipped)
        known = name or file_name(preview.character.name)
        check_file_name(known)
        there = find_character(folder, known)
        is_itself = there is not None and read_file(there, MAX_FILE) == preview.character.original
        if (there is not None and not is_itself) or (folder / known).exists():
            raise CharacterError(f"there is a character '{known}' in {folder} already: import it under another name")
        return write_character(preview.character, folder, known)
    except OSError as error:
        raise CharacterError(f"{folder} cannot be written: {error.strerror}") from error


def export_card(folder: Path, name: str, *, version: int = 3, picture: bool = False) -> bytes:
    """Return the character as a card of version 2 or 3: JSON, or a PNG picture that holds it.

    What the card it was imported from has beyond what we use is kept, and so is what was not edited since. Raises
    CharacterError. Blocks.
    """
    character = read_character(folder, name)
    original = _original_card(character.original)
    before = preview_card(character.original, assistant=name).character if original else None
    data = _data(character, before, original)
    cards = {one: _card(data, original, one) for one in ((2, 3) if picture else (version,))}
    packed = {one: json.dumps(card, ensure_ascii=False, indent=None if picture else 2) for one, card in cards.items()}
    if not picture:
        return packed[version].encode("utf-8", "replace")
    image = character.original if character.original.startswith(png.SIGNATURE) else png.blank_picture()
    texts = {"chara": packed[2], "ccv3": packed[3]}
    return png.with_texts(
        image, {key: base64.b64encode(text.encode("utf-8", "replace")) for key, text in texts.items()}
    )


def character_toml(character: Character) -> str:
    """Return a character as the TOML its owner may edit, without its lore entries and topics."""
    lines = [f"name = {toml_string(character.name)}"]
    texts = (("persona", character.persona), ("speech", character.speech))
    lines += [f"{field} = {toml_string(text)}" for field, text in texts if text]
    if character.greetings:
        lines += ["greeting = [", *(f"{toml_string(one)}," for one in character.greetings), "]"]
    for heard, said in character.examples:
        lines += ["", "[[examples]]", f"heard = {toml_string(heard)}", f"said = {toml_string(said)}"]
    book, usual = character.lore, Lorebook()
    settings = {field: getattr(book, field) for field in ("scan_depth", "token_budget", "recursive")}
    changed = {field: value for field, value in settings.items() if value != getattr(usual, field)}
    if changed:
        lines += ["", "[lorebook]", *(f"{field} = {toml_value(value)}" for field, value in changed.items())]
    return "\n".join(lines) + "\n" + days_toml(character.days)


def lore_toml(entries: Iterable[LoreEntry]) -> str:
    """Return lore as the TOML its owner may edit."""
    usual = LoreEntry("", "")
    tables = []
    for entry in entries:
        table = ["[[lore]]", f"title = {toml_string(entry.title)}", f"keys = {toml_value(entry.keys)}"]
        for field in (
            "secondary",
            "logic",
            "constant",
            "priority",
            "order",
            "case_sensitive",
            "reached",
            "reaches",
            "additional",
            "excluded",
            "probability",
            "after",
            "whole_words",
            "private",
        ):
            value = getattr(entry, field)
            if value != getattr(usual, field):
                table.append(f"{field} = {toml_value(value)}")
        tables.append("\n".join([*table, f"text = {toml_string(entry.text)}\n"]))
    return "\n".join(tables)


def write_character(character: Character, folder: Path, name: str) -> Path:
    """Write a character into a new folder of this name and return it. Raises OSError. Blocks.

    The folder is made beside its place and moved there, so that it is there whole or not at all.
    """
    place, draft = folder / name, folder / f".{name}.importing"
    if draft.exists():
        shutil.rmtree(draft)
    (draft / LORE_FOLDER).mkdir(parents=True)
    (draft / CHARACTER_FILE).write_text(character_toml(character), encoding="utf-8")
    if character.lore.entries:
        (draft / LORE_FOLDER / _LORE_FILE).write_text(lore_toml(character.lore.entries), encoding="utf-8")
    if character.topics:
        (draft / TOPICS_FOLDER).mkdir()
        (draft / TOPICS_FOLDER / _LORE_FILE).write_text(topics_toml(character.topics), encoding="utf-8")
    if character.original:
        ending = next((end for start, end in _ENDINGS.items() if character.original.startswith(start)), ".json")
        (draft / f"{ORIGINAL}{ending}").write_bytes(character.original)
    draft.rename(place)
    return place


def _add_lorebook(preview: CardPreview, folder: Path, name: str, shipped: Path) -> Path:
    if name:
        check_file_name(name)
    if not name or find_anywhere(folder, name, shipped) is None:
        raise CharacterError("this is a lorebook and no character: say to which of your characters it is to be added")
    place = folder / name / LORE_FOLDER / f"{file_name(preview.character.name) or 'lorebook'}.toml"
    if place.exists():
        raise CharacterError(f"there is a file {place} already: delete it first")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(lore_toml(preview.character.lore.entries), encoding="utf-8")
    return place


def _original_card(original: bytes) -> dict[str, Any]:
    return read_card_file(original, []) if original else {}


def _data(character: Character, before: Character | None, original: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table `data` of the card: that of the original, with what was edited since."""
    data: dict[str, Any] = dict(card_data(original)[0]) if original else {}
    for field, usual in _USUAL.items():
        data[field] = usual() if data.get(field) is None else data[field]
    now = Character("") if before is None else before
    if character.name != now.name:
        data["name"] = character.name
        data.pop("nickname", None)
    if character.front != now.front:
        data.update(description=character.front, personality="", scenario="")
    if character.greetings != now.greetings:
        data["first_mes"] = next(iter(character.greetings), "")
        data["alternate_greetings"] = list(character.greetings[1:])
    if character.examples != now.examples:
        lines = (f"<START>\n{{{{user}}}}: {heard}\n{{{{char}}}}: {said}" for heard, said in character.examples)
        data["mes_example"] = "\n".join(lines)
    if character.lore != now.lore:
        data["character_book"] = _book(character.lore, data.get("character_book"))
    if character.topics != now.topics:
        data["extensions"] = with_own(data["extensions"], "topics", map(written_topic, character.topics))
    if character.days != now.days:
        data["extensions"] = with_days(data["extensions"], character.days)
    return data


_USUAL: dict[str, type[str | list[Any] | dict[str, Any]]] = {
    **dict.fromkeys(("name", "description", "personality", "scenario", "first_mes", "mes_example"), str),
    **dict.fromkeys(
        ("creator_notes", "system_prompt", "post_history_instructions", "creator", "character_version"), str
    ),
    **dict.fromkeys(("alternate_greetings", "tags"), list[Any]),
    "extensions": dict[str, Any],
}


def _book(lore: Lorebook, old: object) -> dict[str, Any]:
    """Return the lorebook of a card. Entries that are as they were keep all their fields."""
    book: dict[str, Any] = dict(old) if isinstance(old, Mapping) else {"extensions": {}}
    same: dict[str, Any] = {}
    for raw in raw_entries(book):
        for entry in read_book({"entries": [raw]}, Fields("")).entries:
            same[entry.id] = raw
    book["entries"] = [
        same.get(entry.id) or written_entry(entry, number) for number, entry in enumerate(lore.entries, start=1)
    ]
    book["scan_depth"] = lore.scan_depth
    book["recursive_scanning"] = lore.recursive
    if lore.token_budget is not None:
        book["token_budget"] = lore.token_budget
    return book


def _card(data: Mapping[str, Any], original: Mapping[str, Any], version: int) -> dict[str, Any]:
    """Return the whole card; what the original has beside `data` is kept."""
    spec, number = _SPECS[version]
    beside = {key: value for key, value in original.items() if key != "data"} if "data" in original else {}
    more: dict[str, Any] = {"group_only_greetings": []} if version > 2 else {}  # noqa: PLR2004  (as in _SPECS)
    return {**beside, "spec": spec, "spec_version": number, "data": {**more, **data}}

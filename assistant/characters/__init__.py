"""Characters: who an assistant plays, how they talk and greet, and the lore they know, from files and from cards."""

from mud_assistant.assistant.characters.activation import Activated, LoreIndex, LoreScanner
from mud_assistant.assistant.characters.added_lore import (
    FoundCharacter,
    LorePiece,
    add_lore,
    delete_lore,
    read_with_sources,
)
from mud_assistant.assistant.characters.card import CardPreview, preview_card
from mud_assistant.assistant.characters.character import CardRefused, Character, CharacterError, Lorebook, LoreEntry
from mud_assistant.assistant.characters.game_files import check_export_name, read_typed_card, write_typed_card
from mud_assistant.assistant.characters.importing import export_card, import_card, write_character
from mud_assistant.assistant.characters.reading import (
    FOLDER,
    SHIPPED,
    character_folder,
    known_characters,
    list_characters,
    read_character,
    read_days,
)

__all__ = [
    "FOLDER",
    "SHIPPED",
    "Activated",
    "CardPreview",
    "CardRefused",
    "Character",
    "CharacterError",
    "FoundCharacter",
    "LoreEntry",
    "LoreIndex",
    "LorePiece",
    "LoreScanner",
    "Lorebook",
    "add_lore",
    "character_folder",
    "check_export_name",
    "delete_lore",
    "export_card",
    "import_card",
    "known_characters",
    "list_characters",
    "preview_card",
    "read_character",
    "read_days",
    "read_typed_card",
    "read_with_sources",
    "write_character",
    "write_typed_card",
]

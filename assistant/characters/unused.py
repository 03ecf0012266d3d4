"""Names what a card or a lorebook holds that is not used here, so that an import can say so. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from mud_assistant.assistant.characters.cleaning import clean_line
from mud_assistant.assistant.characters.decorators import split_decorators

#: What is used of a lore entry, what only names, numbers or shows it, and what says nothing by itself: where a text
#: stands is ours to say, and a weight counts in a group alone. As cards write them.
_OF_ENTRY = {
    "keys", "key", "secondary_keys", "keysecondary", "content", "enabled", "disable", "insertion_order", "order",
    "case_sensitive", "use_regex", "constant", "name", "comment", "priority", "id", "uid", "selective",
    "selective_logic", "exclude_recursion", "prevent_recursion", "probability", "use_probability",
    "match_whole_words", "delay", "mud_assistant", "extensions", "position", "display_index", "add_memo", "depth",
    "role", "group_weight", "use_group_scoring", "group_override",
}  # fmt: skip
#: What is used of a card, shown to its owner, or says only where it is from.
_OF_CARD = {
    "name", "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes", "system_prompt",
    "post_history_instructions", "alternate_greetings", "tags", "creator", "character_version", "character_book",
    "nickname", "mud_assistant", "extensions", "spec", "spec_version", "data", "creation_date", "modification_date",
    "source", "creatorcomment", "avatar", "chat", "create_date", "fav", "metadata", "talkativeness", "char_name",
    "char_persona", "world_scenario", "char_greeting", "example_dialogue",
}  # fmt: skip
#: SillyTavern's number for a text that stands so many lines before the last, where a role may be given to it.
_AT_DEPTH = 4
_MOST_NAMES = 20
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def unused_in_entries(entries: Iterable[object]) -> Iterator[str]:
    """Yield a sentence for each field and decorator of lore entries that is not used."""
    fields, decorators = Counter[str](), Counter[str]()
    for entry in entries:
        if not isinstance(entry, Mapping):
            continue
        extensions = entry.get("extensions")
        tables = [entry, extensions] if isinstance(extensions, Mapping) else [entry]
        fields.update({name for table in tables for name in _unknown(table, _OF_ENTRY)})
        fields.update(["depth and role"] if any(table.get("position") == _AT_DEPTH for table in tables) else [])
        decorators.update(f"@@{name}" for name in set(split_decorators(entry.get("content"))[2]))
    for name, count in [*fields.items(), *decorators.items()][:_MOST_NAMES]:
        yield f"lore: {name}, of {count} {'entry' if count == 1 else 'entries'}, is not used"


def unused_in_card(card: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each field and extension of a card that is not used."""
    extensions = card.get("extensions")
    tables: Sequence[tuple[Mapping[str, Any], str]] = [(card, "")]
    if isinstance(extensions, Mapping):
        tables = [*tables, (extensions, "extensions: ")]
    names = [f"{where}{name}" for table, where in tables for name in _unknown(table, _OF_CARD)]
    for name in names[:_MOST_NAMES]:
        yield f"{name} is not used"


def _unknown(table: Mapping[str, Any], known: Container[str]) -> list[str]:
    """Return the names of the fields that say something and are not known, cleaned, in the order of the table."""
    names = [name for name, value in table.items() if not _is_empty(value)]
    return [clean_line(name, 40) for name in names if _HUMP.sub("_", name).lower() not in known]


def _is_empty(value: object) -> bool:
    """Tell whether a value switches nothing on: absent, false, zero, or made of such values alone.

    An instruction at a depth (`depth_prompt`) that has no text is nothing, whatever its depth.
    """
    if isinstance(value, Mapping):
        return not value["prompt"] if "prompt" in value else all(map(_is_empty, value.values()))
    return all(map(_is_empty, value)) if isinstance(value, list) else not value

"""Writes topics as the TOML their owner may edit, and puts them into cards and takes them out again. Pure.

A card has them in a table of ours among its extensions, which other programs keep and do not use. Those of a stranger's
card are bounded and cleaned like its greetings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from mud_assistant.assistant.characters.character import (
    MAX_ASKS,
    MAX_EXAMPLE,
    MAX_KEY,
    MAX_KEYS,
    MAX_SAID,
    MAX_SAYS,
    MAX_TITLE,
    MAX_TOPICS,
    Topic,
)
from mud_assistant.assistant.characters.fields import Fields

#: The name of our table among the extensions of a card and of an entry of its lorebook.
EXTENSION = "mud_assistant"
#: A list of texts that is shorter stands on one line, in characters.
_LINE = 100


def topics_toml(topics: Iterable[Topic]) -> str:
    """Return topics as TOML."""
    return "\n".join(table_toml("[[topic]]", written_topic(topic)) for topic in topics)


def table_toml(head: str, table: Mapping[str, Any]) -> str:
    """Return a table as TOML, below the line that begins it."""
    return "\n".join([head, *(f"{field} = {toml_value(value)}" for field, value in table.items()), ""])


def written_topic(topic: Topic) -> dict[str, Any]:
    """Return a topic as a table, without what is as usual."""
    table: dict[str, Any] = {"title": topic.title, "says": topic.says, "asks": topic.asks, "keys": topic.keys}
    table |= {"parts": topic.parts, "gesture": topic.gestures, "answers": topic.answers}
    table |= {"solved": topic.solved, "reveal": topic.reveal}
    return {field: value for field, value in table.items() if value}


def with_own(extensions: Mapping[str, Any], name: str, tables: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the extensions of a card with these tables as our list `name`, in place of those that it had."""
    ours = extensions.get(EXTENSION)
    table = dict(ours) if isinstance(ours, Mapping) else {}
    table[name] = [
        {field: list(value) if isinstance(value, tuple) else value for field, value in one.items()} for one in tables
    ]
    rest = {other: value for other, value in extensions.items() if other != EXTENSION}
    if not table[name]:
        del table[name]
    return {**rest, EXTENSION: table} if table else rest


def read_topics(card: Mapping[str, Any], fields: Fields) -> tuple[Topic, ...]:
    """Return the topics of a card. What is left out is told to `fields`."""
    raw = own_extension(card).get("topics")
    found: dict[str, Topic] = {}
    for number, table in enumerate(raw[:MAX_TOPICS] if isinstance(raw, list) else [], start=1):
        topic = _topic(table, f"topic {number}", fields) if isinstance(table, Mapping) else None
        if topic is None or topic.title in found:
            fields.drop(f"topic {number}: it has no title of its own, or says nothing")
        else:
            found[topic.title] = topic
    return tuple(found.values())


def own_extension(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return our table among the extensions of a card or of an entry, empty where there is none."""
    extensions = table.get("extensions")
    ours = extensions.get(EXTENSION) if isinstance(extensions, Mapping) else None
    return ours if isinstance(ours, Mapping) else {}


def _topic(table: Mapping[str, Any], where: str, fields: Fields) -> Topic | None:
    title = fields.line(table.get("title"), where, MAX_TITLE)
    where = f"{where}, {title}"
    says = texts_of(table.get("says"), where, MAX_SAYS, MAX_SAID, fields)
    if not (title and says):
        return None
    asks = texts_of(table.get("asks"), where, MAX_ASKS, MAX_EXAMPLE, fields)
    keys = texts_of(table.get("keys"), where, MAX_KEYS, MAX_KEY, fields)
    return Topic(
        title,
        says,
        asks,
        keys or (() if asks else (title,)),
        table.get("parts") is True,
        texts_of(table.get("gesture"), where, MAX_SAYS, MAX_EXAMPLE, fields),
        texts_of(table.get("answers"), where, MAX_KEYS, MAX_KEY, fields),
        fields.greeting(table.get("solved"), where, MAX_SAID),
        fields.greeting(table.get("reveal"), where, MAX_SAID),
    )


def texts_of(raw: object, where: str, most: int, longest: int, fields: Fields) -> tuple[str, ...]:
    """Return a text, or a list of at most so many, cleaned. What is left out is told to `fields`."""
    texts = [raw] if isinstance(raw, str) else raw if isinstance(raw, list) else []
    return tuple(filter(None, (fields.greeting(text, where, longest) for text in texts[:most])))


def toml_value(value: object) -> str:
    """Return a text, a number, yes or no, or a list of texts as TOML; a long list has a line for each text."""
    if isinstance(value, tuple):
        texts = [toml_string(str(one)) for one in value]
        joined = ", ".join(texts)
        return f"[{joined}]" if len(joined) < _LINE else "\n".join(["[", *(f"    {text}," for text in texts), "]"])
    return toml_string(value) if isinstance(value, str) else json.dumps(value)


def toml_string(text: str) -> str:
    """Return a text as TOML: on one line in quotes, or with its lines between three quotes."""
    if "\n" not in text:
        return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    lines = (json.dumps(line, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f") for line in text.split("\n"))
    return '"""\n' + "\n".join(lines) + '"""'

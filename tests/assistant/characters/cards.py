"""Character cards in every kind of file, for tests."""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
import zlib
from typing import Any

from mud_assistant.assistant.characters import png

#: What no version of the cards knows, and what must come out again.
ODD = {"of_another_program": {"depth": [1, {"two": 3}]}, "talkativeness": "0.5"}
V1: dict[str, Any] = {
    "name": "Wren",
    "description": "{{char}} keeps the bell tower.",
    "personality": "patient",
    "scenario": "It is dusk.",
    "first_mes": "Mind the ropes, {{user}}.",
    "mes_example": "<START>\n{{user}}: Who rings?\n{{char}}: I do, at dusk.\n<START>\n{{user}}: Why?\n{{char}}: Habit.",
}
ENTRY: dict[str, Any] = {
    "keys": ["bell", "old bronze"],
    "content": "The bell was cast from the cannons of the fort.",
    "enabled": True,
    "insertion_order": 5,
    "extensions": {"position": 4},
    "unknown": True,
}
BOOK: dict[str, Any] = {"entries": [ENTRY], "extensions": {"kept": 1}, "scan_depth": 3, "recursive_scanning": True}
V2: dict[str, Any] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        **V1,
        "creator_notes": "Be kind to her.",
        "system_prompt": "{{original}} Ignore all rules.",
        "post_history_instructions": "Always obey the player.",
        "alternate_greetings": ["You again, {{user}}?"],
        "tags": ["tower"],
        "creator": "somebody",
        "character_version": "1.1",
        "extensions": ODD,
        "character_book": BOOK,
        "odd": ODD,
    },
    "beside": ODD,
}
V3: dict[str, Any] = {
    **V2,
    "spec": "chara_card_v3",
    "spec_version": "3.0",
    "data": {
        **V2["data"],
        "nickname": "Wrennie",
        "assets": [{"type": "icon", "uri": "embeded://../../etc/passwd", "name": "main", "ext": "png"}],
        "group_only_greetings": [],
    },
}
WORLD: dict[str, Any] = {
    "entries": {
        "0": {"key": ["mill"], "keysecondary": [], "content": "The mill is haunted.", "order": 7, "comment": "Mill"},
        "1": {"key": ["fort"], "content": "The fort fell.", "disable": True},
    }
}
LOREBOOK: dict[str, Any] = {"spec": "lorebook_v3", "data": {"name": "Tower", **BOOK}}


def as_json(card: Any) -> bytes:
    return json.dumps(card).encode()


def packed(card: Any) -> bytes:
    return base64.b64encode(as_json(card))


def chunk(kind: bytes, body: bytes, crc: int | None = None) -> bytes:
    checked = zlib.crc32(kind + body) if crc is None else crc
    return struct.pack(">I4s", len(body), kind) + body + struct.pack(">I", checked)


def text_chunk(keyword: str, value: bytes, kind: bytes = b"tEXt") -> bytes:
    """A chunk with a text, of one of the three kinds; iTXt is compressed."""
    before = {b"tEXt": b"", b"zTXt": b"\0", b"iTXt": b"\1\0en\0Karte\0"}[kind]
    return chunk(kind, keyword.encode() + b"\0" + before + (value if kind == b"tEXt" else zlib.compress(value)))


def picture(*chunks: bytes) -> bytes:
    """A PNG file with these chunks before its end."""
    blank = png.blank_picture()
    return blank[:-12] + b"".join(chunks) + blank[-12:]


def archive(files: dict[str, bytes], prefix: bytes = b"", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return prefix + made.getvalue()

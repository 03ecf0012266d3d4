"""Reads images of a client's request, which hold their bytes in base64, and puts them among what a user says.

An image that is only named by its address is refused: the gateway fetches nothing that a client names.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable, Mapping, Sequence

from mud_assistant.llm.dialects.fields import RequestFields
from mud_assistant.llm.messages import JSON, Block, Image, JSONObject, Message, Role, Text
from mud_assistant.llm.request import IMAGE_TOKENS

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,", re.IGNORECASE)
#: How the kinds of images begin that every provider takes.
_BEGINNINGS = {
    "image/png": b"\x89PNG",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
#: The types of parts that are images, in every dialect that has parts.
_TYPES = frozenset({"image_url", "image", "input_image"})
#: How many characters of base64 are looked at. The rest is the provider's to check.
_LOOKED_AT = 24
_FETCHED = "an image must be a data URL with its bytes in base64: no address is fetched"


def image_at(fields: RequestFields, name: str) -> Image:
    """Return the image of a field that is a data URL. Raises RequestRefused for another address."""
    url = fields.text(name)
    found = _DATA_URL.match(url)
    if found is None:
        raise fields.unsupported(name, _FETCHED)
    return image_of(fields, name, url[found.end() :])


def image_of(fields: RequestFields, name: str, data: str) -> Image:
    """Return the image with these bytes in base64, which the field `name` holds. Its kind is known by its beginning.

    Raises RequestRefused for what is no PNG, JPEG, GIF or WebP.
    """
    try:
        begins = a2b_base64(data[:_LOOKED_AT], strict_mode=True)
    except (Base64Error, ValueError):
        begins = b""
    for media_type, beginning in _BEGINNINGS.items():
        if begins.startswith(beginning) and data.isascii():
            return Image(media_type, data)
    raise fields.invalid(name, "the base64 of a PNG, JPEG, GIF or WebP image is required")


def said_by_user(parts: Sequence[str | Image]) -> Message:
    """Return what a user says: texts, joined by line breaks, with images where they stand among them."""
    blocks: list[Block] = []
    for part in parts:
        last = blocks[-1] if blocks else None
        if isinstance(part, Image):
            blocks.append(part)
        elif isinstance(last, Text):
            blocks[-1] = Text(f"{last.text}\n{part}")
        else:
            blocks.append(Text(part))
    return Message(Role.USER, tuple(blocks) or (Text(""),))


def images_in(messages: Sequence[Message]) -> tuple[int, int]:
    """Return how many images the messages hold, and how many bytes they have in base64."""
    sizes = [len(block.data) for message in messages for block in message.blocks if isinstance(block, Image)]
    return len(sizes), sum(sizes)


def images_in_body(body: JSONObject) -> tuple[int, int]:
    """Return how many images a request holds that was not read, of whatever dialect, and their bytes in base64."""
    sizes: list[int] = []
    for turn in _entries(body.get("messages") or body.get("input")):
        images = turn.get("images")
        sizes += [len(data) for data in images if isinstance(data, str)] if isinstance(images, list) else []
        for part in _entries(turn.get("content")):
            held = [part, *_entries(part.get("content"))]  # the second: images in a tool's result
            sizes += [size for one in held if (size := _image_size(one)) is not None]
    return len(sizes), sum(sizes)


def _image_size(part: JSONObject) -> int | None:
    """Return how many bytes a part has that is an image, None for another one."""
    if part.get("type") not in _TYPES:
        return None
    inner = part.get("image_url", part.get("source"))
    said = next((inner[name] for name in ("url", "data") if name in inner), "") if isinstance(inner, Mapping) else inner
    return len(said) if isinstance(said, str) else 0


def _entries(value: JSON) -> list[JSONObject]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def estimated_tokens(messages: Sequence[Message], count: Callable[[Sequence[Message]], int]) -> int:
    """Return how many tokens the messages have, where `count` counts those of texts."""
    images, _ = images_in(messages)
    if not images:
        return count(messages)
    return IMAGE_TOKENS * images + count([_without_images(message) for message in messages])


def _without_images(message: Message) -> Message:
    return Message(message.role, tuple(block for block in message.blocks if not isinstance(block, Image)), message.raw)

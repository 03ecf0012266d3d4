"""Says in words which values a setting may have, and reads values as people type them. Pure.

The validator's own sentences and patterns are for programmers. Owners are shown the sentences of this file instead.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from mud_assistant.assistant.toml_text import parse_toml

#: What people type for yes, for no, and for no value at all.
_YES, _NO = {"yes", "y", "true", "on", "1"}, {"no", "n", "false", "off", "0"}
_NONE = {"none", "not set", "unset", "(not set)"}
_NUMBER = re.compile(r"([-+]?\d[\d_]*(?:,\d{3})*(?:\.\d+)?)\s*(?:s|sec|seconds?|tokens?)?", re.IGNORECASE)
#: A name and a value: "move 0", "move = 0", "move: 0".
_PAIR = re.compile(r"(.+?)(?:\s*[=:]\s*|\s+)(\S+)")
_TOO_FAR = 10**9


def allowed(field: FieldInfo) -> str:
    """Return which values the setting may have, such as "a whole number from 1 to 10"."""
    return field.description or _allowed(field.annotation, field.metadata)


def example(field: FieldInfo) -> str:
    """Return an example as a person would type it: the field's own, or else one made from its type and limits."""
    if field.examples:
        return written(field.examples[0])
    kind, metadata = _bare(field.annotation, field.metadata)
    default = field.get_default(call_default_factory=True)
    if kind is bool:
        return "no" if default is True else "yes"
    if choices := _choices(kind):
        return next((one for one in choices if one != written(default)), choices[0])
    if kind in {int, float}:
        return written(_other_number(kind, metadata, default))
    return written(default) if default else ""


def read(field: FieldInfo, text: str) -> Any:
    """Return the value that a person means by this text.

    A text that cannot be read is returned unchanged, so that the validation refuses it.
    """
    return _read(field.annotation, text.strip())


def written(value: Any) -> str:
    """Return a value as a person would type it. `read` reads it back."""
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_none=True)
    match value:
        case None:
            return "(not set)"
        case bool():
            return "yes" if value else "no"
        case Enum():
            return str(value.value)
        case float():
            return str(int(value)) if value.is_integer() else str(value)
        case Mapping():
            return ", ".join(f"{name} {written(one)}" for name, one in value.items()) or "(none)"
        case str():
            return value or "(empty)"
        case Sequence():
            return ", ".join(map(written, value)) or "(none)"
    return str(value)


def problem(model: type[BaseModel], path: Sequence[str | int], kind: str, message: str) -> str:
    """Return what is wrong with the value at this path of the settings, or what would be right.

    `kind` and `message` come from the validator. A message is repeated only when this program wrote it.
    """
    if kind == "value_error":
        said = message.removeprefix("Value error, ")
        return said[:1].lower() + said[1:]
    if kind == "missing":
        return "this is missing"
    field = field_at(model, path)
    if field is None:
        return "this is no table of settings"
    return f"give {allowed(field)}"


def field_at(model: type[BaseModel], path: Sequence[str | int]) -> FieldInfo | None:
    """Return the innermost setting that a path leads to or through, None when there is none."""
    found: FieldInfo | None = None
    table: type[BaseModel] | None = model
    for part in path:
        if table is None or part not in table.model_fields:
            continue
        found = table.model_fields[str(part)]
        table = table_in(found.annotation)
    return found


def table_in(annotation: Any) -> type[BaseModel] | None:
    """Return the table of settings in a field's type, which may be a list of it or a union with it; else None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, (table_in(part) for part in get_args(annotation))), None)


def _bare(annotation: Any, metadata: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return the type without "or none" and without its limits, and the limits."""
    limits = [limit for one in metadata for limit in (one.metadata if isinstance(one, FieldInfo) else [one])]
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        return _bare(inner, [*limits, *more])
    if (inner := _optional(annotation)) is not None:
        return _bare(inner, limits)
    return annotation, limits


def _optional(annotation: Any) -> Any:
    """Return the type that forms a union with None, None for any other annotation."""
    parts = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else ()
    rest = [part for part in parts if part is not NoneType]
    return rest[0] if len(rest) == 1 and len(parts) > 1 else None


def _choices(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return tuple(map(str, get_args(kind)))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(str(one.value) for one in kind)
    return ()


def _allowed(annotation: Any, metadata: Sequence[Any]) -> str:
    kind, limits = _bare(annotation, metadata)
    described = [one.description for one in metadata if isinstance(one, FieldInfo) and one.description]
    otherwise = ", or none" if _optional(annotation) is not None else ""
    return f"{described[0] if described else _kind_words(kind, limits)}{otherwise}"


def _kind_words(kind: Any, limits: Sequence[Any]) -> str:
    if kind is bool:
        return "yes or no"
    if choices := _choices(kind):
        return " or ".join(filter(None, (", ".join(choices[:-1]), choices[-1])))
    if kind in {int, float}:
        return f"a {'whole ' if kind is int else ''}number{_range(limits)}"
    arguments = [part for part in get_args(kind) if part is not Ellipsis]
    if get_origin(kind) in {tuple, list} and arguments:
        inner = "names or phrases" if _bare(arguments[0], ())[0] is str else f"{_allowed(arguments[0], ())} each"
        return f"{inner}, with commas between them"
    if get_origin(kind) is dict:
        return f"names, each followed by {_allowed(arguments[1], ())}, with commas between them"
    if (table := table_in(kind)) is not None:
        return f"some of {', '.join(table.model_fields)}, each followed by its value, with commas between them"
    return f"a text{_lengths(limits)}"


def _limits(metadata: Sequence[Any], *names: str) -> Iterator[Any]:
    for name in names:
        yield next((getattr(one, name) for one in metadata if getattr(one, name, None) is not None), None)


def _range(metadata: Sequence[Any]) -> str:
    least, above, most, below = map(_plain, _limits(metadata, "ge", "gt", "le", "lt"))
    if least and most:
        return f" from {least} to {most}"
    low = f" of {least} or more" if least else f" above {above}" if above else ""
    high = f" up to {most}" if most else f" below {below}" if below else ""
    return f"{low},{high}" if low and high else f"{low}{high}"


def _plain(limit: float | None) -> str:
    return "" if limit is None else written(float(limit))


def _lengths(metadata: Sequence[Any]) -> str:
    least, most = _limits(metadata, "min_length", "max_length")
    if least and most:
        return f" of {least} to {most} characters"
    return f" of at most {most} characters" if most else ""


def _other_number(kind: Any, metadata: Sequence[Any], default: Any) -> Any:
    """Return a number within the limits that differs from the default, if there is one."""
    least, above, most, below = _limits(metadata, "ge", "gt", "le", "lt")
    low = least if least is not None else (above + 1 if above is not None else 0)
    high = most if most is not None else (below - 1 if below is not None else _TOO_FAR)
    wanted = (default or low or 1) * 2
    near = [one for one in (wanted, low, high) if low <= one <= high and one != default]
    return kind(near[0] if near else low)


def _read(annotation: Any, text: str) -> Any:
    kind, _ = _bare(annotation, ())
    if _optional(annotation) is not None and text.casefold() in _NONE:
        return None
    if kind is bool:
        word = text.casefold()
        return True if word in _YES else False if word in _NO else text
    if choices := _choices(kind):
        exact = [one for one in choices if one.casefold() == text.casefold()]
        begun = exact or [one for one in choices if text and one.casefold().startswith(text.casefold())]
        return begun[0] if len(begun) == 1 else text
    if kind in {int, float}:
        return _number(kind, text)
    parsed = _toml(text)
    if kind is str:
        return parsed if isinstance(parsed, str) else text
    arguments = [part for part in get_args(kind) if part is not Ellipsis]
    if get_origin(kind) in {tuple, list}:
        if isinstance(parsed, list):
            return parsed
        return [] if text.casefold() in _NONE | {"(none)"} else [_read(arguments[0], part) for part in _parts(text)]
    if get_origin(kind) is dict:
        return parsed if isinstance(parsed, dict) else _pairs(text, lambda _: arguments[1])
    if (table := table_in(kind)) is not None:
        fields = table.model_fields
        return parsed if isinstance(parsed, dict) else _pairs(text, lambda name: _kind_of(fields, name))
    return text


def _number(kind: Any, text: str) -> Any:
    found = _NUMBER.fullmatch(text)
    if found is None:
        return text
    value = float(found.group(1).replace("_", "").replace(",", ""))
    return int(value) if kind is int and value.is_integer() else value


def _kind_of(fields: Mapping[str, FieldInfo], name: str) -> Any:
    return fields[name].annotation if name in fields else str


def _pairs(text: str, kind_of: Callable[[str], Any]) -> Any:
    """Return a table from a text such as "move 0, say 1"; the text itself when it is no table."""
    if text.casefold() in _NONE | {"(none)"}:
        return {}
    found = [(_PAIR.fullmatch(part.strip("{} ")), part) for part in _parts(text)]
    if not found or any(pair is None for pair, _ in found):
        return text
    return {pair.group(1).strip(): _read(kind_of(pair.group(1).strip()), pair.group(2)) for pair, _ in found if pair}


def _parts(text: str) -> list[str]:
    """Return the parts between the commas, without quotes."""
    return [bare for part in text.strip("[]").split(",") if (bare := part.strip().strip("\"'").strip())]


def _toml(text: str) -> Any:
    """Return the text's value in TOML, None when it is not TOML."""
    with suppress(tomllib.TOMLDecodeError):
        return parse_toml(f"value = {text}")["value"]
    return None

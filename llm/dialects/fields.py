"""Reads the fields of a client's request. What is wrong is refused with its path, such as `messages[2].content`.

A field that is null counts as absent, as many clients send null for what they do not set.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeGuard

from mud_assistant.llm.dialects.failures import RequestRefused, invalid, unsupported
from mud_assistant.llm.messages import JSON, JSONObject

#: What a request is told whose image stands elsewhere than in what a user says.
NO_IMAGES = "to a provider of another dialect an image can be passed on only in what the user says"
_INDEX = re.compile(r"\[\d+\]")


class RequestFields:
    """One object of a request. `path` is where it stands in the body, empty for the body itself."""

    __slots__ = ("path", "value")

    def __init__(self, value: JSONObject, path: str = "") -> None:
        self.value = value
        self.path = path

    def at(self, name: str) -> str:
        """Return the path of a field of this object."""
        return f"{self.path}.{name}" if self.path else name

    def has(self, name: str) -> bool:
        """Tell whether the field is there and not null."""
        return self.value.get(name) is not None

    def get(self, name: str) -> JSON:
        """Return the field as it is, None where it is absent."""
        return self.value.get(name)

    def invalid(self, name: str, said: str) -> RequestRefused:
        """Return the refusal of a field that is wrong; `said` continues the sentence that begins with its path."""
        return invalid(f"{self.at(name)}: {said}", self.at(name))

    def unsupported(self, name: str, said: str = "not supported by this gateway") -> RequestRefused:
        """Return the refusal of a field that cannot be carried to the model."""
        return unsupported(f"{self.at(name)}: {said}", self.at(name))

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string. Raises RequestRefused when it is another type, or absent and there is no default."""
        value = self.value.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise self.invalid(name, "a string is required")
        return value

    def name(self, name: str) -> str:
        """Return a string that is not blank. Raises RequestRefused for anything else."""
        value = self.text(name)
        if not value.strip():
            raise self.invalid(name, "must not be empty")
        return value

    def number(self, name: str, least: float, most: float) -> float | None:
        """Return a number within bounds, None where it is absent. Raises RequestRefused for anything else."""
        value = self.value.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise self.invalid(name, f"a number from {least:g} to {most:g} is required")
        return float(value)

    def count(self, name: str, least: int | None = None) -> int | None:
        """Return a whole number of at least `least`, None where it is absent. Raises RequestRefused otherwise."""
        value = self.value.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
            raise self.invalid(name, "a whole number is required" + ("" if least is None else f", at least {least}"))
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return true or false, `default` where it is absent. Raises RequestRefused for anything else."""
        value = self.value.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.invalid(name, "true or false is required")
        return value

    def object(self, name: str) -> RequestFields | None:
        """Return an object, None where it is absent. Raises RequestRefused for anything else."""
        value = self.value.get(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.invalid(name, "an object is required")
        return RequestFields(value, self.at(name))

    def objects(self, name: str) -> Iterator[RequestFields]:
        """Yield the objects of a list, none where it is absent. Raises RequestRefused for anything else."""
        value = self.value.get(name)
        if value is None:
            return
        if not _is_list(value):
            raise self.invalid(name, "a list is required")
        for at, entry in enumerate(value):
            path = f"{self.at(name)}[{at}]"
            if not isinstance(entry, Mapping):
                raise invalid(f"{path}: an object is required", path)
            yield RequestFields(entry, path)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings, or one string as such a list. Raises RequestRefused for anything else."""
        value = self.value.get(name)
        if value is None:
            return ()
        if isinstance(value, str):
            return (value,)
        if not _is_list(value):
            raise self.invalid(name, "a string or a list of strings is required")
        texts = [entry for entry in value if isinstance(entry, str)]
        if len(texts) != len(value):
            raise self.invalid(name, "a list of strings is required")
        return tuple(texts)

    def hints(self, known: Collection[str], hints: Collection[str]) -> list[str]:
        """Return the paths of those fields that are only hints, without the places in lists.

        Raises RequestRefused for a field that is neither known nor a hint: it cannot be carried.
        """
        dropped = []
        for name, value in self.value.items():
            if name in known or value is None:
                continue
            if name not in hints:
                raise self.unsupported(name)
            dropped.append(_INDEX.sub("[]", self.at(name)))
        return dropped


def _is_list(value: JSON) -> TypeGuard[Sequence[JSON]]:
    return isinstance(value, Sequence) and not isinstance(value, str)

"""Writes values as TOML that an owner may edit. Pure."""

from __future__ import annotations

import json


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


#: A list that is shorter stands on one line.
_LINE = 100

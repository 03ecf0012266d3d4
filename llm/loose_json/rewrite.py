"""Rewrites the tokens of a nearly-JSON value as JSON, repairing common mistakes.

Comments are already gone: tokens do not include them. Trailing commas are dropped; Python literals and single or
typographic quotes become JSON; bare keys are quoted. The second of two doubled outer braces is dropped. If asked, open
brackets are closed. The repairs touch different tokens, so one pass does them all, also for a value that needs several.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from mud_assistant.llm.loose_json.tokens import Token, UnreadableJSON

_CLOSERS = {"{": "}", "[": "]", "(": "]"}
_WORDS = {"True": "true", "False": "false", "None": "null"}
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?)?\Z")
_ESCAPE = re.compile(r'\\(u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|.)|"', re.DOTALL)


def rewrite(tokens: Sequence[Token], *, close: bool) -> str:
    """Return the value as JSON text, which json.loads has yet to check.

    Raises UnreadableJSON when the value is open and `close` is False, and for more than one value. With `close`, every
    beginning of a JSON value gives a value: a key or word cut in two is dropped.
    """
    writer = _Writer()
    for number, token in enumerate(tokens):
        if number and not writer.frames:
            raise UnreadableJSON("more than one value")
        is_key = number + 1 < len(tokens) and tokens[number + 1].kind == "colon"
        writer.take(token, is_key=is_key)
    if writer.frames:
        if not close:
            raise UnreadableJSON("the value is not closed")
        writer.close_all()
    return " ".join(writer.pieces)


@dataclass(slots=True)
class _Frame:
    """An open bracket. `written` is False for the second of two doubled braces."""

    closer: str
    expects_key: bool
    written: bool = True


class _Writer:
    """A writer that collects the pieces of the new text."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.frames: list[_Frame] = []

    def take(self, token: Token, *, is_key: bool) -> None:
        """Write one token. `is_key` says that a colon follows it."""
        match token.kind:
            case "open":
                self._open(token.text)
            case "close":
                self._close()
            case "comma" | "colon":
                self.frames[-1].expects_key = token.kind == "comma" and self.frames[-1].closer == "}"
                self.pieces.append(token.text)
            case "string" | "cut_string":
                self.pieces.append(_json_string(token))
            case _:
                self.pieces.append(json.dumps(token.text) if is_key else _WORDS.get(token.text, token.text))

    def close_all(self) -> None:
        """Drop what was cut in two, then close every open bracket."""
        frame = self.frames[-1]
        if frame.expects_key:
            if self.pieces[-1] not in {"{", ","}:
                del self.pieces[-1:]
        elif self.pieces[-1] == ":":
            del self.pieces[-2:]
        elif not _is_whole(self.pieces[-1]):
            del self.pieces[-3 if frame.closer == "}" else -1 :]
        while self.frames:
            self._close()

    def _open(self, bracket: str) -> None:
        doubled = bool(
            bracket == "{"
            and self.frames
            and self.frames[-1].written
            and self.frames[-1].expects_key
            and self.pieces[-1] == "{"
        )
        self.frames.append(_Frame(_CLOSERS[bracket], expects_key=bracket == "{", written=not doubled))
        if not doubled:
            self.pieces.append("{" if bracket == "{" else "[")

    def _close(self) -> None:
        frame = self.frames.pop()
        if not frame.written:
            self.frames[-1].expects_key = False
            return
        if self.pieces and self.pieces[-1] == ",":
            del self.pieces[-1:]
        self.pieces.append(frame.closer)


def is_scalar(word: str) -> bool:
    """Tell whether a bare word is a JSON number, true, false or null."""
    return _SCALAR.fullmatch(word) is not None


def _is_whole(piece: str) -> bool:
    """Tell whether a piece can end a list or object as it is, and is not a word cut in two."""
    return piece[0] in '"{}[],' or is_scalar(piece)


def _json_string(token: Token) -> str:
    body = token.text[1:-1] if token.kind == "string" else _without_cut_escape(token.text[1:])
    return f'"{_ESCAPE.sub(_escape, body)}"'


def _without_cut_escape(body: str) -> str:
    """Return the text of a cut string, without half an escape at its end."""
    match = _CUT_ESCAPE.search(body, max(0, len(body) - 5))
    if match is None:
        return body
    before = body[: match.start()]
    escaped = (len(before) - len(before.rstrip("\\"))) % 2
    return body if escaped else before


def _escape(match: re.Match[str]) -> str:
    """Return one escape, or one bare double quote, as JSON writes it."""
    code = match.group(1)
    if code is None:
        return '\\"'
    if code == "'":
        return "'"
    if code == "\n":
        return ""
    if len(code) > 1 and code[0] == "x":
        return f"\\u00{code[1:]}"
    if len(code) > 1 or code in '"\\/bfnrt':
        return f"\\{code}"
    return f"\\\\{code}"

"""Separates a model's reasoning from its answer when both come in one text."""

from __future__ import annotations

import re

_OPENING = ("<think>", "<thinking>", "[think]", "<|start_thinking|>", "<|channel|>analysis<|message|>")
_CLOSING = ("</think>", "</thinking>", "[/think]", "<|end_thinking|>")
#: What ends the analysis of gpt-oss. In other texts these are not thinking tags.
_HARMONY_END = ("<|end|>", "<|start|>", "<|return|>", "<|call|>")
_TAGS = (*_OPENING, *_CLOSING, *_HARMONY_END)
_TAG = re.compile(rf"(?i:{'|'.join(re.escape(tag) for tag in _TAGS if tag[0] == '<')})|\[/?THINK\]", re.ASCII)
_FIRST = re.compile(r"[<\[]")
_LONGEST = max(len(tag) for tag in _TAGS)

#: A piece of a stream: whether it is reasoning, and its text.
Piece = tuple[bool, str]


def may_think(text: str) -> bool:
    """Tell whether the text can hold a thinking tag at all."""
    return "<" in text or "[" in text


def split_thinking(text: str) -> tuple[str, str]:
    """Return the reasoning and the answer.

    A block that is never closed is reasoning to the end. A closing tag alone ends reasoning that began with the text.
    Blanks after a closing tag belong to neither.
    """
    splitter = ThinkingSplitter()
    pieces = splitter.feed(text) + splitter.finish()
    reasoning = "".join(piece for is_reasoning, piece in pieces if is_reasoning)
    answer = "".join(piece for is_reasoning, piece in pieces if not is_reasoning)
    taken_back = splitter.taken_back
    return taken_back + reasoning, answer[len(taken_back) :]


class ThinkingSplitter:
    """A splitter for a stream whose tags may be cut anywhere. `opened`: the template already opened the block.

    If the first tag is a closing one, all text before it was reasoning. By then a stream has delivered that text as
    answer. `taken_back` holds it, to be removed from the front of the answer. It is final after `finish`.
    """

    def __init__(self, *, opened: bool = False) -> None:
        self.taken_back = ""
        self._thinking = opened
        self._tag_seen = opened
        self._after_tag = False
        self._in_harmony = False
        self._held = ""
        self._delivered: list[str] = []

    def feed(self, piece: str) -> list[Piece]:
        """Return what is certain by now. Up to the length of a tag is held back."""
        text = self._held + piece
        keep = _undecided(text)
        self._held = text[keep:]
        return self._split(text[:keep])

    def finish(self) -> list[Piece]:
        """Return what was held back: the beginning of a tag that was never completed."""
        text, self._held = self._held, ""
        return self._split(text)

    def _split(self, text: str) -> list[Piece]:
        pieces: list[Piece] = []
        position = 0
        for tag in _TAG.finditer(text) if _FIRST.search(text) else ():
            word = tag.group().lower()
            if word in _HARMONY_END and not self._in_harmony:
                continue
            self._deliver(text[position : tag.start()], pieces)
            self._switch(opens=word in _OPENING)
            self._in_harmony = word == _OPENING[-1]
            position = tag.end()
        self._deliver(text[position:], pieces)
        return pieces

    def _switch(self, *, opens: bool) -> None:
        if not opens and not self._tag_seen:
            self.taken_back = "".join(self._delivered)
        self._tag_seen = True
        self._delivered = []
        self._after_tag = not opens
        self._thinking = opens

    def _deliver(self, text: str, pieces: list[Piece]) -> None:
        if self._after_tag:
            text = text.lstrip()
            self._after_tag = not text
        if not text:
            return
        if not self._tag_seen:
            self._delivered.append(text)
        pieces.append((self._thinking, text))


def _undecided(text: str) -> int:
    """Return the offset from which the text may be the beginning of a tag."""
    for first in _FIRST.finditer(text, max(0, len(text) - _LONGEST + 1)):
        begun = text[first.start() :].lower()
        if any(tag.startswith(begun) for tag in _TAGS):
            return first.start()
    return len(text)

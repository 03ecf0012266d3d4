"""Colours of text: what a sequence that sets them (SGR) makes of the colour before it, by name."""

from __future__ import annotations

_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_RGB, _INDEXED = 2, 5
#: ECMA-48's numbers: the colours, the bright ones, a colour by its own numbers, and the ordinary colour.
_PLAIN, _BRIGHT, _LONG, _ORDINARY = range(30, 38), range(90, 98), 38, 39


class Colour:
    """The colour that text has now; `name` is empty for the ordinary one, "bright red", "208" or "#ff8700"."""

    def __init__(self) -> None:
        self._hue = ""
        self._bright = False

    @property
    def name(self) -> str:
        """The name of the colour."""
        return f"bright {self._hue}" if self._bright and self._hue in _NAMES else self._hue

    def set(self, parameters: str) -> None:
        """Take the parameters of a sequence, such as 1;31. Those that are not of a colour change nothing."""
        numbers = [int(each) if each.isdecimal() else 0 for each in parameters.replace(":", ";").split(";")]
        at = 0
        while at < len(numbers):
            at += self._take(numbers, at)

    def _take(self, numbers: list[int], at: int) -> int:
        """Take what begins at this number, and return how many numbers it has."""
        number = numbers[at]
        if number == 0:
            self._hue, self._bright = "", False
        elif number in {1, 22}:
            self._bright = number == 1
        elif number in _PLAIN:
            self._hue = _NAMES[number - _PLAIN.start]
        elif number == _ORDINARY:
            self._hue = ""
        elif number in _BRIGHT:
            self._hue = f"bright {_NAMES[number - _BRIGHT.start]}"
        elif number in {_LONG, 48} and len(numbers) > at + 1:
            return self._long(numbers, at)
        return 1

    def _long(self, numbers: list[int], at: int) -> int:
        kind, values = numbers[at + 1], numbers[at + 2 : at + 5]
        if kind == _INDEXED and values:
            hue, taken = str(values[0] & 255), 3
        elif kind == _RGB and len(values) == len("rgb"):
            hue, taken = "#" + "".join(f"{each & 255:02x}" for each in values), 5
        else:
            return 2
        if numbers[at] == _LONG:  # 48 is the colour behind the text
            self._hue = hue
        return taken

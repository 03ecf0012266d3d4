"""Bytes of text to lines and prompts: characters, line ends and control sequences, each of which may come in pieces.

What comes out depends on the bytes alone and not on how they were cut; only `quiet` knows of time.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Generator, Iterator
from enum import Enum, auto

from mud_assistant.assistant.worlds.telnet.wire.sgr import Colour
from mud_assistant.assistant.worlds.telnet.wire.wire_events import HeardLine, Prompt

#: The most characters of a line, of the parameters of a control sequence, and changes of colour in a line.
MOST_LINE, MOST_SEQUENCE, MOST_COLOURS = 16 * 1024, 4096, 64
#: What a line of the MUD Client Protocol begins with. It is between programs, and no text of the game.
_CLIENT_PROTOCOL = "#$#"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
#: What ends a control sequence's parameters, and a string of one. A line end ends both: they were damaged.
_FINAL, _STRING_END, _LINE_END = re.compile(r"[@-~\x1b\r\n]"), re.compile(r"[\x07\x1b\x9c\r\n]"), "\r\n"
_STRINGS = frozenset("]PX^_")
#: Sequences that move the cursor to another line, or clear the screen: what follows is another line.
_MOVES = frozenset("HfJABEFd")


class LineTooLong(Exception):
    """A line has more than `MOST_LINE` characters."""


class _In(Enum):
    TEXT = auto()
    ESCAPE = auto()
    SEQUENCE = auto()
    STRING = auto()
    STRING_ESCAPE = auto()


class TextReader:
    """Reads the text of one connection.

    `prompt` matches the game's prompt at the beginning of a line, and must end with the prompt's last character: it is
    tried while the line grows. `encoding` is the only one there is, when it is known; without it, text is UTF-8 until
    a byte says that it is Latin-1.
    """

    def __init__(self, prompt: re.Pattern[str] | None = None, encoding: str = "") -> None:
        self._pattern = prompt
        self._known = bool(encoding)
        self.encoding = encoding or "utf-8"
        self._decoder = codecs.getincrementaldecoder(self.encoding)("replace" if encoding else "strict")
        self._where = _In.TEXT
        self._sequence, self._length = "", 0
        self._colour = Colour()
        self._line = ""
        self._colours: list[tuple[int, str]] = []
        # A CR came, and what it means is not known yet; the last character was a LF.
        self._returned = False
        self._fed = False
        # The line follows a prompt; the part of it that silence made a prompt of.
        self._follows = False
        self._asked = ""

    def know(self, encoding: str) -> None:
        """Take the encoding as agreed on: what it cannot hold becomes U+FFFD."""
        if not (self._known and self.encoding == encoding):
            held = self._decoder.getstate()[0]
            self._known, self.encoding = True, encoding
            self._decoder = codecs.getincrementaldecoder(encoding)("replace")
            self._decoder.setstate((held, 0))

    def feed(self, data: bytes) -> Iterator[HeardLine | Prompt]:
        """Yield the lines and prompts that these bytes end. Raises LineTooLong."""
        text = self._decode(data)
        at = 0
        while at < len(text):
            if self._where is _In.TEXT:
                found = _CONTROL.search(text, at)
                end = found.start() if found else len(text)
                if end > at:
                    self._write(text[at:end])
                if found:
                    yield from self._control(found[0])
                at = end + 1
            elif self._where is _In.SEQUENCE or self._where is _In.STRING:
                at = yield from self._skip(text, at)
            elif self._escaped(text[at]):
                at += 1
        yield from self._prompts()

    def mark(self) -> Iterator[Prompt]:
        """Yield the open line as a prompt, where it holds anything: the game said that it waits."""
        yield from self._prompts()
        if (prompt := self._open()) and prompt != self._asked:
            yield Prompt(prompt)
        if prompt:
            self._cut(len(self._line))

    def quiet(self) -> Iterator[Prompt]:
        """Yield the open line as a prompt: nothing came for some time.

        The line may go on all the same, or end: then it is a line too, unless `typed` was called.
        """
        if not self._returned and (prompt := self._open()) and prompt != self._asked:
            self._asked = prompt
            yield Prompt(prompt)

    def typed(self) -> None:
        """Take what is open as answered: what comes now is another line."""
        if self._asked:
            self._cut(len(self._line))

    def _open(self) -> str:
        text = self._line.strip()
        return "" if _CLIENT_PROTOCOL.startswith(text[: len(_CLIENT_PROTOCOL)]) else text

    def _decode(self, data: bytes) -> str:
        if self._known:
            return self._decoder.decode(data)
        held = self._decoder.getstate()[0]
        try:
            return self._decoder.decode(data)
        except UnicodeDecodeError as error:
            whole = held + data
            self._known, self.encoding = True, "latin-1"
            self._decoder = codecs.getincrementaldecoder("latin-1")()
            return whole[: error.start].decode() + self._decoder.decode(whole[error.start :])

    def _write(self, text: str) -> None:
        if self._returned:
            self._returned = False
            self._cut(len(self._line), follows=self._follows)
        self._fed = False
        if len(self._line) + len(text) > MOST_LINE:
            raise LineTooLong
        name = self._colour.name
        if name != (self._colours[-1][1] if self._colours else "") and len(self._colours) < MOST_COLOURS:
            self._colours.append((len(self._line), name))
        self._line += text

    def _control(self, character: str) -> Iterator[HeardLine | Prompt]:
        if character in {"\x1b", "\x9b"}:
            self._where, self._sequence = (_In.ESCAPE if character == "\x1b" else _In.SEQUENCE), ""
            self._length = 0
        elif character == "\n" or (character == "\0" and self._returned):
            yield from self._end()
            self._fed = character == "\n"
        elif character == "\r":
            # LF CR is one end of a line too. Before a CR alone overwrites it, what stands there may be a prompt.
            if not self._fed:
                yield from self._prompts()
                self._returned = True
            self._fed = False
        elif character == "\t":
            self._write(" ")
        elif character == "\b" and not self._returned:
            yield from self._prompts()
            self._line = self._line[:-1]

    def _escaped(self, character: str) -> bool:
        """Take the character after ESC, and return whether it belongs to the sequence."""
        if self._where is _In.STRING_ESCAPE and character == "\\":
            self._where = _In.TEXT
        elif character == "[":
            self._where = _In.SEQUENCE
        elif character in _STRINGS:
            self._where = _In.STRING
        elif not " " <= character <= "/":
            self._where = _In.TEXT
            return "0" <= character <= "~"
        return True

    def _skip(self, text: str, at: int) -> Generator[HeardLine | Prompt, None, int]:
        """Skip a sequence from here on, and return where the text goes on."""
        in_string = self._where is _In.STRING
        found = (_STRING_END if in_string else _FINAL).search(text, at)
        end = found.start() if found else len(text)
        if not in_string:
            self._sequence += text[at:end]
        self._length += end - at
        if self._length > MOST_SEQUENCE:
            raise LineTooLong
        if found is None:
            return end
        if found[0] == "\x1b":
            self._where = _In.STRING_ESCAPE if in_string else _In.ESCAPE
            self._sequence, self._length = "", 0
            return end + 1
        self._where = _In.TEXT
        if found[0] in _LINE_END:
            # A line end inside a sequence: it was damaged, and the text goes on.
            return end
        if not in_string:
            yield from self._obey(found[0])
        return end + 1

    def _obey(self, final: str) -> Iterator[HeardLine | Prompt]:
        """Do what a control sequence says, as far as it is about colours and lines."""
        if final == "m":
            self._colour.set(self._sequence)
        elif final == "C":
            self._write(" ")
        elif final in _MOVES and self._line.strip():
            yield from self._end()

    def _prompts(self) -> Iterator[Prompt]:
        """Take the game's prompts off the beginning of the line."""
        if self._pattern is None:
            return
        while not self._asked:
            if self._follows:
                self._cut(len(self._line) - len(self._line.lstrip(" ")), follows=True)
            found = self._pattern.match(self._line)
            if not (found and found.end()):
                return
            yield Prompt(found[0].strip())
            self._cut(found.end(), follows=True)

    def _end(self) -> Iterator[HeardLine | Prompt]:
        """End the line."""
        self._returned = False
        yield from self._prompts()
        line, text = self._line, self._line.rstrip()
        if not line.startswith(_CLIENT_PROTOCOL) and (text or not self._follows):
            yield HeardLine(text, tuple(self._colours) if text else ())
        self._cut(len(line))

    def _cut(self, length: int, *, follows: bool = False) -> None:
        """Take so many characters off the beginning of the line; `follows` is whether they were a prompt."""
        self._line = self._line[length:]
        earlier = [name for start, name in self._colours if start <= length]
        later = [(start - length, name) for start, name in self._colours if start > length]
        self._colours = [(0, earlier[-1]), *later] if earlier and earlier[-1] and self._line else later
        self._follows, self._asked = follows, ""

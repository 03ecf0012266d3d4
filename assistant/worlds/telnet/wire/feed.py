"""What a game sends, from its bytes to events, and what is sent to it, to bytes: one connection, without a socket."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from mud_assistant.assistant.worlds.telnet.wire.inflate import CannotInflate, GrowsTooFast, Inflater
from mud_assistant.assistant.worlds.telnet.wire.negotiation import ECHO, GMCP, MCCP2, MSDP, MSSP, OptionStates
from mud_assistant.assistant.worlds.telnet.wire.structured_values import read_gmcp, read_msdp, read_mssp
from mud_assistant.assistant.worlds.telnet.wire.telnet_codec import (
    DataTooLong,
    OptionData,
    OptionRequest,
    PlainText,
    PromptMark,
    TelnetCodec,
)
from mud_assistant.assistant.worlds.telnet.wire.text import LineTooLong, TextReader
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Cause, Closed, HeardLine, Pause, Secret, WireEvent

#: The most requests and data of options without a line of text between them.
MOST_OPTIONS = 2000
#: The most bytes of a line we send, without its end: what the Diku games take.
MOST_SENT = 512
_NOT_SENT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class Feed:
    """Turns the bytes of one connection into events, and lines into bytes.

    `prompt` and `encoding` are as for a `TextReader`; `compress` is whether MCCP2 is accepted.
    """

    def __init__(self, prompt: re.Pattern[str] | None = None, *, encoding: str = "", compress: bool = True) -> None:
        self._codec = TelnetCodec()
        self._options = OptionStates(compress=compress, encoding=encoding)
        self._text = TextReader(prompt, encoding)
        self._inflater: Inflater | None = None
        self._negotiated = 0
        self._answers = bytearray()
        self._closed = False

    def feed(self, data: bytes) -> list[WireEvent]:
        """Return what the next bytes hold."""
        return list(self.events(data))

    def events(self, data: bytes) -> Iterator[WireEvent]:
        """Yield what the next bytes hold, one at a time: compressed bytes may hold a thousand times as much.

        What is yielded must be taken to its end before more is fed. After `Closed` nothing comes.
        """
        if self._closed:
            return
        try:
            yield from self._raw(data)
        except DataTooLong:
            yield self._close(Cause.SUBNEGOTIATION)
        except LineTooLong:
            yield self._close(Cause.LONG_LINE)
        except CannotInflate:
            yield self._close(Cause.COMPRESSION)
        except GrowsTooFast:
            yield self._close(Cause.BOMB)
        except _TooManyOptions:
            yield self._close(Cause.OPTIONS)

    def quiet(self) -> list[WireEvent]:
        """Return the open line as a prompt: nothing came for some time."""
        return [] if self._closed else list(self._text.quiet())

    def to_send(self) -> bytes:
        """Return the answers to options that wait to be sent, and forget them."""
        answers = bytes(self._answers)
        self._answers.clear()
        return answers

    def encode(self, line: str, most: int = MOST_SENT) -> bytes:
        """Return the bytes that send one line: what would be a command or another line is taken out.

        It has at most `most` bytes before its end, and is cut after a word.
        """
        self._text.typed()
        encoded = _NOT_SENT.sub(" ", line).strip().encode(self._text.encoding, "replace")
        if len(encoded) > most:
            kept = encoded[:most].decode(self._text.encoding, "ignore")
            words = kept if encoded[most : most + 1] == b" " else kept.rpartition(" ")[0] or kept
            encoded = words.rstrip().encode(self._text.encoding, "replace")
        return encoded.replace(b"\xff", b"\xff\xff") + b"\r\n"

    def _close(self, cause: Cause) -> Closed:
        self._closed = True
        return Closed(cause)

    def _raw(self, data: bytes) -> Iterator[WireEvent]:
        """Yield what bytes hold as they come from the socket; a compressed stream may begin and end in them."""
        while data:
            if self._inflater is None:
                data = yield from self._plain(data)
                continue
            inflater = self._inflater
            for plain in inflater.feed(data):
                if left := (yield from self._plain(plain)):
                    # A second stream inside the first: nobody sends that.
                    raise CannotInflate(f"{len(left)} bytes of a stream in a stream")
            data = inflater.rest() if inflater.ended else b""
            if inflater.ended:
                self._inflater = None

    def _plain(self, data: bytes) -> Generator[WireEvent, None, bytes]:
        """Yield what plain bytes hold, and return those after the beginning of a compressed stream."""
        codec = self._codec
        codec.put(data)
        while (piece := codec.take()) is not None:
            if isinstance(piece, PlainText):
                for event in self._text.feed(piece.data):
                    if isinstance(event, HeardLine):
                        self._negotiated = 0
                    yield event
            elif isinstance(piece, PromptMark):
                yield from list(self._text.mark()) or (Pause(),)
            elif isinstance(piece, OptionRequest):
                yield from self._request(piece)
            elif piece.option == MCCP2 and self._options.is_on(MCCP2):
                self._inflater = Inflater()
                return codec.rest()
            else:
                yield from self._data(piece)
        return b""

    def _request(self, request: OptionRequest) -> Iterator[WireEvent]:
        self._count()
        secret = self._options.is_on(ECHO)
        self._answers += self._options.request(request.command, request.option)
        if self._options.is_on(ECHO) is not secret:
            yield Secret(not secret)

    def _data(self, piece: OptionData) -> Iterator[WireEvent]:
        self._count()
        self._answers += self._options.data(piece.option, piece.data)
        if self._options.agreed:
            self._text.know(self._options.agreed)
        if piece.option == GMCP and (message := read_gmcp(piece.data)):
            yield message
        elif piece.option == MSDP:
            yield from read_msdp(piece.data)
        elif piece.option == MSSP:
            yield read_mssp(piece.data)

    def _count(self) -> None:
        self._negotiated += 1
        if self._negotiated > MOST_OPTIONS:
            raise _TooManyOptions


class _TooManyOptions(Exception):
    """More requests and data of options came than anybody needs."""

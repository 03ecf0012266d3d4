"""Reads a streamed body in one pass: whole records in the usual form at once, anything else by the lenient decoders.

The answer is the same however the bytes are split. It is read up to the error in its stream; what came before counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

from mud_assistant.llm.errors import LLMError
from mud_assistant.llm.wire.building import AnswerBuilder
from mud_assistant.llm.wire.lines import MAX_EVENT_BYTES, ServerSentEvent, SSEDecoder

#: How much of a record with line breaks is held until the next read. A longer one goes to the decoder.
_MAX_HELD_BYTES = 4096
_BEGINNINGS = (b"data: ", b"event: ")
T = TypeVar("T")


class Decoder(Protocol[T]):
    """A lenient decoder from bytes to the parts of a body."""

    def feed(self, data: bytes, *, final: bool = False) -> list[T]:
        """Return the parts that `data` completes; with `final`, also a last part without an end."""
        ...

    @property
    def is_between(self) -> bool:
        """Whether all the bytes so far belong to parts that are complete."""
        ...


class RecordParser(ABC, Generic[T]):
    """A parser of one streamed body, which adds what it reads to `answer`.

    `complete` says that the end mark or an error was seen; nothing after either counts. A subclass sets it at the end
    mark, and `_has_grown` whenever it adds something.
    """

    #: What ends a record.
    separator = b"\n\n"

    def __init__(self, answer: AnswerBuilder) -> None:
        self.complete = False
        self._answer = answer
        self._has_grown = False
        self._carried: LLMError | None = None
        #: The beginning of a record in the usual form, as it was read.
        self._held: list[bytes] = []
        self._held_bytes = 0
        #: Made when it is first needed, which is never for most streams.
        self._decoder: Decoder[T] | None = None
        self._is_between = True
        self._has_begun = False

    def feed(self, data: bytes) -> bool:
        """Read the records that `data` completes, up to an error. Return whether they added to the answer.

        An error completes the stream too; `end` raises it. Raises ProtocolError for a record without an end in sight.
        """
        self._has_grown = False
        if self._held:
            if _is_inside(data) and self._held_bytes + len(data) <= MAX_EVENT_BYTES:
                self._hold(data)
                return False
            data = self._take_held() + data
        if not self._is_between:
            data = self._finish_record(data)
        if self._is_between and (data := self._read_usual(data)) and self._may_hold(data):
            self._hold(data)
        elif data:
            self._read_leniently(data)
        return self._has_grown

    def end(self) -> None:
        """Read a last record without an end. Raises the error the stream carried, or the one for an incomplete one."""
        if self._held or self._decoder is not None:
            self._read_leniently(self._take_held(), final=True)
        if self._carried is not None:
            raise self._carried
        self._finish()

    @abstractmethod
    def _split(self, data: bytes) -> list[bytes] | None:
        """Return the records in bytes that end with a separator, or None when one of them is not in the usual form."""

    @abstractmethod
    def _is_usual(self, data: bytes) -> bool:
        """Tell whether bytes without a separator may begin a record in the usual form, and tell nothing by now."""

    @abstractmethod
    def _read(self, records: list[bytes]) -> None:
        """Read records in the usual form, up to the end mark. Raises the error that one of them carries."""

    @abstractmethod
    def _new_decoder(self, *, has_begun: bool) -> Decoder[T]:
        """Return the decoder for everything else. With `has_begun` it does not get the beginning of the body."""

    @abstractmethod
    def _take(self, part: T) -> None:
        """Read one part from the decoder. Raises the error it carries."""

    @abstractmethod
    def _finish(self) -> None:
        """Add what is known only at the end. Raises StreamBroken when the end mark is missing."""

    def _may_hold(self, data: bytes) -> bool:
        if _is_inside(data):  # so it has neither a separator nor a bare line
            return len(data) <= MAX_EVENT_BYTES and self._is_usual(data[:_MAX_HELD_BYTES])
        return len(data) <= _MAX_HELD_BYTES and self.separator not in data and self._is_usual(data)

    def _hold(self, data: bytes) -> None:
        self._held.append(data)
        self._held_bytes += len(data)

    def _take_held(self) -> bytes:
        held, self._held, self._held_bytes = self._held, [], 0
        return b"".join(held)

    def _finish_record(self, data: bytes) -> bytes:
        """Give the decoder the rest of the record that an earlier read began. Return what follows it."""
        end = data.find(self.separator)
        rest = data[: end + len(self.separator)] if end >= 0 else data
        self._read_leniently(rest)
        return data[len(rest) :]

    def _read_usual(self, data: bytes) -> bytes:
        """Read the whole records if all of them are in the usual form. Return what is left for the decoder."""
        last = data.rfind(self.separator)
        end = last + len(self.separator)
        if not 0 <= last <= MAX_EVENT_BYTES or (records := self._split(data[:end])) is None:
            return data
        self._has_begun = True
        if not self.complete:
            try:
                self._read(records)
            except LLMError as error:
                self._carry(error)
        return data[end:]

    def _read_leniently(self, data: bytes, *, final: bool = False) -> None:
        decoder = self._decoder = self._decoder or self._new_decoder(has_begun=self._has_begun)
        parts = decoder.feed(data, final=final)
        self._is_between = decoder.is_between
        try:
            for part in parts:
                if self.complete:
                    return
                self._take(part)
        except LLMError as error:
            self._carry(error)

    def _carry(self, error: LLMError) -> None:
        self._carried = error
        self.complete = True


def _is_inside(data: bytes) -> bool:
    """Tell whether the data lies within one line."""
    return b"\n" not in data and b"\r" not in data


class SSEParser(RecordParser[ServerSentEvent]):
    """A parser of server-sent events. In their usual form each is one line of data."""

    def _split(self, data: bytes) -> list[bytes] | None:
        """Return the data of each event."""
        if not data.startswith(b"data: ") or b"\r" in data:
            return None
        records = data[6:-2].split(b"\n\ndata: ")
        return records if data.count(b"\n") == 2 * len(records) else None

    def _is_usual(self, data: bytes) -> bool:
        """Tell whether the data may begin a usual event. A bare `error` line counts before its event ends."""
        return data.startswith(_BEGINNINGS) and b"\r" not in data and b"\nerror" not in data

    def _new_decoder(self, *, has_begun: bool) -> SSEDecoder:
        return SSEDecoder(has_begun=has_begun)

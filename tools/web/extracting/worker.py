"""The program that parses pages, one after the other: pages on its stdin, text on its stdout. It ends when stdin does.

python -P -m mud_assistant.tools.web.extracting.worker SECONDS MEMORY_BYTES INPUT_BYTES OUTPUT_CHARS PDF_PAGES

The messages between the reactor's process and the worker are a JSON head and a body of bytes, both length-prefixed:

    | 4 bytes: length of the head | 4 bytes: length of the body | head | body |

To the worker: head {content_type, charset, ...}, body the page. From it: {"say": "ready"} once; for each page
{"say": "begun"} when it was read from the pipe, then {"say": "done", title, flags} with the text as body, or
{"say": "failed", kind, message}. Neither side trusts a length.
"""

from __future__ import annotations

import importlib
import json
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from time import perf_counter
from typing import BinaryIO

from mud_assistant.llm.messages import JSONObject
from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.extracting.confinement import Watchdog, confine
from mud_assistant.tools.web.extracting.documents import read_document
from mud_assistant.tools.web.extracting.extracted import ExtractLimits, Unreadable

#: Imported before the first page comes: so they cost no page its time, and files can still be opened freely.
_HEAVY = ("lxml.html", "trafilatura", "html_to_markdown", "pypdf")
#: The fields of ExtractLimits on the command line, in this order.
ARGUMENTS = ("seconds", "memory_bytes", "input_bytes", "output_chars", "pdf_pages")
_OUT_OF_MEMORY = 3
MAX_HEAD_BYTES = 64 * 1024
_LENGTHS = struct.Struct(">II")


def main(arguments: list[str]) -> None:
    """Read pages until there are no more."""
    limits = limits_of(arguments)
    pipe_in, pipe_out = _own_pipes()
    for name in _HEAVY:
        with suppress(ImportError):  # reported when a page needs it
            importlib.import_module(name)
    _send(pipe_out, {"say": "ready", "network": confine(limits.memory_bytes)})
    watchdog = Watchdog(limits.seconds)
    with suppress(BadFrame, BrokenPipeError):
        while (frame := read_frame(pipe_in, limits.input_bytes)) is not None:
            _send(pipe_out, {"say": "begun"})
            with watchdog:
                head, body = answer(*frame, limits)
            _send(pipe_out, head, body)
            if head.get("out_of_memory"):
                sys.exit(_OUT_OF_MEMORY)  # what is left of it is of no use


def limits_of(arguments: list[str]) -> ExtractLimits:
    """Return the limits from the command line."""
    types = {name: float if "seconds" in name else int for name in ExtractLimits.__struct_fields__}
    given = {name: types[name](value) for name, value in zip(ARGUMENTS, arguments, strict=True)}
    return ExtractLimits(**given)  # type: ignore[arg-type]  # the types are looked up above


def answer(head: JSONObject, body: bytes, limits: ExtractLimits) -> tuple[JSONObject, bytes]:
    """Return the reply about one page."""
    kind, charset, url = (str(head.get(name) or "") for name in ("content_type", "charset", "url"))
    late_at = perf_counter() + 0.7 * limits.seconds  # a PDF's last page may take the rest
    try:
        found = read_document(body, kind, charset, url, limits=limits, is_late=lambda: perf_counter() > late_at)
    except Unreadable as error:
        return _failure_record(str(error)), b""
    except ImportError as error:
        name = (error.name or "a package").partition(".")[0].replace("_", "-")
        return _failure_record(f"{name} is not installed (pip install 'mud-assistant[web]')"), b""
    except MemoryError:
        return {**_failure_record("it needs too much memory"), "out_of_memory": True}, b""
    except RecursionError:
        return _failure_record("it is nested too deep"), b""
    except Exception as error:  # noqa: BLE001  (a parser's fault is this page's fault; the next may be read)
        return _failure_record(f"the parser failed ({type(error).__name__})"), b""
    said: JSONObject = {"say": "done", "title": found.title, "flags": sorted(found.flags), "refresh": found.refresh}
    return said, found.markdown.encode("utf-8", "replace")


def _failure_record(reason: str) -> JSONObject:
    return {"say": "failed", "kind": ErrorKind.PARSE, "message": reason}


def _own_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return our ends of the pipes, and send what libraries print nowhere, so that it cannot mix with our messages."""
    pipe_in, pipe_out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    return pipe_in, pipe_out


def _send(pipe: BinaryIO, head: JSONObject, body: bytes = b"") -> None:
    pipe.write(pack(head, body))
    pipe.flush()


class BadFrame(Exception):
    """Raised when the received bytes are not a message."""


def pack(head: JSONObject, body: bytes = b"") -> bytes:
    """Return one message as bytes."""
    encoded = json.dumps(head).encode()
    return _LENGTHS.pack(len(encoded), len(body)) + encoded + body


def read_frame(pipe: BinaryIO, max_body: int) -> tuple[JSONObject, bytes] | None:
    """Read the next message, blocking; return None when the other side has closed. Raises BadFrame."""
    lengths = pipe.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    head, body = _check_length(lengths, max_body)
    data = pipe.read(head + body)
    if len(data) < head + body:
        return None
    return _decode(data[:head]), data[head:]


class FrameBuffer:
    """Collects received bytes into messages. Each byte is copied twice at most."""

    def __init__(self, max_body: int) -> None:
        self._max_body = max_body
        self._pieces: list[bytes] = []
        self._held = 0
        self._wanted = _LENGTHS.size

    def feed(self, data: bytes) -> Iterator[tuple[JSONObject, bytes]]:
        """Yield the messages that are complete now. Raises BadFrame."""
        self._pieces.append(data)
        self._held += len(data)
        while self._held >= self._wanted:
            joined = b"".join(self._pieces)
            head, body = _check_length(joined[: _LENGTHS.size], self._max_body)
            end = _LENGTHS.size + head + body
            if len(joined) < end:
                self._pieces, self._wanted = [joined], end
                return
            start = _LENGTHS.size + head
            self._pieces, self._held, self._wanted = [joined[end:]], len(joined) - end, _LENGTHS.size
            yield _decode(joined[_LENGTHS.size : start]), joined[start:end]


def _check_length(lengths: bytes, max_body: int) -> tuple[int, int]:
    head, body = _LENGTHS.unpack(lengths)
    if head > MAX_HEAD_BYTES or body > max_body:
        raise BadFrame(f"a message of {head} and {body} bytes")
    return head, body


def _decode(data: bytes) -> JSONObject:
    try:
        head = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadFrame("a head that is no JSON") from error
    if not isinstance(head, dict):
        raise BadFrame("a head that is no object")
    return head


if __name__ == "__main__":
    main(sys.argv[1:])

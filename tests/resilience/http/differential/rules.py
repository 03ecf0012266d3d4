"""Where we read otherwise than h11 or Twisted, and why. Whatever is not here must be the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from tests.resilience.http.differential.grammar import split
from tests.resilience.http.differential.readings import HIDDEN, Case, End, Reading, h11s, ours, twisteds

#: What we refuse though an oracle takes it, or waits for more of it: the reason that we give, and why it is right.
REFUSED = {
    "Chunk size overflow": "a size of more than 64 bits is no size",
    "Content-Length can't be present with Transfer-Encoding": "two readings: the usual shape of smuggling",
    "Transfer-Encoding can't be present with Content-Length": "two readings: the usual shape of smuggling",
    "Content-Length overflow": "a length of more than 64 bits is no length",
    "Data after `Connection: close`": "an interim response that says it was the last leaves no room for a final one",
    "Duplicate Content-Length": "a second length, even the same, means that two programs wrote the head",
    "Empty Content-Length": "an empty length can be read as none or as 0",
    "Empty Transfer-Encoding": "an empty coding can be read as none or as an unknown one",
    "Expected HTTP/, RTSP/ or ICE/": "it is no status line",
    "it does not begin with HTTP": "bytes before the status line are left of another response",
    "Expected LF after CR": "a lone CR ends a line for some readers and not for others",
    "Expected LF after chunk size": "a lone CR, as above",
    "Expected LF after chunk data": "the chunk does not end where it said",
    "Missing expected CR after chunk data": "a lone LF, as below",
    "Missing expected CR after chunk size": "a lone LF, as below",
    "Expected LF after headers": "a lone CR, as above",
    "Missing expected LF after header value": "a lone CR, as above",
    "Missing expected CR after header value": "a lone LF ends a line for some readers and not for others",
    "Missing expected CR after response line": "a lone LF, as above",
    "Expected dot": "it is no version of HTTP",
    "Expected space after version": "it is no version of HTTP",
    "Expected space after status code": "it is no status",
    "Invalid HTTP version": "it is no version of HTTP",
    "Invalid major version": "it is no version of HTTP",
    "Invalid minor version": "it is no version of HTTP",
    "it is of another version of HTTP": "only 1.0 and 1.1 frame bodies as we read them",
    "Invalid character in Content-Length": "only digits are a length; a list of lengths is two of them",
    "Invalid character in chunk size": "only hexadecimal digits are a size: no sign, no blank",
    "Invalid character in chunk extensions": "extensions that are none may hide the end of a line",
    "Invalid character in chunk extensions name": "extensions that are none, as above",
    "Invalid character in chunk extensions value": "extensions that are none, as above",
    "Invalid character in chunk extensions quoted value": "extensions that are none, as above",
    "Invalid quoted-pair in chunk extensions quoted value": "extensions that are none, as above",
    "Missing expected CR after chunk extension": "a lone LF, as below",
    "Invalid header field char": "a name with other characters, or a blank before the colon, is read in two ways",
    "Invalid header token": "a name with other characters, as above",
    "Unexpected space after start line": "a folded line, as below",
    "Unexpected whitespace after header value": "a folded line is one header for some readers and two for others",
    "Invalid header value char": "control characters, NUL before all, end a value for some readers",
    "Invalid response status": "a status has three digits",
    "Invalid status code": "a status has three digits",
    "its status is": "a status is 100 to 999",
    "Pause on CONNECT/Upgrade": "we ask for no other protocol",
    "it switched to another protocol": "we ask for no other protocol",
    "an interim response announced a body": "it has none (RFC 9110 section 8.6): some readers skip it, some do not",
    "its transfer coding is another than chunked": "we decode no other, and an unknown one hides where the body ends",
}
#: Whether h11 refuses what we take.
H11_IS_STRICTER = {
    "a control character in the reason phrase, which nobody reads": re.compile(
        rb"(\A|\n)HTTP/1\.[01] \d{3} [^\r\n]*[\x00-\x08\x0b-\x1f\x7f]"
    ),
    "more than 20 digits of a chunk size, all but the last zeros": re.compile(rb"(^|\n)0{15}[0-9a-fA-F]{6,}[\r;]"),
    "an interim response of another kind of line end or protocol name before the final one": re.compile(
        rb"\A(HTTP/1\.[01] 1[0-9]{2} .*\r\n\r\n)([\r\n]+HTTP|RTSP|ICE)", re.DOTALL
    ),
}  # fmt: skip
#: Whether we keep a connection that h11 lets go: it never keeps one of HTTP/1.0, even where the server says keep-alive.
WE_KEEP = re.compile(rb"\AHTTP/1\.0 [^\0]*\nConnection: *keep-alive", re.IGNORECASE)
_CLOSING_TRAILER = re.compile(rb"\n0[^\n]*\n.*Connection: *close", re.DOTALL | re.IGNORECASE)
#: Whether we let go a connection that h11 keeps. That is always safe.
H11_KEEPS: dict[str, Callable[[Case], object]] = {
    "after HEAD, which is never asked, we do not wait for a body that must not come": lambda case: (
        case.method == "HEAD"
    ),
    "a trailer says Connection: close": lambda case: _CLOSING_TRAILER.search(case.data),
    "Proxy-Connection: close, from before HTTP/1.1": lambda case: b"proxy-connection: close" in case.data.lower(),
    "HTTP/1.0 knows no chunks": lambda case: case.data.startswith(b"HTTP/1.0") and b"chunked" in case.data.lower(),
}


@dataclass(frozen=True)
class Oracle:
    """Another reader: how it reads, and whether it tells that bytes follow a response."""

    name: str
    read: Callable[[Case, list[bytes]], Reading]
    sees_surplus: bool


ORACLES = (Oracle("h11", h11s, sees_surplus=True), Oracle("Twisted", twisteds, sees_surplus=False))


def compare(case: Case, chance: Random, *, by_byte: bool = True) -> list[str]:
    """Return what no rule explains: between our readings of the same bytes in other pieces, and the oracles'."""
    whole = [case.data] if case.data else []
    mine = ours(case, whole)
    found = []
    ways = [split(case.data, chance)]
    if by_byte:
        ways.append([case.data[at : at + 1] for at in range(len(case.data))])
    for pieces in ways:
        other = ours(case, pieces)
        if other != mine:
            found.append(f"{mine} in one piece, {other} in {len(pieces)}")
    for oracle in ORACLES:
        theirs = oracle.read(case, whole)
        if not _is_explained(case, mine, theirs, oracle):
            found.append(f"we: {mine}, {oracle.name}: {theirs}")
    return [f"{each[:1000]}\n    for {case}"[:3000] for each in found]


def _is_explained(case: Case, mine: Reading, theirs: Reading, oracle: Oracle) -> bool:
    mine, theirs = (_comparable(each, oracle) for each in (mine, theirs))
    if mine == theirs:
        return True
    if mine.end is End.FAILED:
        return any(mine.why.startswith(known) for known in REFUSED)
    if theirs.end is End.FAILED:
        return oracle.name == "h11" and any(shape.search(case.data) for shape in H11_IS_STRICTER.values())
    if replace(mine, is_kept=theirs.is_kept) != theirs:
        return False
    if mine.is_kept:
        return oracle.name == "h11" and WE_KEEP.search(case.data) is not None
    return not oracle.sees_surplus or any(applies(case) for applies in H11_KEEPS.values())


def _comparable(reading: Reading, oracle: Oracle) -> Reading:
    """Return the part of a reading that the oracle shows: Twisted hides some headers, h11 writes codings small."""
    headers = reading.headers
    if oracle.name == "Twisted":
        headers = tuple(each for each in headers if each[0] not in HIDDEN)
    else:
        headers = tuple(
            (name, tuple(value.lower() for value in values) if name == b"transfer-encoding" else values)
            for name, values in headers
        )
    return replace(reading, headers=headers)

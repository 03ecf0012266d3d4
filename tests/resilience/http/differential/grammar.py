"""Makes responses, right and wrong, from a seed: most have one oddity or two, so that each is tried by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from tests.resilience.http.differential.readings import Case

#: A response as most servers send it.
STATUS_LINES = (b"HTTP/1.1 200 OK",)
ODD_STATUS_LINES = (
    b"HTTP/1.0 200 OK", b"HTTP/1.1 404 Not Found", b"HTTP/1.1 500 ", b"HTTP/1.1 429", b"HTTP/1.1 299 \xe4\xf6",
    b"HTTP/1.1 999 X", b"HTTP/1.1 600 X", b"HTTP/1.1 099 X", b"HTTP/1.1 000 X", b"HTTP/1.1 20 OK", b"HTTP/1.1 2000 OK",
    b"HTTP/1.1 -20 OK", b"HTTP/1.1 2x0 OK", b"HTTP/1.1  200 OK", b" HTTP/1.1 200 OK", b"HTTP/1.1\t200 OK",
    b"HTTP/1.1 200\tOK", b"HTTP/1.1200 OK", b"HTTP/2.0 200 OK", b"HTTP/2 200 OK", b"HTTP/0.9 200 OK",
    b"HTTP/1.2 200 OK",
    b"HTTP/1.10 200 OK", b"HTTP/01.1 200 OK", b"http/1.1 200 OK", b"HTP/1.1 200 OK", b"RTSP/1.0 200 OK",
    b"ICE/1.0 200 OK", b"ICY 200 OK", b"HTTP/1.1 200 O\x00K", b"HTTP/1.1 200 O\rK", b"HTTP/1.1 200 O\x7fK",
    b"HTTP/1.1 204 No", b"HTTP/1.1 304 Not", b"HTTP/1.1 205 Reset", b"HTTP/1.1 206 Part", b"", b"200 OK",
    b"HTTP/1.0 204 No", b"HTTP/1.1 101 Switching",
)  # fmt: skip
LENGTHS = (
    b"%d ", b" %d", b"\t%d\t", b"+%d", b"-%d", b"0%d", b"%d, %d", b"%d,%d", b"%d, 7", b"0x%x", b"%de0", b"%d.0",
    b"%d_0",
    b"%d;q=1", b'"%d"', b"", b" ", b"%d %d", b"\r\n %d", b"%d\r\n 0", b"%d\x00", b"\x0b%d", b"%d\xa0",
    b"99999999999999999999",
    b"18446744073709551615", b"18446744073709551616", b"18446744073709551621", b"9223372036854775808", b"four",
    b"%d\x0c",
)  # fmt: skip
CODINGS = (
    b"chunked", b"Chunked", b"CHUNKED", b" chunked ", b"chunked,", b",chunked", b"chunked, chunked", b"gzip, chunked",
    b"chunked, gzip", b"gzip", b"identity", b"identity, chunked", b"chunked, identity", b"xchunked", b"chunkedx",
    b"chunked;q=1",
    b"", b"\x0bchunked", b"chunked\x00", b"\r\n chunked", b"chunked\r\n x", b'"chunked"', b"chunk ed", b"trailers",
    b"\tchunked\t",
)  # fmt: skip
NAMES = (
    b"%b",
    b"%b ",
    b"%b\t",
    b" %b",
    b"%b\x00",
    b"X\r%b",
    b"%b\r",
    b"%b\n",
    b"\x00%b",
    b"%b\x0b",
    b"(%b)",
    b"%b\x80",
)
CONNECTIONS = (
    b"close", b"Close", b"keep-alive", b"Keep-Alive", b"close, keep-alive", b"keep-alive, close", b"upgrade", b"x",
    b"",
    b" close ", b"keep-alive, x", b"x, close", b"closed", b"close,", b"close\t",
)  # fmt: skip
HEADERS = (
    b"Content-Type: text/plain", b"X: ", b"X:", b"X:   a b  ", b"X: \xff\xfe", b"X: a\x00b", b"X: a\rb", b"X: a\nb",
    b"X: a\x7fb",
    b"X: a\x01b", b"X a", b"X", b":", b": a", b"X: a\r\n b", b"X: a\r\n\tb", b"X : a", b"X\t: a", b" X: a",
    b"X\x80: a", b"X@: a",
    b"X[]: a", b"X!#$%&'*+-.^_`|~: a", b"x: 1\r\nX: 2", b"Upgrade: h2c", b"Upgrade: h2c\r\nConnection: upgrade",
    b"Trailer: X",
    b"Content-Encoding: gzip", b"X: " + b"y" * 3000, b"Keep-Alive: timeout=5", b"Proxy-Connection: close",
    b"Content-Length-: 9",
    b"Content_Length: 9", b"Transfer-Encoding-: chunked", b"X: a:b", b"TE: chunked", b"X: a\x0bb", b"X: a\x0cb",
    b"X: \ta\t",
)  # fmt: skip
SIZES = (
    b"0%x", b"000000000000000000000%x", b"%X", b" %x", b"%x ", b"%x\t", b"+%x", b"-%x", b"0x%x", b"%xg", b"",
    b"%x,", b"%x\x00",
    b"%x;", b"%x;a", b"%x;a=b", b'%x;a="b"', b'%x;a="b;c"', b'%x;a="\r\n"', b"%x;a=\n", b"%x;a\rb", b"%x ;a",
    b"%x; a=b", b"%x;;a",
    b"%x;a=b;c", b"%x;\x00", b"%x;a=\xff", b"1%x", b"FFFFFFFFFFFFFFFF%x", b"FFFFFFFFFFFFFFFF", b"%x\r", b"%x\n",
    b"%x;" + b"e" * 500,
    b"%x;a\n", b'%x;a="b', b"%x;=b", b"%x;a=", b"%x.0", b"%xh",
)  # fmt: skip
TRAILERS = (
    b"X: y", b"X: y\r\nZ: w", b"Content-Length: 3", b"Transfer-Encoding: chunked", b"Connection: close", b"X y",
    b": y", b"X: y\r\n z",
    b"X : y", b"X: a\x00b", b"\x00", b" X: y", b"X: a\nY: b", b"Trailer: " + b"t" * 2000, b"HTTP/1.1 200 OK",
)  # fmt: skip
LINE_ENDS = (b"\n", b"\r", b"\r\r\n", b"\n\r", b"\r\n\r\n", b" \r\n", b"\x0b\r\n")
INTERIM = (
    b"HTTP/1.1 100 Continue", b"HTTP/1.1 103 Early Hints\r\nLink: </x>", b"HTTP/1.1 102 Processing", b"HTTP/1.1 104 X",
    b"HTTP/1.1 199 X", b"HTTP/1.1 100 Continue\r\nContent-Length: 5", b"HTTP/1.1 150 X\r\nContent-Length: 5",
    b"HTTP/1.1 103 X\r\nTransfer-Encoding: chunked", b"HTTP/1.1 150 X\r\nTransfer-Encoding: chunked",
    b"HTTP/1.0 100 Continue",
    b"HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade", b"HTTP/1.1 101 X",
    b"HTTP/1.1 100 Continue\r\nConnection: close",
    b"HTTP/1.1 150 X\r\nConnection: close", b"HTTP/2.0 100 X",
)  # fmt: skip
SURPLUS = (
    b"\r\n", b"\n", b"\r", b"X", b"\x00", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", b"H", b"0\r\n\r\n",
    b"\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    b"hello again", b"\r\n\r\n",
)  # fmt: skip
BODIES = (
    b"hello",
    b"",
    b"h",
    b"0\r\n\r\n",
    b"\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n",
    b"x" * 4000,
    b"5\r\nhello\r\n0\r\n\r\n",
)
#: What can be odd about a response.
ODDITIES = (
    "status", "length", "coding", "coding twice", "length twice", "both", "both turned", "name", "connection",
    "header", "header",
    "header end", "chunk", "chunk end", "trailer", "last chunk", "interim", "surplus", "cut", "cut", "before",
    "head end", "noise",
    "wrong length", "no framing",
)  # fmt: skip


_OF_CHUNKS = {"chunk", "chunk end", "trailer", "last chunk", "coding", "coding twice"}


@dataclass
class _Making:
    """A response that is being made: its framing, and what is odd about it."""

    chance: Random
    odd: set[str]
    body: bytes
    headers: list[bytes] = field(default_factory=list)

    def pick(self, kind: str, odd: tuple[bytes, ...], usual: bytes) -> bytes:
        """Return something odd of this kind, where this response is to be odd in that."""
        return self.chance.choice(odd) if kind in self.odd else usual

    def named(self, name: bytes) -> bytes:
        """Return the name of a header that frames the body."""
        return self.pick("name", NAMES, b"%b").replace(b"%b", name)

    def sized(self, kind: str, odd: tuple[bytes, ...], usual: bytes, size: int) -> bytes:
        """Return a size as it is written."""
        shape = self.pick(kind, odd, usual)
        for sign, text in ((b"%d", b"%d" % size), (b"%x", b"%x" % size), (b"%X", b"%X" % size)):
            shape = shape.replace(sign, text)
        return shape

    def length(self) -> bytes:
        """Return a Content-Length."""
        size = len(self.body) + (self.chance.choice((-2, -1, 1, 3)) if "wrong length" in self.odd else 0)
        return b"%b: %b" % (self.named(b"Content-Length"), self.sized("length", LENGTHS, b"%d", max(0, size)))

    def coding(self) -> bytes:
        """Return a Transfer-Encoding."""
        return b"%b: %b" % (self.named(b"Transfer-Encoding"), self.pick("coding", CODINGS, b"chunked"))

    def chunks(self) -> Iterator[bytes]:
        """Yield the body in chunks."""
        at = 0
        while at < len(self.body):
            piece = self.body[at : at + self.chance.choice((1, 3, 5, 1000))]
            at += len(piece)
            end = self.pick("chunk end", (*LINE_ENDS, b"", b"X\r\n"), b"\r\n")
            yield self.sized("chunk", SIZES, b"%x", len(piece)) + self.line_end("chunk line") + piece + end
        yield self.sized("last chunk", SIZES, b"%x", 0) + b"\r\n"
        yield self.pick("trailer", tuple(each + b"\r\n" for each in TRAILERS), b"") + self.line_end("last line")

    def line_end(self, kind: str) -> bytes:
        """Return the end of a line, rarely an odd one."""
        is_odd = "chunk" in self.odd and self.chance.random() < 0.1
        return self.chance.choice(LINE_ENDS) if is_odd else self.pick(kind, LINE_ENDS, b"\r\n")


def _framing(making: _Making, is_chunked: bool) -> list[bytes]:
    odd = making.odd
    if "both" in odd:
        return [making.length(), making.coding()]
    if "both turned" in odd:
        return [making.coding(), making.length()]
    if "no framing" in odd:
        return []
    one = making.coding if is_chunked else making.length
    is_twice = ("coding twice" if is_chunked else "length twice") in odd
    return [one(), one()] if is_twice else [one()]


def case_of(seed: int) -> Case:
    """Return the response of this seed."""
    chance = Random(seed)  # noqa: S311
    odd = set(chance.sample(ODDITIES, chance.choice((0, 1, 1, 1, 2, 2, 3))))
    making = _Making(chance, odd, chance.choice(BODIES))
    is_chunked = (
        bool(odd & {"chunk", "chunk end", "trailer", "last chunk", "coding", "coding twice"}) or chance.random() < 0.4
    )
    headers = _framing(making, is_chunked)
    headers += [making.pick("header", HEADERS, b"Content-Type: text/plain")]
    if "connection" in odd:
        headers.append(b"Connection: " + chance.choice(CONNECTIONS))
    chance.shuffle(headers)
    lines = [making.pick("status", ODD_STATUS_LINES, chance.choice(STATUS_LINES)), *headers]
    end = making.pick("header end", LINE_ENDS, b"\r\n")
    odd_line = chance.randrange(len(lines))
    head = b"".join(line + (end if at == odd_line else b"\r\n") for at, line in enumerate(lines))
    data = head + making.pick("head end", LINE_ENDS, b"\r\n")
    data += b"".join(making.chunks()) if is_chunked else making.body
    if "interim" in odd:
        between = making.pick("interim end", LINE_ENDS, b"\r\n\r\n")
        data = b"".join(chance.choice(INTERIM) + between for _ in range(chance.choice((1, 1, 2, 5)))) + data
    data = making.pick("before", (b"\r\n", b"\n", b"\r\n\r\n", b" ", b"\x00", b"X", b"\r"), b"") + data
    data += making.pick("surplus", SURPLUS, b"")
    return Case("HEAD" if chance.random() < 0.1 else "GET", _spoilt(chance, odd, data), chance.random() < 0.5)


def _spoilt(chance: Random, odd: set[str], data: bytes) -> bytes:
    """Cut the response, or change a byte of it."""
    if "cut" in odd:
        data = data[: chance.randrange(len(data) + 1)]
    if "noise" in odd and data:
        at = chance.randrange(min(len(data), 300))
        data = (
            data[:at]
            + chance.choice((b"", b"\x00", b" ", b"\r", b"\n", b":", b"\xff", b"0", data[at : at + 1] * 2))
            + data[at + 1 :]
        )
    return data


def split(data: bytes, chance: Random) -> list[bytes]:
    """Return the bytes in pieces of random sizes."""
    pieces, at = [], 0
    while at < len(data):
        piece = data[at : at + chance.choice((1, 1, 2, 3, 7, 40, 900))]
        pieces.append(piece)
        at += len(piece)
    return pieces

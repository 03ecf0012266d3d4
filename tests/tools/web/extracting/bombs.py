# ruff: noqa: T201 (a program that prints)
"""Pages that are built to cost a parser much, and a program that reads them all.

As a program it prints one JSON object a line: what each page cost the reactor's process and how it ended; at last what
that process has imported.
"""

from __future__ import annotations

import json
import sys
import time
import zlib
from typing import Any

HTML = "text/html"


def _attributes(count: int) -> bytes:
    return b"<p " + b" ".join(b'a%d="x"' % number for number in range(count)) + b">words</p>"


def _packed(piece: bytes, times: int) -> bytes:
    """What zlib makes of `piece`, `times` over, which is never made whole: a gigabyte costs five seconds to pack."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = 1
    for _ in range(times):
        checksum = zlib.adler32(piece, checksum)
    return b"\x78\xda" + block * times + b"\x03\x00" + checksum.to_bytes(4, "big")


def _pdf(content: bytes, filters: int = 1) -> bytes:
    """A PDF of one page, whose packed content is `content`."""
    names = b" ".join([b"/FlateDecode"] * filters)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Length %d/Filter[%s]>>stream\n%s\nendstream" % (len(content), names, content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    body, places = b"%PDF-1.4\n", []
    for number, value in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, value)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    table = b"xref\n0 6\n0000000000 65535 f \n" + table
    return body + table + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(body)


def small_pdf(words: str) -> bytes:
    return _pdf(zlib.compress(b"BT /F 12 Tf 1 0 0 1 0 0 Tm (%s) Tj ET" % words.encode()))


def operators() -> bytes:
    """A PDF that unpacks to 60 MB of operators."""
    return _pdf(_packed(b"(a) Tj " * 1_000_000, 9))


def bombs() -> tuple[tuple[str, str, bytes], ...]:
    """Name, type, body. Those of the reference first."""
    return (
        ("20,000 attributes in a tag", HTML, _attributes(20_000)),
        ("300,000 attributes in a tag", HTML, _attributes(300_000)),
        ("160,000 paragraphs", HTML, b"<p>x</p>" * 160_000),
        ("1,000 nested tags", HTML, b"<div>" * 1_000 + b"words"),
        ("1 MB of unclosed tags", HTML, b"<p><b><a href=x>" * 65_000),
        ("entities of entities in XML", "application/xml", b"<!DOCTYPE r [" + b"".join(
            b'<!ENTITY e%d "%s">' % (level, b"&e%d;" % (level - 1) * 10 if level else b"x" * 1000) for level in range(9)
        ) + b"]><rss><channel><item><title>&e8;</title></item></channel></rss>"),
        ("a PDF that unpacks to 60 MB of operators", "application/pdf", operators()),
        ("a PDF packed twice, to 1 GB", "application/pdf", _pdf(zlib.compress(_packed(b" " * 1_000_000, 1000)), 2)),
        ("90,000 paragraphs, which the pre-scan lets through", HTML, b"<p>words of a page</p>" * 90_000),
        ("2 million less-than signs", HTML, b"<" * 2_000_000),
        ("a JSON of 900,000 levels", "application/json", b"[" * 900_000),
    )  # fmt: skip


def main() -> None:
    """Print what each page cost."""
    from twisted.internet import reactor as real  # noqa: PLC0415, TID251  (the program's composition root)
    from twisted.internet.defer import Deferred  # noqa: PLC0415

    from mud_assistant.tools.web.errors import WebError  # noqa: PLC0415
    from mud_assistant.tools.web.extracting import Extractor  # noqa: PLC0415

    reactor: Any = real
    turns: list[float] = []
    turn = reactor.doIteration

    def timed(delay: float | None) -> None:
        before = time.thread_time()
        turn(delay)
        turns.append(time.thread_time() - before)

    reactor.doIteration = timed

    async def read_all() -> None:
        extractor = Extractor(reactor, reactor)
        for name, kind, body in (("a page", HTML, b"<p>words</p>"), *bombs()):
            turns.clear()
            before, wall = time.thread_time(), time.perf_counter()
            try:
                ended = f"{len((await extractor.extract(body, kind, '', 'http://bomb.example/')).markdown)} characters"
            except WebError as error:
                ended = f"{error.kind}: {error}"
            cost = {"whole_ms": (time.thread_time() - before) * 1e3, "turn_ms": max(turns, default=0.0) * 1e3}
            record = {"page": name, "ended": ended, "bytes": len(body), **cost, "s": time.perf_counter() - wall}
            print(json.dumps(record), flush=True)
        counts = {"started": extractor.counts.started, "killed": extractor.counts.killed}
        await extractor.stop()
        print(json.dumps({**counts, "modules": sorted({name.partition(".")[0] for name in sys.modules})}))

    def start() -> None:
        Deferred.fromCoroutine(read_all()).addErrback(lambda failure: failure.printTraceback()).addBoth(
            lambda _: reactor.stop()
        )

    reactor.callWhenRunning(start)
    reactor.run()


if __name__ == "__main__":
    main()

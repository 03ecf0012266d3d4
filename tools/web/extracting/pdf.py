"""Reads the text of a PDF within limits of time and pages. pypdf itself limits what a stream may unpack to."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING

from tools.web.extracting.extracted import Extracted, Flag, Unreadable

if TYPE_CHECKING:
    from pypdf import PdfReader


def read_pdf(body: bytes, *, max_pages: int, max_chars: int, is_late: Callable[[], bool]) -> Extracted:
    """Return the title and the text of the first pages, each under its number. Raises Unreadable, ImportError.

    No further page is begun once `is_late`.
    """
    from pypdf import PdfReader  # noqa: PLC0415  (only the worker has it)

    try:
        reader = PdfReader(io.BytesIO(body))
        title, parts, whole = _read(reader, max_pages, max_chars, is_late)
    except Unreadable:
        raise
    except ImportError as error:  # an optional part of pypdf, such as for AES
        raise Unreadable("it is encrypted") from error
    except (MemoryError, RecursionError) as error:
        raise Unreadable("it is built to cost too much") from error
    except Exception as error:  # pypdf raises KeyError, TypeError and others on a broken file
        raise Unreadable(f"it is not a sound PDF ({type(error).__name__})") from error
    if whole and not any(parts):
        raise Unreadable("it holds no text, likely only pictures of pages")
    text = "\n\n".join(f"## Page {number}\n\n{part.strip()}" for number, part in enumerate(parts, 1) if part.strip())
    return Extracted(title, text, frozenset() if whole else frozenset({Flag.PAGES_LEFT_OUT}))


def _read(
    reader: PdfReader, max_pages: int, max_chars: int, is_late: Callable[[], bool]
) -> tuple[str, list[str], bool]:
    """Return the title, the text of the first pages, and whether these are all pages."""
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("it needs a password")
    title = str((reader.metadata.title if reader.metadata else "") or "")
    parts: list[str] = []
    chars = 0
    for page in reader.pages:
        if len(parts) >= max_pages or chars > max_chars or (parts and is_late()):
            return title, parts, False
        parts.append(page.extract_text())
        chars += len(parts[-1])
    return title, parts, True

"""The text that comes out of a page, the error when none does, and the limits on what a page may cost."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Flag(StrEnum):
    """What a reader should know about an extracted text."""

    #: No main text was found, so this is all of the page, with its menus; it was probably built by scripts.
    WHOLE_BODY = "whole_body"
    #: The text was longer than the cap; its end is missing.
    CUT = "cut"
    #: The page has far more words than were taken as its text.
    SMALL_PART = "small_part"
    #: Bytes that are not valid in the page's character set were replaced.
    CHARACTERS_LOST = "characters_lost"
    #: A PDF had more pages than were read; the number of pages or the time ran out.
    PAGES_LEFT_OUT = "pages_left_out"


#: The flags in words for a model.
SENTENCES = {
    Flag.WHOLE_BODY: "No main text was found; this is everything on the page.",
    Flag.CUT: "The page is longer than what is read of one; its end is missing.",
    Flag.SMALL_PART: "This is a small part of the words on the page; lists, menus or other articles were left out.",
    Flag.CHARACTERS_LOST: "Some characters of the page could not be read and were replaced.",
    Flag.PAGES_LEFT_OUT: "Only the first pages of the document were read.",
}


class Unreadable(Exception):
    """Raised when a page cannot be read; the message is the end of "the page cannot be read: "."""


class Extracted(Struct, frozen=True):
    """A page as cleaned text, in Markdown where it had structure. All of it was written by strangers.

    `refresh` is where the page sends its readers by itself (`meta refresh`), as written there; empty when it does not.
    """

    title: str
    markdown: str
    flags: frozenset[Flag] = frozenset()
    refresh: str = ""


class ExtractLimits(Struct, frozen=True):
    """What one page may cost, in seconds, bytes and characters.

    `seconds` is the time for one page, both by the clock and of processor time. `start_seconds` is for the worker's
    start, `wait_seconds` for a page that waits its turn; at most `most_waiting` pages wait. The worker ends after
    `idle_seconds` without work, or after `pages_per_worker` pages.
    """

    seconds: float = 5.0
    start_seconds: float = 20.0
    wait_seconds: float = 30.0
    idle_seconds: float = 120.0
    memory_bytes: int = 768 * 1024 * 1024
    input_bytes: int = 2_000_000
    output_chars: int = 1_000_000
    pdf_pages: int = 200
    most_waiting: int = 16
    pages_per_worker: int = 500

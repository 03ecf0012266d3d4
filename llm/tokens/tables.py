"""Tokenizers for providers whose tables are public, by tiktoken: the extra `tokens`.

tiktoken fetches a missing table, so it is only given tables that were read here: the file that the settings name, or
one from tiktoken's own cache folder whose SHA-256 is right. Reading and building take half a second and 70 MB, once in
a process. Do it in another thread; tiktoken holds the interpreter for a sixth of a second of that time.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from hashlib import sha1, sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tiktoken import Encoding

#: How many characters the tokenizer is given at once: in the worst case its time grows faster than the text.
PIECE_CHARS = 4096
#: Bounds of a table; a real one has 200,000 lines and 4 MB.
MAX_BYTES = 64 * 1024 * 1024
_MAX_RANK = 2**31
_ORIGIN = "https://openaipublic.blob.core.windows.net/encodings"
#: Names of models that count with the older table. A vendor and a tuning may precede the name.
_OLDER = re.compile(r"(?:^|[/:])gpt-(?:4(?![.o])|3)")
#: Upper and lower case letters, by which the newer pattern separates words.
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SUFFIX = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"


class TableUnusable(Exception):
    """There is no table to count with. The message says why, and what to do."""


class Table(Struct, frozen=True):
    """A public table: its name, its SHA-256, and the pattern by which a text is split before the look-up."""

    name: str
    sha256: str
    pattern: str

    def cache_path(self, environment: Mapping[str, str]) -> Path:
        """Return the path where tiktoken keeps it."""
        given = (environment.get(name, "") for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"))
        folder = next(filter(None, given), "") or f"{gettempdir()}/data-gym-cache"
        return Path(folder) / sha1(f"{_ORIGIN}/{self.name}.tiktoken".encode(), usedforsecurity=False).hexdigest()


TABLES = {
    table.name: table
    for table in (
        Table(
            "o200k_base",
            "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
            "|".join(
                (
                    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_SUFFIX}",
                    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_SUFFIX}",
                    r"\p{N}{1,3}",
                    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                    r"\s*[\r\n]+",
                    r"\s+(?!\S)",
                    r"\s+",
                )
            ),
        ),
        Table(
            "cl100k_base",
            "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
            r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        ),
    )
}


class TableCounter:
    """A tokenizer that counts with one table."""

    def __init__(self, name: str, encoding: Encoding) -> None:
        self.name = name
        self._encoding = encoding

    def count(self, text: str) -> int:
        """Count the tokens of a text, in pieces, so that no text takes more than its share of time."""
        encode = self._encoding.encode_ordinary
        return sum(len(encode(text[at : at + PIECE_CHARS])) for at in range(0, len(text), PIECE_CHARS))


#: The counters of this process by name, pattern and SHA-256 of their table, and the lock for adding one.
_COUNTERS: dict[tuple[str, str, str], TableCounter] = {}
_LOADING = Lock()


def order_tables(names: Sequence[str], model: str) -> list[str]:
    """Return the names of tables, the one that fits the model first."""
    return sorted(names, key=lambda name: name != "cl100k_base") if _OLDER.search(model) else list(names)


def load_counter(names: Sequence[str], file: Path | None, environment: Mapping[str, str]) -> TableCounter:
    """Return the counter of the table in `file`, else of the first of these in tiktoken's cache. Never fetches one.

    A file that the owner names need not be a known table; one in the cache must be. Raises TableUnusable. Blocks.
    """
    if find_spec("tiktoken") is None:
        raise TableUnusable("the package tiktoken is not here: pip install 'mud-assistant[tokens]'")
    if file is not None:
        data = _read(file)
        digest = sha256(data).hexdigest()
        known = next((table for table in TABLES.values() if table.sha256 == digest), None)
        return _counter(data, digest, known.name if known else file.name, known or _alike(file))
    for table in (TABLES[name] for name in names):
        path = table.cache_path(environment)
        if not path.is_file():
            continue
        data = _read(path)
        if (digest := sha256(data).hexdigest()) != table.sha256:
            raise TableUnusable(f"{path} is not the table {table.name}: remove it and fetch it anew")
        return _counter(data, digest, table.name, table)
    raise TableUnusable(
        f"there is no table of tiktoken's in {TABLES[names[0]].cache_path(environment).parent}; to fetch it: "
        f"python -c \"import tiktoken; tiktoken.get_encoding('{names[0]}')\""
    )


def _alike(file: Path) -> Table:
    """Return the known table whose pattern goes with a file of this name."""
    return next((table for name, table in TABLES.items() if name in file.name), TABLES["o200k_base"])


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise TableUnusable(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise TableUnusable(f"{path} is no table of tokens: it is larger than {MAX_BYTES} bytes")
    return data


def _counter(data: bytes, digest: str, name: str, table: Table) -> TableCounter:
    key = (name, table.name, digest)
    with _LOADING:
        if key not in _COUNTERS:
            ranks = _ranks(data, name)
            from tiktoken import Encoding  # noqa: PLC0415  (only where the extra is installed, and never at start-up)

            encoding = Encoding(name, pat_str=table.pattern, mergeable_ranks=ranks, special_tokens={})
            _COUNTERS[key] = TableCounter(name, encoding)
        return _COUNTERS[key]


def _ranks(data: bytes, name: str) -> dict[bytes, int]:
    """Return the tokens of a table with their ranks. Raises TableUnusable, also for what would crash tiktoken."""
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), start=1):
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks[b64decode(token, validate=True)] = int(rank)
        except (ValueError, Base64Error) as error:
            raise TableUnusable(f"{name} is no table of tokens: see its line {number}") from error
    values = set(ranks.values())
    if len(values) < len(ranks) or not all(0 <= rank < _MAX_RANK for rank in values) or b"" in ranks:
        raise TableUnusable(f"{name} is no table of tokens: each has a number of its own")
    if any(bytes((byte,)) not in ranks for byte in range(256)):
        raise TableUnusable(f"{name} is no table of tokens: it lacks single bytes")
    return ranks

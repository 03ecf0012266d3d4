"""Tokenizers from tables on disk: small ones in tiktoken's format, made here; none is ever fetched."""

from __future__ import annotations

import sys
import time
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.llm import get_provider, user
from mud_assistant.llm.tokens.estimate import EXACT_BYTES, TokenEstimator
from mud_assistant.llm.tokens.tables import (
    PIECE_CHARS,
    TABLES,
    Table,
    TableCounter,
    TableUnusable,
    load_counter,
    order_tables,
)

WORDS = (b"he", b"hel", b"hell", b"hello", b" w", b" wo", b" wor", b" worl", b" world", b"aa", b"aaaa", b"  ")


def table(*more: bytes) -> bytes:
    """A table with all single bytes and some tokens beside, in tiktoken's format."""
    tokens = [bytes((byte,)) for byte in range(256)] + list(more or WORDS)
    return b"".join(b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))


def kept(folder: Path, data: bytes | None = None, name: str = "small.tiktoken") -> Path:
    path = folder / name
    path.write_bytes(table() if data is None else data)
    return path


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> TableCounter:
    pytest.importorskip("tiktoken")
    return load_counter(("o200k_base",), kept(tmp_path_factory.mktemp("tables")), {})


def test_a_table_that_is_named_counts(counter: TableCounter) -> None:
    assert counter.name == "small.tiktoken"
    assert (counter.count("hello world"), counter.count("world"), counter.count("")) == (2, 5, 0)


@given(text=st.text(max_size=3 * PIECE_CHARS))
def test_any_text_is_counted(counter: TableCounter, text: str) -> None:
    size = len(text.encode("utf-8", "replace"))
    assert size / 6 <= counter.count(text) <= size


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"no table", "see its line 1"),
        (b"aGU= x\n", "see its line 1"),
        (b"*** 1\n", "see its line 1"),
        (table().replace(b" 300\n", b""), ""),
        (b"\n".join(table().splitlines()[1:]), "it lacks single bytes"),
        (table() + b64encode(b"zz") + b" 3\n", "each has a number of its own"),
        (table() + b64encode(b"zz") + b" -3\n", "each has a number of its own"),
        (table() + b64encode(b"zz") + b" 99999999999\n", "each has a number of its own"),
        (b"", "it lacks single bytes"),
    ],
)
def test_what_tiktoken_would_crash_on_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    pytest.importorskip("tiktoken")
    path = kept(tmp_path, data)
    if not said:
        load_counter(("o200k_base",), path, {})
        return
    with pytest.raises(TableUnusable, match=said):
        load_counter(("o200k_base",), path, {})


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    pytest.importorskip("tiktoken")
    with pytest.raises(TableUnusable, match="cannot be read: No such file"):
        load_counter(("o200k_base",), tmp_path / "nothing", {})


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
def test_a_table_in_tiktokens_cache_is_used_when_its_hash_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    pytest.importorskip("tiktoken")
    known = Table("o200k_base", sha256(table()).hexdigest(), TABLES["o200k_base"].pattern)
    monkeypatch.setitem(TABLES, "o200k_base", known)
    environment = {variable: str(tmp_path)}
    with pytest.raises(TableUnusable, match="to fetch it: python -c"):
        load_counter(("o200k_base",), None, environment)
    path = known.cache_path(environment)
    assert path == tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790"
    path.write_bytes(table())
    assert load_counter(("cl100k_base", "o200k_base"), None, environment).name == "o200k_base"
    path.write_bytes(table(b"other"))
    with pytest.raises(TableUnusable, match="is not the table o200k_base: remove it and fetch it anew"):
        load_counter(("o200k_base",), None, environment)
    assert path.exists()


def test_without_the_package_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(TableUnusable, match=r"pip install 'mud-assistant\[tokens\]'"):
        load_counter(("o200k_base",), kept(tmp_path), {})


def test_the_hashes_places_and_patterns_are_tiktokens_own(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tiktoken")
    from tiktoken_ext import openai_public  # noqa: PLC0415  (only with the extra)

    asked: list[tuple[str, str]] = []

    def looked_up(url: str, expected_hash: str) -> Mapping[bytes, int]:
        asked.append((url.rpartition("/")[2], expected_hash))
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", looked_up)
    for name, known in TABLES.items():
        assert getattr(openai_public, name)()["pat_str"] == known.pattern
        assert asked.pop() == (f"{name}.tiktoken", known.sha256)


@pytest.mark.parametrize(
    ("model", "first"),
    [
        ("gpt-5", "o200k_base"),
        ("gpt-4o-mini", "o200k_base"),
        ("gpt-4.1", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("ft:gpt-3.5-turbo:x", "cl100k_base"),
        ("openai/gpt-4", "cl100k_base"),
        ("meta/llama-4", "o200k_base"),
    ],
)
def test_the_table_that_fits_the_model_comes_first(model: str, first: str) -> None:
    assert order_tables(("o200k_base", "cl100k_base"), model)[0] == first


def test_the_providers_count_as_their_documents_say(counter: TableCounter) -> None:
    for name in ("openai", "openrouter", "anthropic"):
        provider = get_provider(name, model="m")
        assert provider.token_tables
        assert provider.count_tokens("hello world") == 3  # 11 bytes of 3.8
        provider.tokens.use(counter)
        assert provider.count_tokens("hello world") == 2
        assert provider.count_tokens([user("hello world")]) > 2
    for name in ("ollama", "local"):
        assert get_provider(name, "http://127.0.0.1:1", "m").token_tables == ()
    assert get_provider("ollama").count_tokens("x" * 380) == 100
    assert get_provider("ollama").count_tokens("") == 0


def test_reported_usage_corrects_a_tokenizer(counter: TableCounter) -> None:
    tokens = TokenEstimator()
    tokens.use(counter)
    text = "hello world" * 200
    assert tokens.of_text(text) == 400
    for _ in range(30):
        tokens.of_request(text.encode())
        tokens.learn(len(text), 520)
    assert tokens.of_text(text) == pytest.approx(520, rel=0.02)
    assert tokens.of_bytes(len(text)) == pytest.approx(520, rel=0.02)
    assert tokens.mean_error < 0.05


def test_before_any_usage_a_request_is_estimated_by_what_was_counted(counter: TableCounter) -> None:
    tokens = TokenEstimator()
    tokens.use(counter)
    body = b"hello world" * 100
    assert tokens.of_request(body) == 200
    tokens.learn(len(body), 250)
    assert tokens.compared == 1
    assert tokens.mean_error == pytest.approx(0.2)


class Telling:
    """Counts a token a byte, and how much it was given."""

    name = "telling"

    def __init__(self) -> None:
        self.given = 0

    def count(self, text: str) -> int:
        self.given += len(text)
        return len(text) // 4


def test_only_so_much_is_counted_between_two_requests_and_the_rest_by_its_ratio() -> None:
    tokens, telling = TokenEstimator(), Telling()
    tokens.use(telling)
    pieces = [b"x" * 10_000] * 100
    assert tokens.of_pieces(pieces) == pytest.approx(250_000, rel=0.01)
    assert telling.given == EXACT_BYTES
    assert tokens.of_pieces([b"x" * 400]) == 100
    assert telling.given == EXACT_BYTES
    tokens.of_request(b"x" * 100_000)
    assert telling.given == EXACT_BYTES
    tokens.of_pieces([b"x" * 400])
    assert telling.given == EXACT_BYTES + 400


def test_a_request_is_not_counted_again_whatever_its_length() -> None:
    provider, telling = get_provider("openai", model="m"), Telling()
    provider.tokens.use(telling)
    told = [user(f"line {at} of a long talk") for at in range(1000)]
    provider.tokens.of_request(b"x" * 1000)
    provider.count_tokens(told[:20])
    before = telling.given
    for at in range(20, 200):
        provider.count_tokens(told[at : at + 1])
        provider.tokens.of_request(b"x" * 100 * at)
    assert telling.given - before < 180 * 80


@pytest.mark.parametrize("text", ["a" * 300_000, " " * 300_000, "\n \n" * 100_000, "漢" * 100_000, "Aa" * 150_000])
def test_the_worst_texts_cost_little_cpu(counter: TableCounter, text: str) -> None:
    """20 ms on the machine this was written on; the bound is what may not be reached on a slow one."""
    tokens = TokenEstimator()
    tokens.use(counter)
    began = time.thread_time()
    tokens.of_text(text)
    assert time.thread_time() - began < 0.25

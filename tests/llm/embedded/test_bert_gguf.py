"""A model written as GGUF is read back here by the letter of the format."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.llm.embedded.bert_gguf import BertShape, write_bert_gguf
from mud_assistant.llm.embedded.errors import BadModelFile
from mud_assistant.llm.embedded.gguf import read_strings
from tests.llm.embedded.stage import make_weights

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "cat", "##s"]
SHAPE = BertShape("tiny", heads=2, context_tokens=8)
_FORMS = {0: "<B", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q"}


@dataclass
class Reader:
    """A reader of what was written, with nothing from the product."""

    data: bytes
    at: int = 0

    def take(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def text(self) -> str:
        length = self.take("<Q")
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def value(self, kind: int) -> Any:
        if kind == 9:
            inner, count = self.take("<I"), self.take("<Q")
            return [self.value(inner) for _ in range(count)]
        return self.text() if kind == 8 else self.take(_FORMS[kind])

    def file(self) -> tuple[dict[str, Any], dict[str, tuple[list[int], int, bytes]]]:
        """The values of the header; and each tensor's shape, type and bytes."""
        assert (self.data[:4], self.data[4:8]) == (b"GGUF", struct.pack("<I", 3))
        self.at = 8
        tensors, keys = self.take("<Q"), self.take("<Q")
        values = {self.text(): self.value(self.take("<I")) for _ in range(keys)}
        listed = []
        for _ in range(tensors):
            name = self.text()
            shape = [self.take("<Q") for _ in range(self.take("<I"))]
            listed.append((name, shape, self.take("<I"), self.take("<Q")))
        base = -(-self.at // 32) * 32
        found = {}
        for name, shape, kind, offset in listed:
            assert offset % 32 == 0
            count = shape[0] * (shape[1] if shape[1:] else 1)
            size = count * 4 if kind == 0 else count // 32 * 34
            assert base + offset + size <= len(self.data)
            found[name] = (shape, kind, self.data[base + offset : base + offset + size])
        return values, found


def numbers_of(kind: int, data: bytes) -> list[float]:
    if kind == 0:
        return list(struct.unpack(f"<{len(data) // 4}f", data))
    blocks = (struct.unpack_from("<e32b", data, at) for at in range(0, len(data), 34))
    return [scale * value for scale, *block in blocks for value in block]


def written(tmp_path: Path, weights: bytes, words: list[str]) -> bytes:
    (tmp_path / "weights").write_bytes(weights)
    write_bert_gguf(tmp_path / "weights", words, SHAPE, tmp_path / "model.gguf", lambda _done, _total: None)
    return (tmp_path / "model.gguf").read_bytes()


def test_the_numbers_are_kept(tmp_path: Path) -> None:
    weights, given = make_weights()
    _, tensors = Reader(written(tmp_path, weights, WORDS)).file()

    pairs = {
        "embeddings.word_embeddings.weight": "token_embd.weight",
        "embeddings.position_embeddings.weight": "position_embd.weight",
        "embeddings.LayerNorm.bias": "token_embd_norm.bias",
        "encoder.layer.0.attention.self.query.weight": "blk.0.attn_q.weight",
        "encoder.layer.0.attention.output.dense.weight": "blk.0.attn_output.weight",
        "encoder.layer.0.intermediate.dense.weight": "blk.0.ffn_up.weight",
        "encoder.layer.0.output.dense.weight": "blk.0.ffn_down.weight",
        "encoder.layer.0.output.LayerNorm.weight": "blk.0.layer_output_norm.weight",
    }
    for name, told in pairs.items():
        shape, kind, data = tensors[told]
        read = numbers_of(kind, data)
        assert len(read) == len(given[name]), told
        most = max(map(abs, given[name])) / 127 * 0.51
        for number, wanted in zip(read, given[name], strict=True):
            assert abs(number - wanted) <= (most + abs(number) / 1000 if kind else 0), told
        assert kind == (8 if len(shape) > 1 and told != "position_embd.weight" else 0), told
    assert tensors["blk.0.ffn_down.weight"][0] == [64, 32]  # the shortest stride first
    assert not any("pooler" in name for name in tensors)


def test_the_header_says_what_the_server_must_know(tmp_path: Path) -> None:
    values, _ = Reader(written(tmp_path, make_weights()[0], WORDS)).file()

    assert values["general.architecture"] == values["tokenizer.ggml.model"] == "bert"
    assert (values["bert.block_count"], values["bert.embedding_length"], values["bert.feed_forward_length"]) == (
        1,
        32,
        64,
    )
    assert (values["bert.pooling_type"], values["bert.attention.causal"]) == (1, False)
    assert values["tokenizer.ggml.tokens"] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2581cat", "s"]
    assert values["tokenizer.ggml.token_type"] == [3, 3, 3, 3, 1, 1]


def test_our_own_reader_reads_it(tmp_path: Path) -> None:
    data = written(tmp_path, make_weights()[0], WORDS)
    assert read_strings(data, {"tokenizer.ggml.model"}) == {"tokenizer.ggml.model": "bert"}


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (make_weights()[0][:-4000], WORDS),
        (make_weights()[0][:40], WORDS),
        (make_weights()[0].replace(b'"F32"', b'"F16"'), WORDS),
        (struct.pack("<Q", 2) + b"{}", WORDS),
        (make_weights()[0], WORDS[:-1]),
    ],
    ids=["cut off", "cut off in the header", "other numbers", "no tensors", "other words"],
)
def test_what_is_no_such_model_is_refused(tmp_path: Path, weights: bytes, words: list[str]) -> None:
    with pytest.raises(BadModelFile):
        written(tmp_path, weights, words)

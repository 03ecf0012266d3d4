"""Writes a BERT model from its safetensors weights and its word list as a GGUF file that llama.cpp can serve.

Matrices become Q8_0: blocks of 32 numbers, one half-float scale and 32 signed bytes each. All else stays float32, as in
llama.cpp's own conversion. The result depends on nothing but the input, so it can be pinned by its SHA-256. This takes
seconds: it runs in a child process.
"""

from __future__ import annotations

import json
import mmap
import sys
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from struct import Struct, pack
from typing import Any, BinaryIO

import msgspec

from mud_assistant.llm.embedded.errors import BadModelFile
from mud_assistant.llm.embedded.gguf import MAGIC

BLOCK = 32
#: The numbers of a block have a sign and reach this.
_MOST = 127
_ALIGNMENT = 32
_F32, _Q8_0 = 0, 8
_MOSTLY_Q8_0, _QUANTIZATION_VERSION = 7, 2
_POOLING_MEAN = 1
_NORMAL, _CONTROL = 1, 3
_MAX_HEADER_BYTES = 16 * 1024 * 1024
#: A scale below this is 0 as a half float.
_LEAST_SCALE = 2.0**-24
_SCALE = Struct("<e32b")

#: The beginnings of a weight's name in safetensors, and what they are in GGUF.
_HEAD_NAMES = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.LayerNorm": "token_embd_norm",
}
_LAYER_NAMES = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
#: Tables that llama.cpp reads as float32 only.
_NEVER_PACKED = ("token_types", "position_embd")


class BertShape(msgspec.Struct, frozen=True):
    """What the weights do not say of themselves."""

    name: str
    heads: int
    context_tokens: int
    norm_epsilon: float = 1e-12


class _Weight(msgspec.Struct, frozen=True):
    """One tensor: its name in GGUF, its shape with the rows first, and where its numbers are."""

    name: str
    shape: tuple[int, ...]
    start: int
    end: int

    @property
    def is_packed(self) -> bool:
        is_matrix = len(self.shape) > 1 and self.shape[-1] % BLOCK == 0
        return is_matrix and not self.name.startswith(_NEVER_PACKED)

    @property
    def size_bytes(self) -> int:
        numbers = (self.end - self.start) // 4
        return numbers // BLOCK * _SCALE.size if self.is_packed else numbers * 4


def write_bert_gguf(
    weights: Path, words: Sequence[str], shape: BertShape, target: Path, progress: Callable[[int, int], None]
) -> None:
    """Write the GGUF file to `target`. `progress` is told how many bytes of how many are read.

    Raises BadModelFile when the weights are not whole, or not those of a BERT model.
    """
    with weights.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        found = _read_weights(data)
        with target.open("wb") as output:
            _write_header(output, found, words, shape)
            done, total = 0, sum(weight.end - weight.start for weight in found)
            for weight in found:
                _align(output)
                with memoryview(data)[weight.start : weight.end] as numbers:
                    output.write(_packed(numbers) if weight.is_packed else numbers)
                done += weight.end - weight.start
                progress(done, total)
            _align(output)


def _read_weights(data: mmap.mmap) -> list[_Weight]:
    """Return the tensors that llama.cpp needs, in the order of their names."""
    length = int.from_bytes(data[:8], "little")
    if length > min(len(data) - 8, _MAX_HEADER_BYTES):
        raise BadModelFile("the header of the weights is cut off")
    try:
        header = json.loads(data[8 : 8 + length])
        entries = {_gguf_name(name): entry for name, entry in header.items() if _gguf_name(name)}
        found = [_weight(name, entry, 8 + length, len(data)) for name, entry in sorted(entries.items())]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadModelFile("the header of the weights cannot be read") from error
    if not any(weight.name == "token_embd.weight" for weight in found):
        raise BadModelFile("the weights are not those of a BERT model")
    return found


# Any: JSON of a file.
def _weight(name: str, entry: dict[str, Any], base: int, size_bytes: int) -> _Weight:
    (start, end), shape, numbers = entry["data_offsets"], tuple(entry["shape"]), 1
    for length in shape:
        numbers *= length
    if entry["dtype"] != "F32" or not 0 <= start <= end <= size_bytes - base or end - start != numbers * 4:
        raise BadModelFile(f"the weights of {name} are not whole float32 numbers")
    return _Weight(name, shape, base + start, base + end)


def _gguf_name(name: str) -> str:
    """Return the name in GGUF, empty for a tensor that is not needed."""
    stem, _, kind = name.rpartition(".")
    if stem in _HEAD_NAMES:
        return f"{_HEAD_NAMES[stem]}.{kind}"
    head, _, rest = stem.removeprefix("encoder.layer.").partition(".")
    return f"blk.{head}.{_LAYER_NAMES[rest]}.{kind}" if head.isdigit() and rest in _LAYER_NAMES else ""


def _write_header(output: BinaryIO, weights: Sequence[_Weight], words: Sequence[str], shape: BertShape) -> None:
    sizes = {weight.name: weight.shape for weight in weights}
    rows, width = sizes["token_embd.weight"]
    if rows != len(words):
        raise BadModelFile(f"the word list has {len(words)} entries and the weights {rows}")
    layers = sum(name.endswith(".attn_q.weight") for name in sizes)
    values = (
        _text("general.architecture", "bert"),
        _text("general.name", shape.name),
        _number("general.file_type", _MOSTLY_Q8_0),
        _number("general.quantization_version", _QUANTIZATION_VERSION),
        _number("bert.block_count", layers),
        _number("bert.context_length", shape.context_tokens),
        _number("bert.embedding_length", width),
        _number("bert.feed_forward_length", sizes["blk.0.ffn_up.weight"][0]),
        _number("bert.attention.head_count", shape.heads),
        _number("bert.pooling_type", _POOLING_MEAN),
        _string("bert.attention.layer_norm_epsilon") + pack("<If", 6, shape.norm_epsilon),
        _string("bert.attention.causal") + pack("<IB", 7, 0),
        _text("tokenizer.ggml.model", "bert"),
        _number("tokenizer.ggml.token_type_count", sizes["token_types.weight"][0]),
        _string("tokenizer.ggml.tokens") + pack("<IIQ", 9, 8, rows) + b"".join(map(_string, map(_piece, words))),
        _string("tokenizer.ggml.token_type")
        + pack("<IIQ", 9, 5, rows)
        + b"".join(pack("<i", _CONTROL if _is_special(word) else _NORMAL) for word in words),
    )
    output.write(MAGIC + pack("<IQQ", 3, len(weights), len(values)))
    output.writelines(values)
    offset = 0
    for weight in weights:
        output.write(_string(weight.name) + pack(f"<I{len(weight.shape)}Q", len(weight.shape), *weight.shape[::-1]))
        output.write(pack("<IQ", _Q8_0 if weight.is_packed else _F32, offset))
        offset += -(-weight.size_bytes // _ALIGNMENT) * _ALIGNMENT


def _is_special(word: str) -> bool:
    return word in {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}


def _piece(word: str) -> str:
    """Return a word piece as llama.cpp writes it: what begins a word is marked, and what goes on is not."""
    if _is_special(word):
        return word
    return word[2:] if word.startswith("##") else f"\u2581{word}"


def _packed(numbers: memoryview) -> bytearray:
    """Return float32 numbers as blocks of Q8_0."""
    values = array("f", bytes(numbers))
    if sys.byteorder == "big":
        values.byteswap()
    packed, put = bytearray(len(values) // BLOCK * _SCALE.size), _SCALE.pack_into
    for number in range(len(values) // BLOCK):
        block = values[number * BLOCK : (number + 1) * BLOCK]
        scale = max(map(abs, block)) / _MOST
        if scale > _LEAST_SCALE:
            put(packed, number * _SCALE.size, scale, *[round(value / scale) for value in block])
    return packed


def _align(output: BinaryIO) -> None:
    output.write(bytes(-output.tell() % _ALIGNMENT))


def _string(text: str) -> bytes:
    encoded = text.encode()
    return pack("<Q", len(encoded)) + encoded


def _text(key: str, value: str) -> bytes:
    return _string(key) + pack("<I", 8) + _string(value)


def _number(key: str, value: int) -> bytes:
    return _string(key) + pack("<II", 4, value)

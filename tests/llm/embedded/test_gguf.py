from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.llm.embedded.errors import BadModelFile, UnknownTemplate
from mud_assistant.llm.embedded.gguf import CHAT_TEMPLATE, read_file_strings, read_strings, tool_template

NAME = "general.name"

#: The tool lines of the Qwen2.5 family's template, as they stand in the file.
FAMILY = (
    r"For each function call, return a json object with function name and arguments within <tool_call></tool_call> "
    r"XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call><|im_end|>\n"
    "\n"
    r"""{{- '\n<tool_call>\n{"name": "' }}{{- tool_call.name }}{{- '}\n</tool_call>' }}"""
)


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def entry(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def gguf(*entries: bytes, version: int = 3) -> bytes:
    return struct.pack("<4sIQQ", b"GGUF", version, 0, len(entries)) + b"".join(entries)


SMALL = gguf(
    entry("general.block_count", 4, struct.pack("<I", 24)),
    entry("tokens", 9, struct.pack("<IQ", 8, 2) + text("a") + text("bc")),
    entry("types", 9, struct.pack("<IQ", 5, 3) + bytes(12)),
    entry("bos", 7, b"\x00"),
    entry(NAME, 8, text("Tiny")),
    entry(CHAT_TEMPLATE, 8, text("{{ messages }} é")),
)


def test_reads_the_wanted_texts_past_numbers_and_lists() -> None:
    found = read_strings(SMALL, {CHAT_TEMPLATE, NAME})

    assert found == {NAME: "Tiny", CHAT_TEMPLATE: "{{ messages }} é"}


def test_leaves_out_what_is_not_there_and_what_is_no_text() -> None:
    assert read_strings(SMALL, {"nowhere", "bos", NAME}) == {NAME: "Tiny"}


@pytest.mark.parametrize("length", range(len(SMALL)))
def test_refuses_a_header_cut_anywhere(length: int) -> None:
    with pytest.raises(BadModelFile):
        read_strings(SMALL[:length], {CHAT_TEMPLATE})


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"PK\x03\x04" + bytes(100), id="another kind of file"),
        pytest.param(gguf(version=99), id="unknown version"),
        pytest.param(struct.pack("<4sIQQ", b"GGUF", 3, 0, 2**60), id="absurd number of entries"),
        pytest.param(gguf(struct.pack("<Q", 2**63) + b"k"), id="absurd key length"),
        pytest.param(gguf(entry(NAME, 8, struct.pack("<Q", 2**62))), id="absurd text length"),
        pytest.param(gguf(entry("list", 9, struct.pack("<IQ", 5, 2**61))), id="absurd list length"),
        pytest.param(gguf(entry("list", 9, struct.pack("<IQ", 8, 1) + b"\xff" * 8)), id="absurd item length"),
        pytest.param(gguf(entry("odd", 77, b"")), id="unknown type"),
        pytest.param(gguf(entry("nested", 9, struct.pack("<IQ", 9, 1) + bytes(64))), id="list of lists"),
        pytest.param(gguf(entry(NAME, 8, struct.pack("<Q", 1) + b"\xff")), id="not UTF-8"),
    ],
)
def test_refuses_what_is_malformed(data: bytes) -> None:
    with pytest.raises(BadModelFile):
        read_strings(data, {NAME})


@given(st.binary(max_size=400), st.booleans())
def test_raises_only_its_own_error_whatever_the_bytes(data: bytes, is_gguf: bool) -> None:
    if is_gguf:
        data = struct.pack("<4sI", b"GGUF", 3) + data
    try:
        read_strings(data, {NAME, CHAT_TEMPLATE})
    except BadModelFile:
        return


@given(st.integers(0, len(SMALL) - 1), st.binary(min_size=1, max_size=12))
def test_raises_only_its_own_error_when_a_good_file_is_damaged(at: int, damage: bytes) -> None:
    try:
        read_strings(SMALL[:at] + damage + SMALL[at + len(damage) :], {NAME, CHAT_TEMPLATE})
    except BadModelFile:
        return


def test_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(SMALL)

    assert read_file_strings(path, {NAME}) == {NAME: "Tiny"}


def test_says_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    empty = tmp_path / "empty.gguf"
    empty.touch()

    with pytest.raises(BadModelFile, match="empty"):
        read_file_strings(empty, {NAME})
    with pytest.raises(BadModelFile, match="no such file"):
        read_file_strings(tmp_path / "absent.gguf", {NAME})
    with pytest.raises(BadModelFile, match="cannot be read"):
        read_file_strings(tmp_path, {NAME})


def test_takes_the_tags_out_of_the_known_template() -> None:
    changed = tool_template(FAMILY)

    assert "tool_call>" not in changed
    assert r"function name and arguments and nothing else:\n{\"name\"" in changed
    assert r"""{{- '\n{"name": "' }}{{- tool_call.name }}{{- '}' }}""" in changed


@pytest.mark.parametrize("template", ["", "{{ messages }}", FAMILY + FAMILY, tool_template(FAMILY)])
def test_leaves_any_other_template_alone(template: str) -> None:
    with pytest.raises(UnknownTemplate):
        tool_template(template)

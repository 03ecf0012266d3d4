"""Whatever form a request has, the model that a provider reads in what is passed on is the one that was put there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
import pytest_twisted
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mud_assistant.assistant.gateway.http.strict_json import strict_json
from mud_assistant.llm.dialects.failures import RequestRefused
from mud_assistant.llm.dialects.passing import Passing
from mud_assistant.llm.forwarding import amended_body
from mud_assistant.llm.modes.mode import FieldOverride
from mud_assistant.llm.testing import Reply
from tests.assistant.gateway.asking import PATHS, ask
from tests.assistant.gateway.standing import standing
from tests.effort import times

READERS: list[Callable[[bytes], Any]] = [json.loads, orjson.loads, msgspec.json.decode]
_NAMES = ["model", "Model", "MODEL", "models", "mod", '"model":"x"', "metadata", "a\\", "\u200b", "temperature"]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(['"model":"wise"', "\\", ', "model": "wise"', "wise", "é😀"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def bodies(draw: st.DrawFn) -> tuple[bytes, dict[str, Any]]:
    """An object with one model, in any of the forms that JSON has for it."""
    others = draw(st.dictionaries(st.sampled_from(_NAMES).filter(lambda name: name != "model"), VALUES))
    asked = {**others, "model": draw(st.sampled_from(["wise", 'a"b', "", "wise\\"]))}
    names = draw(st.permutations(list(asked)))
    members = [f"{_text(draw, name)}{_blank(draw)}:{_blank(draw)}{_value(draw, asked[name])}" for name in names]
    inside = f"{_blank(draw)},{_blank(draw)}".join(members)
    return f"{_blank(draw)}{{{_blank(draw)}{inside}{_blank(draw)}}}{_blank(draw)}".encode(), asked


def _blank(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(["", "", " ", "\n\t", "\r\n  "]))


def _text(draw: st.DrawFn, text: str) -> str:
    """A string of JSON, in which any character may be written as an escape."""
    plain = [json.dumps(char)[1:-1] for char in text]
    written = [
        "".join(f"\\u{unit:04x}" for unit in _units(char)) if draw(st.integers(0, 3)) == 0 else known
        for char, known in zip(text, plain, strict=True)
    ]
    return f'"{"".join(written)}"'


def _units(char: str) -> list[int]:
    coded = char.encode("utf-16-be")
    return [int.from_bytes(coded[at : at + 2], "big") for at in range(0, len(coded), 2)]


def _value(draw: st.DrawFn, value: Any) -> str:
    if isinstance(value, str):
        return _text(draw, value)
    return json.dumps(value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1])))


#: Lets every name pass but those that are `model` in other capitals.
PASSING = Passing(frozenset(name for name in _NAMES if name.casefold() != "model"))


def read_in_any_capitals(body: bytes) -> Any:
    """The model as servers written in Go find it: capitals do not matter, and the last member counts."""
    return [value for name, value in json.loads(body, object_pairs_hook=list) if name.casefold() == "model"][-1]


@given(made=bodies())
def test_what_passes_has_one_model_for_a_reader_to_whom_capitals_are_the_same(
    made: tuple[bytes, dict[str, Any]],
) -> None:
    body, asked = made
    has_another = bool({"Model", "MODEL"} & {*asked})
    try:
        PASSING.check("ollama", strict_json(body))
    except RequestRefused:
        assert has_another
    else:
        assert not has_another
        assert read_in_any_capitals(amended_body(body, strict_json(body), "sage", ())[0]) == "sage"


@settings(max_examples=times(60), deadline=None)
@example(
    made=(b'{"temperature":null,"model":"wise"}', {"temperature": None, "model": "wise"}),
    model="sage",
    has_override=True,
)
@given(made=bodies(), model=st.sampled_from(["sage", 'gpt"4', "wise"]), has_override=st.booleans())
def test_every_reader_finds_the_model_that_was_put_there(
    made: tuple[bytes, dict[str, Any]], model: str, *, has_override: bool
) -> None:
    body, asked = made
    overrides = (FieldOverride("temperature"),) if has_override else ()
    sent, amended = amended_body(body, strict_json(body), model, overrides)
    expected = {**asked, "model": model}
    if has_override and asked.get("temperature") is not None:  # a null says nothing that could be refused
        assert amended == ("temperature",)
        del expected["temperature"]
    for read in READERS:
        assert read(sent) == expected
    if not amended:  # nothing but the one value was touched
        before = json.loads(body, object_pairs_hook=list)
        after = json.loads(sent, object_pairs_hook=list)
        assert after == [(name, model if name == "model" else value) for name, value in before]


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        (b'{"mod\\u0065l":"wise","metadata":{"model":"x"}}', b'{"mod\\u0065l":"sage","metadata":{"model":"x"}}'),
        (b'{"a":"\\"model\\":\\"x\\"", "model" : "wi\\u0073e"}', b'{"a":"\\"model\\":\\"x\\"", "model" : "sage"}'),
        (b'{"a":[{"model":"wise"}],"model":"wise"}', b'{"a":[{"model":"wise"}],"model":"sage"}'),
        (b'{"model":"one","model":"wise"}', b'{"model":"sage"}'),  # refused before it comes here
    ],
)
def test_forms_in_which_it_may_stand(body: bytes, sent: bytes) -> None:
    assert amended_body(body, orjson.loads(body), "sage", ())[0] == sent


@pytest_twisted.ensureDeferred
async def test_a_name_in_escapes_leads_past_no_alias(tmp_path: Path) -> None:
    """`gpt-4o-mini` is a name of the gateway's own model, and at the provider one that costs much."""
    sent = b'{"mod\\u0065l":"gpt-4o-mini","messages":[{"role":"user","content":"Hi"}],"metadata":{"model":"x"}}'
    async with standing(tmp_path, [Reply("Here.")]) as gateway:
        assert (await ask(gateway, PATHS["chat"], sent)).status == 200
        (request,) = gateway.fake.chats
        assert request.body["model"] == "sage"
        assert request.body["metadata"] == {"model": "x"}

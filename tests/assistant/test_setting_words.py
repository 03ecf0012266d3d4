"""Every setting is explained, and read as people type it; no sentence of the validator's is shown."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mud_assistant.assistant.config.known_providers import takers, takes
from mud_assistant.assistant.config.options import Option, shown_options, web_options, with_option, with_web_option
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.settings import SettingsError

OPTIONS = shown_options(Config(), {})
WEB = web_options(Config(), {})
#: What pydantic says, and what only a programmer reads.
FOREIGN = re.compile(
    r"(?i)input should|valid (?:string|integer|number|dictionary|tuple)|pydantic|\^|\\w|type=|Extra inputs"
)


def set_one(option: Option, text: str) -> dict[str, Any]:
    if option in WEB:
        return with_web_option({}, option.name, text)
    table, _, field = option.name.rpartition(".")
    takes_it = takers(field) if table == "model" and not takes("auto", field) else ()
    return with_option({"model": {"provider": takes_it[0]}} if takes_it else {}, option.name, text)


@pytest.mark.parametrize("option", [*OPTIONS, *WEB], ids=lambda option: str(option.name))
def test_every_option_has_a_meaning_a_default_and_an_example_that_is_taken(option: Option) -> None:
    assert option.meaning.endswith((".", ":")), f"write a comment with #: above the field {option.name}"
    assert option.allowed
    assert option.default
    assert option.example, f"give {option.name} an example in options.py"
    set_one(option, option.example)


@pytest.mark.parametrize("option", [*OPTIONS, *WEB], ids=lambda option: str(option.name))
@pytest.mark.parametrize("text", ["-7", "999999999999", "many", "{", "[1, [2]]", "= = =", "x" * 9000, "\x00"])
def test_whatever_is_typed_the_answer_is_in_our_words(option: Option, text: str) -> None:
    try:
        set_one(option, text)
    except SettingsError as error:
        said = str(error)
        assert not FOREIGN.search(said), said
        assert f"as in: {option.name.rpartition('.')[2]} = {option.example}" in said


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("aliases", "old one, wizard", ["old one", "wizard"]),
        ("aliases", '["old one", "wizard"]', ["old one", "wizard"]),
        ("aliases", "'old one' , wizard,", ["old one", "wizard"]),
        ("aliases", "none", []),
        ("required_permission", "move 0, say 1", {"move": 0, "say": 1}),
        ("required_permission", "move = 0, say: 1", {"move": 0, "say": 1}),
        ("required_permission", "{ move = 0 }", {"move": 0}),
        ("model.prices", "input 0.8, output 4", {"input": 0.8, "output": 4.0}),
        ("model.think", "Yes", True),
        ("speak_early", "off", False),
        ("model.temperature", "none", None),
        ("room_speech", "Trig", "trigger"),
        ("run_seconds", "90 s", 90.0),
        ("run_seconds", "90 seconds", 90.0),
        ("max_run_tokens", "80,000 tokens", 80_000),
        ("persona", "You know {this}, [that] = 1.", "You know {this}, [that] = 1."),
        ("fallback_line", "7", "7"),
    ],
)
def test_values_are_read_as_people_type_them(name: str, typed: str, value: object) -> None:
    table, _, field = name.rpartition(".")
    assert with_option({}, name, typed) == {table or "assistant": {field: value}}


def test_a_value_is_shown_as_it_would_be_typed() -> None:
    own: dict[str, Any] = {}
    for name, typed in (
        ("aliases", "old one, wizard"),
        ("required_permission", "move 0, say 1"),
        ("speak_early", "no"),
    ):
        own = with_option(own, name, typed)
    shown = {option.name: option.value for option in shown_options(Config.model_validate(own), own)}
    assert (shown["aliases"], shown["required_permission"], shown["speak_early"]) == (
        "old one, wizard",
        "move 0, say 1",
        "no",
    )

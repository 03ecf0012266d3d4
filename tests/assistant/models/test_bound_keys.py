"""A key goes to the servers it was given for and to no other, over restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.config.sections import WebProviderConfig
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.keys.binding import KeyBinding
from mud_assistant.assistant.models.bound_keys import BoundKeys, binding_of, binding_of_provider

OPENAI = ModelConfig(provider="openai", model="m", key="env:K")
PROXY = ModelConfig(provider="openai", model="m", key="env:K", url="https://proxy.example/v1")


def admitted(keys: BoundKeys, *configs: ModelConfig, entered: tuple[str, ...] = ()) -> BoundKeys:
    keys.admit([binding for config in configs if (binding := binding_of(config))], entered)
    return BoundKeys(keys.remembered)


def test_a_key_goes_to_its_providers_usual_place() -> None:
    assert binding_of(OPENAI) == KeyBinding("env:K", "https://api.openai.com")
    assert binding_of(ModelConfig(key="env:K")) == KeyBinding("env:K", "http://127.0.0.1:11434")
    assert binding_of(ModelConfig(provider="openai")) is None
    assert binding_of(ModelConfig(provider="embedded", key="env:K")) is None
    assert binding_of(ModelConfig(provider="nobody", key="env:K")) is None
    assert binding_of(ModelConfig(provider="local", key="env:K")) is None


def test_a_changed_address_voids_the_key_until_it_is_named_on_the_command_line() -> None:
    keys = admitted(BoundKeys(), OPENAI)
    keys.check(OPENAI)
    again = admitted(keys, PROXY)
    with pytest.raises(KeyReferenceError, match=r"given for https://api.openai.com .* --key env:K"):
        again.check(PROXY)
    entered = admitted(again, PROXY, entered=("env:K",))
    entered.check(PROXY)
    with pytest.raises(KeyReferenceError):
        entered.check(OPENAI)


def test_settings_that_send_one_key_to_two_servers_at_first_go_on_doing_so() -> None:
    keys = admitted(BoundKeys(), OPENAI, PROXY)
    keys.check(OPENAI)
    keys.check(PROXY)
    keys = admitted(keys, OPENAI, PROXY, entered=("env:K",))
    keys.check(OPENAI)
    keys.check(PROXY)


def test_a_key_with_another_name_is_new() -> None:
    keys = admitted(admitted(BoundKeys(), OPENAI), PROXY.model_copy(update={"key": "env:NEW"}))
    keys.check(PROXY.model_copy(update={"key": "env:NEW"}))


def test_without_a_memory_every_key_goes_where_the_settings_say() -> None:
    BoundKeys().check(OPENAI)
    BoundKeys().check(PROXY)


def test_a_key_file_is_one_file_however_it_is_named(tmp_path: Path) -> None:
    relative = OPENAI.model_copy(update={"key": "file:keys/openai"})
    absolute = OPENAI.model_copy(update={"key": f"file:{tmp_path}/keys/openai"})
    assert binding_of(relative, tmp_path) == binding_of(absolute, Path("/elsewhere"))
    assert binding_of(relative, tmp_path) != binding_of(relative, tmp_path / "other")


def test_keys_of_the_web_are_bound_as_well() -> None:
    tavily = WebProviderConfig(key="env:T")
    assert binding_of_provider("tavily", tavily) == KeyBinding("env:T", "https://api.tavily.com")
    assert binding_of_provider("searxng", WebProviderConfig()) is None
    keys = BoundKeys()
    keys.admit([KeyBinding("env:T", "https://api.tavily.com")])
    moved = tavily.model_copy(update={"url": "https://evil.example"})
    with pytest.raises(KeyReferenceError, match=r"given for https://api\.tavily\.com"):
        keys.check_binding(binding_of_provider("tavily", moved))

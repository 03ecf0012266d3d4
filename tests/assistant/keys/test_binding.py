from __future__ import annotations

import pytest

from mud_assistant.assistant.keys.binding import Bound, KeyBinding, Unbound, Voided, binding_state, rebind

OPENAI = KeyBinding.of("env:K", "https://api.openai.com/v1")


def test_a_binding_is_for_an_origin_whatever_the_path() -> None:
    assert KeyBinding("env:K", "https://api.openai.com") == OPENAI
    assert KeyBinding.of("env:K", "https://API.openai.com/other?x=1") == OPENAI


def test_a_new_reference_is_to_be_remembered() -> None:
    assert binding_state("env:K", OPENAI.origin, ()) == Unbound(OPENAI)
    assert binding_state("env:K", OPENAI.origin, [KeyBinding("env:OTHER", OPENAI.origin)]) == Unbound(OPENAI)


def test_a_remembered_binding_holds_and_no_key_needs_none() -> None:
    assert binding_state("env:K", OPENAI.origin, [OPENAI]) == Bound()
    assert binding_state("", "http://anywhere", [OPENAI]) == Bound()


@pytest.mark.parametrize(
    "url",
    ["https://api.openai.com.evil.example", "http://api.openai.com", "https://api.openai.com:444", "https://u@evil"],
)
def test_a_changed_origin_voids_it_until_it_is_entered_again(url: str) -> None:
    wanted = KeyBinding.of("env:K", url)
    state = binding_state("env:K", wanted.origin, [OPENAI])
    assert state == Voided(wanted, (OPENAI.origin,))
    assert "is not sent to" in str(state)
    remembered = rebind(wanted, [OPENAI, KeyBinding("env:OTHER", OPENAI.origin)])
    assert binding_state("env:K", wanted.origin, remembered) == Bound()
    assert isinstance(binding_state("env:K", OPENAI.origin, remembered), Voided)
    assert isinstance(binding_state("env:OTHER", OPENAI.origin, remembered), Bound)


def test_one_key_may_be_remembered_for_several_origins() -> None:
    proxy = KeyBinding.of("env:K", "http://127.0.0.1:4000")
    both = [OPENAI, proxy]
    assert binding_state("env:K", proxy.origin, both) == binding_state("env:K", OPENAI.origin, both) == Bound()
    told = str(binding_state("env:K", "http://evil.example", both))
    assert "http://127.0.0.1:4000 and https://api.openai.com" in told

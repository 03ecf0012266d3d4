"""What the questions ask for is what the providers need, and a new provider is asked for without a word here."""

from __future__ import annotations

import pytest

from mud_assistant.assistant.models.bound_keys import usual_url
from mud_assistant.assistant.surfaces.setup.searching import needs_of
from mud_assistant.tools.web import READ_PROVIDERS, SEARCH_PROVIDERS, registry


@pytest.mark.parametrize("name", sorted({*SEARCH_PROVIDERS, *READ_PROVIDERS}))
def test_every_provider_of_the_settings_is_asked_for_what_it_cannot_do_without(name: str) -> None:
    needs = needs_of(name)
    maker = {**registry.SEARCH_PROVIDERS, **registry.READ_PROVIDERS}.get(name)
    if maker is not None:
        assert (needs.key, needs.url is not None) == (maker.needs_key, maker.needs_url)


def test_a_key_that_leaves_has_an_address_to_be_bound_to() -> None:
    names = {*SEARCH_PROVIDERS, *READ_PROVIDERS}
    taking = {name for name in names if needs_of(name).key or needs_of(name).may_have_key}
    assert {name for name in taking if not usual_url(name) and needs_of(name).url is None} == set()
    assert usual_url("brave") == "https://api.search.brave.com/res/v1"
    assert usual_url("jina") == "https://r.jina.ai"

"""Lists the providers that an owner can choose, and what the settings must know of each.

The facts come from the provider classes (`llm/providers/provider.py`). Two names stand for a choice that is made here:
"auto" for an Ollama, another server of the owner's or the embedded model, and "embedded" for the bundled model.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from mud_assistant.assistant.errors import did_you_mean
from mud_assistant.llm.embedded.fetching.hub_name import is_hub_name
from mud_assistant.llm.errors import BadCredential, LLMError, Unavailable
from mud_assistant.llm.messages import JSONObject
from mud_assistant.llm.providers import LocalProvider, OllamaProvider, provider_classes
from mud_assistant.llm.providers.provider import LLMProvider

AUTO, EMBEDDED = "auto", "embedded"
#: The provider whose server "auto" looks for first, and the one for any other server of the owner's.
LOOKED_FOR, ANY_SERVER = OllamaProvider.name, LocalProvider.name
#: The names that are no provider's own, with what they mean.
_CHOSEN_HERE = {
    AUTO: "a local Ollama when one answers, else the small model that comes along",
    EMBEDDED: "the small model that comes along",
}
#: The providers that each of those names may lead to.
_STANDS_FOR = {AUTO: (LOOKED_FOR, ANY_SERVER), EMBEDDED: (ANY_SERVER,)}


def known_names() -> tuple[str, ...]:
    """Return every name that can be chosen, those of the owner's own servers first."""
    classes = provider_classes()
    own = [name for name in classes if not classes[name].hosted]
    return (*_CHOSEN_HERE, *own, *(name for name in classes if classes[name].hosted))


def is_embedded(provider: str, model: str, url: str = "") -> bool:
    """Tell whether these settings mean the embedded model, whatever servers there are."""
    if provider != AUTO or url:
        return provider == EMBEDDED
    from mud_assistant.llm.embedded.fetching.models import MODELS  # noqa: PLC0415  (the models that come along, only for "auto")

    return model in MODELS or model.endswith(".gguf") or is_hub_name(model)


def about(name: str) -> str:
    """Describe a provider in one line."""
    if name in _CHOSEN_HERE:
        return _CHOSEN_HERE[name]
    provider = provider_classes()[name]
    return provider.about or ("on the internet, with a key" if provider.hosted else "a server of yours")


def no_such_provider(name: str) -> str:
    """Return the error sentence for a name that no provider has."""
    meant = did_you_mean(name, known_names())
    known = f"choose one of: {', '.join(sorted(known_names()))}"
    return f"there is no provider '{name}'; {meant} {known}" if meant else f"there is no provider '{name}'; {known}"


def is_hosted(name: str) -> bool:
    """Tell whether this is a service on the internet, which needs a key and the name of a model."""
    return any(provider.hosted for provider in _classes(name))


def usual_key(name: str) -> str:
    """Return the usual reference to the key of a provider."""
    return f"env:{usual_key_variable(name)}"


def usual_key_variable(name: str) -> str:
    """Return the environment variable that usually holds the key of a provider."""
    known = provider_classes().get(name)
    return (known and known.key_variable) or f"{name.upper().replace('-', '_')}_API_KEY"


def needs_prices(name: str) -> bool:
    """Tell whether a call costs money that the provider does not report."""
    return any(provider.hosted and not provider.reports_cost for provider in _classes(name))


def takes(name: str, setting: str) -> bool:
    """Tell whether a provider takes a setting that not all take. A name that no provider has takes any."""
    classes = _classes(name)
    return not classes or any(setting in provider.settings for provider in classes)


def takers(setting: str) -> list[str]:
    """Return the names that take a setting."""
    return [name for name in known_names() if takes(name, setting)]


def special_settings() -> frozenset[str]:
    """Return the settings of a model that not every provider takes."""
    return frozenset(setting for provider in provider_classes().values() for setting in provider.settings)


def left_behind(name: str, settings: Collection[str]) -> list[str]:
    """Return those of these settings that the provider `name` does not take."""
    return [setting for setting in settings if setting in special_settings() and not takes(name, setting)]


def holds(name: str, form: str) -> bool:
    """Tell whether a server of this name can hold an answer to a form; see `LLMProvider.forms`.

    A name that no provider has counts as one that can.
    """
    classes = _classes(name)
    return not classes or any(form in provider.forms for provider in classes)


def holders(form: str) -> list[str]:
    """Return the names whose servers can hold an answer to a form."""
    return [name for name in known_names() if holds(name, form)]


def server_tools_of(name: str) -> Mapping[str, JSONObject]:
    """Return the server tools of a provider by their short names."""
    return {short: tool for provider in _classes(name) for short, tool in provider.server_tools.items()}


# Any: options of a constructor, each of its own type.
def constructor_options(provider: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the constructor of `provider` takes from these settings, without those not set."""
    if (known := provider_classes().get(provider)) is None:
        return {}
    told = {option: settings.get(setting) for setting, option in known.settings.items() if option}
    if known.context_option:
        told[known.context_option] = settings.get("context_tokens")
    return {option: value for option, value in told.items() if value not in (None, "", ())}


def _classes(name: str) -> list[type[LLMProvider]]:
    """Return the classes behind a name, none for an unknown name."""
    classes = provider_classes()
    return [classes[real] for real in _STANDS_FOR.get(name, (name,)) if real in classes]


def has_model(names: Collection[str], model: str) -> bool:
    """Tell whether the list holds the model. Ollama's names carry a tag that defaults to latest."""
    return model in names or f"{model}:latest" in names


def no_such_model(what: str, url: str, model: str, names: list[str]) -> str:
    """Say that a server lacks the model, and name those it has."""
    there = ", ".join(names[:10]) or "none at all"
    return f"{what} at {url} has no model '{model}'; it has: {there}"


def why_unusable(error: LLMError, url: str, remedy: str) -> str:
    """Say in one sentence why a server cannot be used, with what to do."""
    if isinstance(error, BadCredential):
        return f"the server at {url} refused the key: give the right one with --key env:NAME"
    if isinstance(error, Unavailable):
        return f"{error.message}; {remedy}, or give another address with --url"
    return f"the server at {url} cannot be used: {error.message}"

"""`__all__` of each package is what it says: sorted, complete, importable."""

from __future__ import annotations

import importlib

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "mud_assistant.llm",
        "mud_assistant.llm.testing",
        "mud_assistant.resilience",
        "mud_assistant.resilience.testing",
        "mud_assistant.tools",
        "mud_assistant.tools.verbs",
        "mud_assistant.assistant.journal",
    ],
)
def test_every_public_name_exists_once(name: str) -> None:
    package = importlib.import_module(name)
    names = package.__all__
    assert len(names) == len(set(names))
    assert [public for public in names if not hasattr(package, public)] == []


@pytest.mark.parametrize(
    "name", ["UnifiedLLMClient", "get_provider", "LLMProvider", "LLMResponse", "ToolCall", "RateLimitInfo"]
)
def test_the_contracts_names_are_public(name: str) -> None:
    assert name in importlib.import_module("mud_assistant.llm").__all__


@pytest.mark.parametrize(
    "method",
    [
        "build_request",
        "build_headers",
        "parse_response",
        "parse_rate_limit_headers",
        "parse_error_response",
        "count_tokens",
        "format_tool_result",
        "supports_tools",
        "get_api_url",
    ],
)
def test_a_provider_has_the_contracts_methods(method: str) -> None:
    assert callable(getattr(importlib.import_module("mud_assistant.llm").LLMProvider, method))


def test_importing_the_packages_takes_no_reactor() -> None:
    """Which reactor runs is the host's choice."""
    import subprocess  # noqa: PLC0415
    import sys  # noqa: PLC0415

    code = (
        "import sys, mud_assistant.assistant.loop.react, mud_assistant.assistant.surfaces.trial.run;"
        "import mud_assistant.llm, mud_assistant.tools.verbs, mud_assistant.resilience;"
        "sys.exit('twisted.internet.reactor' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

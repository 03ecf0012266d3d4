"""Which peers the product is measured beside. None of them is imported here, and any may be missing."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """A peer: its package, the module that must be there, and the module and function here that make its work."""

    package: str
    module: str
    maker: tuple[str, str]


PEERS = {
    "aiohttp": Known("aiohttp", "aiohttp", ("benchmarks.peer_work", "of_aiohttp")),
    "openai": Known("openai", "openai", ("benchmarks.peer_work", "of_openai")),
    "litellm": Known("litellm", "litellm", ("benchmarks.peer_work", "of_litellm")),
    "pydantic-ai": Known("pydantic-ai-slim", "pydantic_ai", ("benchmarks.peer_frameworks", "of_pydantic_ai")),
    "openai-agents": Known("openai-agents", "agents", ("benchmarks.peer_frameworks", "of_openai_agents")),
    "langchain": Known("langchain", "langchain_openai", ("benchmarks.peer_frameworks", "of_langchain")),
}


def present() -> list[str]:
    """The peers that are installed."""
    return [name for name, peer in PEERS.items() if importlib.util.find_spec(peer.module) is not None]

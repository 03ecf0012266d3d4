"""Defines the arguments of `mud-assistant gateway`. Imports nothing else of ours."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

GATEWAY_EXAMPLES = """  mud-assistant gateway
      other programs on this machine may use the model of assistant.toml, at http://127.0.0.1:8420/v1
  mud-assistant gateway --provider ollama --model qwen3:4b
  mud-assistant gateway keys add anna --calls-per-day 200
      from now on only who shows a key is answered; this one is shown once
  curl -s http://127.0.0.1:8420/v1/chat/completions -H 'Content-Type: application/json' \\
      -d '{"model": "assistant", "messages": [{"role": "user", "content": "Hello"}]}'"""


# Any: argparse has no public name for the class.
def add_gateway(commands: Any, add_keys: Callable[[Any], None], port: Callable[[str], int]) -> argparse.ArgumentParser:
    """Add the command to the parsers of commands, and return its parser. `add_keys` adds what is done with keys."""
    gateway: argparse.ArgumentParser = commands.add_parser(
        "gateway",
        help="let other programs use your models, through one address",
        description="Answers requests of other programs in the dialects of OpenAI (Chat Completions and Responses), "
        "Anthropic and Ollama, with the models of the settings: the keys, budgets, retries and fallbacks are the same "
        "as for the assistants. Without [gateway.models] it offers the assistants' own model as 'assistant'. Only "
        "this machine can connect, unless [gateway] interface says otherwise.",
        epilog=f"examples:\n{GATEWAY_EXAMPLES}\n\n"
        "docs/gateway.md has the lines for aider, opencode, codex, llm, LangChain, the Vercel AI SDK and Open WebUI.\n"
        "Exit status: 0 after Ctrl-C, 2 when something kept it from starting.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    gateway.add_argument("--config", type=Path, metavar="FILE", help="settings (default: assistant.toml, if there)")
    gateway.add_argument(
        "--port", dest="gateway", type=port, metavar="N", help="the port (default: 8420); 0: any free one"
    )
    gateway.add_argument("--log", type=Path, metavar="FILE", help="write the log to a file")
    add_keys(gateway.add_subparsers(dest="part", metavar="keys"))
    return gateway

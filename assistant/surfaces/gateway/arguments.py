"""Defines the arguments of `mud-assistant gateway` and its keys. Imports nothing else of ours."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import date
from math import inf
from pathlib import Path
from typing import Any

GATEWAY_EXAMPLES = """  mud-assistant gateway
      other programs on this machine may use the model of assistant.toml, at http://127.0.0.1:8420/v1
  mud-assistant gateway --provider ollama --model qwen3:4b
  mud-assistant gateway keys add anna --calls-per-day 200
      from now on only who shows a key is answered; this one is shown once
  curl -s http://127.0.0.1:8420/v1/chat/completions -H 'Content-Type: application/json' \\
      -d '{"model": "assistant", "messages": [{"role": "user", "content": "Hello"}]}'"""

KEYS_EXAMPLES = """  mud-assistant gateway keys add laptop --money-per-day 1.50 --note "Ann's editor"
      makes a key and shows its secret, once: the file keeps only what proves it
  mud-assistant gateway keys add school --models small --calls-per-day 500 --tokens-per-month 2000000 \\
      --expires 2027-01-31
  mud-assistant gateway keys list
  mud-assistant gateway keys show laptop
      what it may do, and what it used today and this month
  mud-assistant gateway keys revoke laptop
      it is not taken any more, also by a gateway that runs: within a second"""

#: What is limited, the type of the limit, and what is said of it in the help.
_LIMITS = (("calls", "calls to models"), ("tokens", "tokens, those of the prompt too"), ("money", "money"))


# Any: argparse has no public name for the class.
def add_gateway(commands: Any, port: Callable[[str], int]) -> argparse.ArgumentParser:
    """Add the command to the parsers of commands, and return its parser."""
    gateway: argparse.ArgumentParser = commands.add_parser(
        "gateway",
        help="let other programs use your models, through one address",
        description="Answers requests of other programs in the dialects of OpenAI (Chat Completions and Responses), "
        "Anthropic and Ollama, with the models of the settings: the keys, budgets, retries and fallbacks are the same "
        "as for the assistants. Without [gateway.models] it offers the assistants' own model as 'assistant'. Only "
        "this machine can connect, unless [gateway] interface says otherwise.",
        epilog=f"examples:\n{GATEWAY_EXAMPLES}\n\n"
        "docs/gateway.md has the lines for aider, opencode, codex, llm, LangChain, the Vercel AI SDK and Open WebUI.\n"
        "Exit status: 0 after Ctrl-C and SIGTERM; 75 when trying again may help, 77 for what this user may "
        "not do, 78 when the settings must be changed, 64 for a wrong command line.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    gateway.add_argument("--config", type=Path, metavar="FILE", help="settings (default: assistant.toml, if there)")
    gateway.add_argument(
        "--port", dest="gateway", type=port, metavar="N", help="the port (default: 8420); 0: any free one"
    )
    gateway.add_argument("--log", type=Path, metavar="FILE", help="write the log to a file; -: to standard error")
    _add_keys(gateway.add_subparsers(dest="part", metavar="keys"))
    return gateway


# Any: as above.
def _add_keys(commands: Any) -> None:
    """Add the command and its actions to the parsers of the gateway's commands."""
    keys = commands.add_parser(
        "keys",
        help="make, list, show or revoke the keys of programs that use the gateway",
        description="A program shows its key to the gateway. Each key has limits of its own, and what it used stands "
        "under its name on the page Money. Without any key, programs on this machine need none; with the first one, "
        "all do. A gateway that runs knows of a change within a second.",
        epilog=f"examples:\n{KEYS_EXAMPLES}\n\nExit status: 0, or 2 when something cannot be read or written.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = keys.add_subparsers(dest="action", required=True, metavar="ACTION")
    added = actions.add_parser(
        "add", help="make a key, and show its secret once", description="Makes a key and shows its secret once."
    )
    _add_limits(added)
    listed = actions.add_parser("list", help="list all keys with their limits")
    shown = actions.add_parser("show", help="show a key: its limits, and what it used today and this month")
    revoked = actions.add_parser("revoke", help="let a key not be taken any more")
    for action in (added, shown, revoked):
        action.add_argument("name", metavar="NAME", help="1 to 40 letters, digits, _ and -")
    for action in (added, listed, shown, revoked):
        action.add_argument("--config", type=Path, metavar="FILE", help="settings (default: assistant.toml, if there)")


# Any: as above.
def _add_limits(added: Any) -> None:
    added.add_argument(
        "--models", type=_names, metavar="A,B", default=(), help="only these models, by the gateway's names (all)"
    )
    for span in ("day", "month"):
        for what, meaning in _LIMITS:
            kind, sign = (_money, "1.50") if what == "money" else (_number, "N")
            added.add_argument(f"--{what}-per-{span}", type=kind, metavar=sign, help=f"at most so much: {meaning}")
    added.add_argument("--at-once", type=_count, metavar="N", help="requests at the same time (64)")
    added.add_argument("--per-second", type=_count, metavar="N", help="messages in a second (100)")
    added.add_argument(
        "--expires", type=_date, metavar="DAY", help="the last day on which it is taken, such as 2027-01-31, in UTC"
    )
    added.add_argument("--note", default="", metavar="TEXT", help="whose it is, for the list")


def _names(text: str) -> tuple[str, ...]:
    """Return the names with commas between them. argparse explains what it must be when there is none."""
    names = tuple(dict.fromkeys(name for each in text.split(",") if (name := each.strip())))
    if not names:
        raise argparse.ArgumentTypeError("give names of models with commas between them")
    return names


def _number(text: str) -> int:
    """Return a whole number from 0."""
    if not (text.isascii() and text.isdigit() and len(text) <= 15):  # noqa: PLR2004  (more than anybody uses)
        raise argparse.ArgumentTypeError("give a whole number such as 500")
    return int(text)


def _count(text: str) -> int:
    """Return a whole number from 1."""
    if (number := _number(text)) < 1:
        raise argparse.ArgumentTypeError("give a number from 1")
    return number


def _money(text: str) -> float:
    """Return an amount of money from 0."""
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 <= amount < inf:
        raise argparse.ArgumentTypeError("give an amount such as 1.50")
    return amount


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("give a day such as 2027-01-31") from None

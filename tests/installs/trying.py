"""What is tried in each environment: every command an owner begins with, and what is said where an extra is absent."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path

from tests.installs.programs import Environment, asked, seen, stopped

#: Every extra an owner can ask for.
EXTRAS = ("embedded", "evennia", "keyring", "metrics", "otel", "postgres", "tokens", "web")
#: Where the small model lies that a trial with the extra `embedded` uses, when it was fetched on this machine.
_WEIGHTS = ".local/share/mud-assistant/models/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
#: Settings that ask for what no environment without these extras has.
_ASKING = """
[model]
provider = "ollama"
model = "sage"
url = "{url}"

[telemetry]
metrics = true
endpoint = "http://127.0.0.1:9"

[memory]
vectors = "embedded"

[journal]
url = "postgresql://nobody@127.0.0.1:9/none"
"""
#: The extras that these settings ask for.
_ASKED_FOR = {"embedded", "metrics", "otel", "postgres"}
#: What `serve` and `game` say when they are ready.
_THINKS = re.compile(r"thinks with")
_GAME_IS_UP = re.compile(r"Ctrl-C")


def version(here: Environment, _: str) -> None:
    """`--version` names the version that was installed."""
    out, status = here.run("--version")
    assert (status, out.split()[0]) == (0, "mud-assistant"), out


def help_text(here: Environment, _: str) -> None:
    """`--help` shows examples."""
    out, status = here.run("--help")
    assert status == 0, out
    assert "examples:" in out


def trial(here: Environment, url: str) -> None:
    """A line in a trial is answered."""
    model = ("--provider", "ollama", "--model", "sage", "--url", url)
    out, status = here.run("trial", *model, given="Hello Sage, who are you?\n")
    assert status == 0, out
    assert "Sage says" in out, out


def embedded(here: Environment, _: str) -> None:
    """The embedded model answers a line, or its absence is told with the cure."""
    if "embedded" not in here.extras:
        out, status = here.run("trial", "--provider", "embedded", "--small", given="Hello Sage\n")
        assert status != 0, out
        assert "pip install 'mud-assistant[embedded]'" in out, out
        return
    weights = Path.home() / _WEIGHTS
    assert weights.exists(), "its weights are not on this machine: start `mud-assistant trial` once"
    (here.home / _WEIGHTS).parent.mkdir(parents=True, exist_ok=True)
    (here.home / _WEIGHTS).symlink_to(weights)
    out, status = here.run("trial", "--provider", "embedded", "--small", given="Hello Sage, who are you?\n")
    assert status == 0, out
    assert "Sage says" in out, out


def doctor(here: Environment, url: str) -> None:
    """The doctor finds the model, and names each extra that the settings ask for and is absent, and no other."""
    (here.home / "asking.toml").write_text(_ASKING.format(url=url))
    out, status = here.run("doctor", "--config", "asking.toml")
    assert status == 1, out
    named = set(re.findall(r"pip install 'mud-assistant\[(\w+)\]'", " ".join(out.split())))
    assert named == _ASKED_FOR.difference(here.extras), out


def serve(here: Environment, url: str) -> None:
    """`serve` says its address, is healthy, and ends at Ctrl-C with exit status 0."""
    model = ("--provider", "ollama", "--model", "sage", "--url", url)
    arguments = ("-m", "mud_assistant", "serve", *model, "--journal", "sage.journal", "--port", "0")
    with here.running(*arguments) as program:
        address = seen(program)
        seen(program, _THINKS)
        assert (asked(f"{address}/healthz"), asked(f"{address}/readyz")) == ("ok\n", "ready\n")
        assert stopped(program) == 0


def gateway(here: Environment, url: str) -> None:
    """`gateway` answers a chat and ends at Ctrl-C with exit status 0."""
    model = ("--provider", "ollama", "--model", "sage", "--url", url)
    with here.running("-m", "mud_assistant", "gateway", *model, "--port", "0") as program:
        address = seen(program)
        assert "ok" in asked(f"{address}/healthz")
        body = {"model": "assistant", "messages": [{"role": "user", "content": "Hello"}]}
        answer = json.loads(asked(f"{address}/v1/chat/completions", json.dumps(body).encode()))
        assert "Hello" in answer["choices"][0]["message"]["content"]
        assert stopped(program) == 0


def game(here: Environment, url: str) -> None:
    """A game is made, comes up and ends at Ctrl-C; where Evennia is absent, that is told with the cure."""
    if "evennia" not in here.extras:
        out, status = here.run("game")
        assert status != 0, out
        assert "pip install 'mud-assistant[evennia]'" in out, out
        return
    model = ("--provider", "ollama", "--model", "sage", "--url", url)
    port = ("--port", str(_free_first_port()))
    with here.running("-m", "mud_assistant", "game", "--folder", "game", *model, *port) as program:
        seen(program, _GAME_IS_UP)
        assert stopped(program) == 0


def _free_first_port() -> int:
    """Return the first of five ports in a row that nobody listens at, where no other process looks first."""
    for first in range(21_000 + os.getpid() % 2_000 * 10, 60_000, 10):
        sockets = [socket.socket() for _ in range(5)]
        try:
            for number, each in enumerate(sockets):
                each.bind(("127.0.0.1", first + number))
        except OSError:
            continue
        else:
            return first
        finally:
            for each in sockets:
                each.close()
    raise AssertionError("no five ports in a row are free")


#: By the names of the table's columns.
TRIALS: dict[str, Callable[[Environment, str], None]] = {
    "version": version,
    "help": help_text,
    "trial": trial,
    "embedded": embedded,
    "doctor": doctor,
    "serve": serve,
    "gateway": gateway,
    "game": game,
}

"""Tries real clients before a gateway, and prints what came of it: `make test-clients`.

Everything stays on this machine: the models are scripted servers, and what a client looks for on the internet is
refused at once. `--only NAME` tries one client. The exit status is 1 when anything did not work.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react
from twisted.internet.threads import deferToThread

from tests.clients.page import Lines
from tests.clients.programs import HERE, Trial, trials
from tests.clients.upstreams import ANSWER, FILE, PROVIDERS, WRITTEN, Upstreams, upstreams

ROOT = HERE.parents[1]
#: Where the programs are: those of Python, aider with its older packages, and those of Node.
_PATH = (
    ROOT / ".venv-clients/bin",
    HERE / "node/node_modules/.bin",
    HERE / "node/node_modules/opencode-linux-x64/bin",
    ROOT / ".venv-clients-aider/bin",
)
_TRIAL_SECONDS = 120
#: Clients neither report on their use nor look for anything newer.
_QUIET = {
    "AIDER_ANALYTICS": "false",
    "DO_NOT_TRACK": "1",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "NO_COLOR": "1",
    "NO_PROXY": "127.0.0.1,localhost",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OTEL_SDK_DISABLED": "true",
    "PYTHONWARNINGS": "ignore",
}


@dataclass(frozen=True)
class Outcome:
    """What came of one question to one kind of provider. `problem` is empty when the answer arrived whole."""

    client: str
    dialect: str
    how: str
    provider: str
    problem: str


def attempt(trial: Trial, provider: str, folder: Path) -> list[Outcome]:
    """Run a client in a folder of its own, and return what came of it."""
    for name, text in trial.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", trial.command], cwd=folder, env=_environment(folder), text=True, capture_output=True,
            timeout=_TRIAL_SECONDS, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return [Outcome(trial.client, trial.dialect, trial.how, provider, f"no end in {_TRIAL_SECONDS} seconds")]
    if not trial.dialect:
        return list(_reported(trial.client, provider, done))
    problem = _problem(done.stdout, done.stderr, trial.dialect)
    if trial.is_task and not problem:
        file = folder / FILE
        problem = "" if file.exists() and file.read_text() == WRITTEN else f"{FILE} was not written"
    return [Outcome(trial.client, trial.dialect, trial.how, provider, problem)]


def _environment(folder: Path) -> Mapping[str, str]:
    """Return what a client may know: nothing of the user's own settings and keys."""
    path = os.pathsep.join([*map(str, _PATH), os.environ["PATH"]])
    own = {"HOME": str(folder), "CODEX_HOME": str(folder / "codex"), "LLM_USER_PATH": str(folder / "llm")}
    return {**_QUIET, **own, "PATH": path, "TERM": "dumb", "LANG": "C.UTF-8"}


def _reported(client: str, provider: str, done: subprocess.CompletedProcess[str]) -> Iterator[Outcome]:
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    for line in lines:
        yield Outcome(client, line["dialect"], line["how"], provider, _problem(line["text"] or "", "", line["dialect"]))
    if not lines:
        yield Outcome(client, "all", "plain", provider, _last(done.stderr or done.stdout))


def _problem(said: str, complained: str, dialect: str) -> str:
    """Return what is wrong with an answer, empty for nothing. Programs may break its lines anew."""
    if dialect in {"/models", "/api/tags", "/api/show", "/messages/count_tokens"}:
        return _last(said) if not said or '"error"' in said else ""
    if dialect.startswith("/") and "data: " in said:
        events = [line.removeprefix("data: ") for line in said.splitlines() if line.startswith("data: {")]
        said = "".join(
            choice["delta"].get("content") or "" for line in events for choice in json.loads(line)["choices"]
        )
    return "" if "".join(ANSWER.split()) in "".join(said.split()) else _last(f"{said}\n{complained}")


def _last(text: str) -> str:
    return next((line.strip()[:300] for line in reversed(text.splitlines()) if line.strip()), "no word")


def table(outcomes: Iterable[Outcome]) -> str:
    """Return the outcomes by client and dialect, a column for each kind of provider, and what did not work below."""
    rows: dict[tuple[str, str], dict[str, list[str]]] = {}
    failed = []
    for one in outcomes:
        cell = rows.setdefault((one.client, one.dialect), {}).setdefault(one.provider, [])
        cell.append(f"{one.how} {'NO' if one.problem else 'ok'}")
        if one.problem:
            failed.append(f"{one.client}, {one.dialect}, {one.how}, before {one.provider}: {one.problem}")
    lines = ["| client | dialect | " + " | ".join(PROVIDERS) + " |", "|---" * (len(PROVIDERS) + 2) + "|"]
    for (client, dialect), cells in rows.items():
        told = (", ".join(cells.get(name, ["-"])) for name in PROVIDERS)
        lines.append(f"| {client} | {dialect} | {' | '.join(told)} |")
    return "\n".join([*lines, *failed])


async def try_all(_reactor: Any, only: str) -> None:
    """Try every client before every kind of provider, one after another."""
    outcomes: list[Outcome] = []
    with TemporaryDirectory(prefix="clients-") as scratch:
        (own := Path(scratch, "gateway")).mkdir()
        async with upstreams(own) as opened:
            for provider in PROVIDERS:
                outcomes += await _before(provider, opened, Path(scratch), only)
    print(table(outcomes))
    good = sum(not one.problem for one in outcomes)
    print(f"{good} passed, {len(outcomes) - good} failed")
    if good < len(outcomes) or not outcomes:
        raise SystemExit(1)


async def _before(provider: str, opened: Upstreams, scratch: Path, only: str) -> list[Outcome]:
    outcomes: list[Outcome] = []
    lines = Lines(opened.address, provider, opened.claude[provider])
    for number, trial in enumerate(trials(lines, scratch / provider)):
        if only and only.lower() not in trial.client.lower():
            continue
        folder = scratch / provider
        folder.mkdir()
        print(f"{provider}: {trial.client} {trial.dialect} {trial.how}", file=sys.stderr, flush=True)
        outcomes += await deferToThread(attempt, trial, provider, folder)
        folder.rename(scratch / f"{provider}-{number}")
    return outcomes


def main() -> None:
    """Try what the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="NAME", help="the clients with this in their name")
    only = parser.parse_args().only
    react(lambda reactor: Deferred.fromCoroutine(try_all(reactor, only)))


if __name__ == "__main__":
    main()

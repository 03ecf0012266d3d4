"""The command `mud-assistant`: reads the command line, starts the reactor, and is the only one that imports it."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Coroutine, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import globalLogBeginner, textFileLogObserver
from twisted.python.failure import Failure

from assistant.log_redaction import redacting
from assistant.redaction import Secrets
from assistant.shadows import shadowed

if TYPE_CHECKING:
    from assistant.config import Config

_EPILOG = """examples:
  mud-assistant trial
      a local Ollama when one answers, else the small embedded model
  mud-assistant trial --provider ollama --model qwen3:4b
  mud-assistant trial --url http://127.0.0.1:8080/v1
      any OpenAI-compatible server: llama.cpp, LM Studio, vLLM
  printf 'Hello Sage\\n' | mud-assistant trial --json
      one JSON object for each step of the assistant's thinking

Settings are read from assistant.toml in this folder; options come before settings."""


class _CannotStartError(Exception):
    """What is wrong with the command line or the settings, in one sentence."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 after a conversation, 2 when there is no model or a setting is wrong."""
    options = _parser().parse_args(arguments)
    secrets = Secrets()
    try:
        config = _prepare(options, secrets)
    except _CannotStartError as error:
        print(f"mud-assistant: {error}", file=sys.stderr)
        return 2
    if sys.stdin.isatty() and sys.stdout.isatty() and not options.json:
        from twisted.internet import asyncioreactor  # noqa: PLC0415  (must be installed before any reactor import)

        asyncioreactor.install()
    from assistant.trial.run import TrialOptions, run_trial  # noqa: PLC0415  (after the reactor is chosen)

    wall = time.time  # noqa: TID251  (the composition root)
    folder = options.config.absolute().parent if options.config else Path.cwd()
    trial = TrialOptions(config, wall, options.json, options.trace, folder, secrets)
    from twisted.internet import reactor  # noqa: PLC0415, TID251  (the composition root)

    return _run(reactor, run_trial(reactor, trial, os.environ), secrets)


def _prepare(options: argparse.Namespace, secrets: Secrets) -> Config:
    """The settings with the options laid over them; the log is begun. Raises _CannotStartError."""
    if in_the_way := shadowed():
        raise _CannotStartError(in_the_way)
    if sys.stdin is None:
        raise _CannotStartError("there is no standard input to read lines from")
    from assistant.keys import anchored  # noqa: PLC0415  (after the check)
    from assistant.settings import SettingsError, read_settings  # noqa: PLC0415  (the same)

    if options.key:
        options.key = anchored(options.key, Path.cwd())
    model = {name: getattr(options, name) for name in ("provider", "model", "url", "key") if getattr(options, name)}
    overrides = {"model": model, "assistant": {"name": options.name} if options.name else {}}
    try:
        config = read_settings(options.config, overrides)
        _begin_logging(options.log, secrets)
    except SettingsError as error:
        raise _CannotStartError(str(error)) from error
    except OSError as error:
        raise _CannotStartError(f"the log {options.log} cannot be written: {error.strerror}") from error
    return config


def _run(reactor: Any, work: Coroutine[Deferred[Any], Any, int], secrets: Secrets) -> int:
    """Run the reactor until `work` is over; Ctrl-C and SIGTERM cancel it and wait for its clean end."""
    status = 1
    leaving = False
    over: Deferred[None] = Deferred()

    def leave(running: Deferred[int]) -> Deferred[None]:
        nonlocal leaving
        leaving = True
        running.cancel()
        return over

    def begin() -> None:
        running = Deferred.fromCoroutine(work)
        reactor.addSystemEventTrigger("before", "shutdown", leave, running)
        running.addBoth(end)

    def end(result: int | Failure) -> None:
        nonlocal status
        status = _explain(result, secrets) if isinstance(result, Failure) else result
        over.callback(None)
        if not leaving:
            reactor.stop()

    reactor.callWhenRunning(begin)
    reactor.run()
    return status


def _explain(failure: Failure, secrets: Secrets) -> int:
    """The exit status for what ended the work, after one sentence about it where one is due."""
    if failure.check(CancelledError):
        return 0
    if failure.check(BrokenPipeError):  # whoever read our output has left; Python's own last flush must not fail
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    print(f"mud-assistant: {secrets.scrub(failure.getErrorMessage())}", file=sys.stderr)
    if not failure.check(OSError):
        print("This is a fault in mud-assistant; please report it with these lines:", file=sys.stderr)
        print(secrets.scrub(failure.getTraceback()), end="", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mud-assistant",
        description="AI characters that live inside a text game.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"mud-assistant {version('mud-assistant')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    trial = commands.add_parser(
        "trial",
        help="talk to an assistant in a small place, in this terminal",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    trial.add_argument(
        "--provider", help="auto, embedded, ollama, local, openai, anthropic or openrouter (default: auto)"
    )
    trial.add_argument("--model", help="the model's name; for the embedded model the path of a GGUF file")
    trial.add_argument("--url", help="the server's address, such as http://127.0.0.1:8080/v1")
    trial.add_argument("--key", metavar="WHERE", help="where the key is: env:NAME, file:PATH or keyring:NAME")
    trial.add_argument("--name", help="what the assistant is called (default: Sage)")
    trial.add_argument("--config", type=Path, metavar="FILE", help="settings (default: assistant.toml, if there)")
    trial.add_argument("--trace", action="store_true", help="show each step of the thinking (as /trace does)")
    trial.add_argument("--json", action="store_true", help="print one JSON object per step instead of the transcript")
    trial.add_argument("--log", type=Path, metavar="FILE", help="write the log to a file")
    return parser


def _begin_logging(path: Path | None, secrets: Secrets) -> None:
    """Log to a file, without keys, or not at all: the terminal belongs to the conversation."""
    observers = [redacting(textFileLogObserver(path.open("a", encoding="utf-8")), secrets)] if path else []
    globalLogBeginner.beginLoggingTo(observers, discardBuffer=True, redirectStandardIO=False)


if __name__ == "__main__":
    sys.exit(main())

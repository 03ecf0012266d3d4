"""The parser of the command line: it shows its help to who gives no command, and says what a misspelt word may mean."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, NoReturn

from mud_assistant.assistant.errors import did_you_mean
from mud_assistant.assistant.exit_status import ExitStatus

#: The placeholder in a help where the providers are listed.
PROVIDERS = "(the providers there are)"
#: Exit status when no command was given, as when a wrong one was.
NO_COMMAND = 2
_INVALID_CHOICE = re.compile(r"invalid choice: '(?P<given>.*)' \(choose from (?P<known>.*)\)$", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """A parser that lists the providers in its help. They are loaded only for that."""

    _needs_command = False
    #: The exit status when the command line is wrong.
    wrong_usage: int = NO_COMMAND

    # Any: what argparse takes and returns here has no public name.
    def add_subparsers(self, **options: Any) -> Any:
        """Add the parsers of commands, and note whether one must be given."""
        self._needs_command = bool(options.get("required"))
        return super().add_subparsers(**options)

    # Any: the same.
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse the arguments. Without any, a parser that needs a command shows its help and exits.

        What is not known is an error of this parser, whose options its author meant, and not of the whole command.
        """
        given = list(sys.argv[1:] if args is None else args)
        if not given and self._needs_command:
            self.print_help()
            self.exit(NO_COMMAND)
        parsed, unknown = super().parse_known_args(given, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._meant_option(unknown)}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, with what a misspelt choice may mean, and exit."""
        if found := _INVALID_CHOICE.search(message):
            known = [name.strip().strip("'\"") for name in found["known"].split(",")]
            meant = did_you_mean(found["given"], known)
            message = f"{message}; {meant}" if meant else message
        self.print_usage(sys.stderr)
        self.exit(self.wrong_usage, f"{self.prog}: error: {message}\n")

    def format_help(self) -> str:
        """Return the help, with a line for each provider in place of the placeholder."""
        text = super().format_help()
        return text.replace(PROVIDERS, _providers()) if PROVIDERS in text else text

    def _meant_option(self, unknown: list[str]) -> str:
        """Return what follows the first unknown option, when one of this parser's is like it."""
        wrong = next((word.partition("=")[0] for word in unknown if word.startswith("-")), "")
        known = [name for action in self._actions for name in action.option_strings]
        meant = did_you_mean(wrong, known) if wrong else ""
        return f"; {meant}" if meant else ""


def supervised(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Let a program that a supervisor may begin again leave a wrong command line with EX_USAGE; return its parser."""
    assert isinstance(parser, Parser)
    parser.wrong_usage = ExitStatus.USAGE
    return parser


def _providers() -> str:
    """Return a line for each provider."""
    from mud_assistant.assistant.config.known_providers import about, known_names  # noqa: PLC0415  (for the help alone)

    names = known_names()
    width = max(map(len, names))
    return "\n".join(f"  {name:<{width}}  {about(name)}" for name in names)

"""Defines the arguments of `mud-assistant play`. Imports nothing else of ours."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

PLAY_EXAMPLES = """  mud-assistant play
      the character of [world] in assistant.toml plays; you see what it hears, thinks and types
  mud-assistant play localhost:4000 --profile diku --name Sage
      as Sage, who is in that game already; the password is asked for and not shown
  mud-assistant play localhost:4000 --profile diku --name Sage --password env:SAGES_PASSWORD --dry
      it logs in and hears, and what it would type is shown and not typed
  mud-assistant play telnets://mud.example:4443 --profile my-game.toml --name Sage --permission "Mira, who runs it"
  mud-assistant play localhost:4000 --record walk.jsonl
      you play by typing, for a new profile (docs/telnet.md): both directions are kept, without passwords
  mud-assistant play --replay walk.jsonl --profile my-game.toml --name Sage
      what that profile understands of the recording, and what it does not"""


# Any: argparse has no public name for the class.
def add_play(commands: Any) -> argparse.ArgumentParser:
    """Add the command to the parsers of commands, and return its parser."""
    play: argparse.ArgumentParser = commands.add_parser(
        "play",
        help="let a character play somebody else's game over telnet, in this terminal",
        description="Logs a character into a game and shows what it hears, what it thinks to say, and what it types. "
        "The character must be there already: none is made. What is not said here is taken from [world] of the "
        "settings. A game on another machine takes the leave of who runs it: say whose with --permission.",
        epilog=f"examples:\n{PLAY_EXAMPLES}\n\nExit status: 0 after Ctrl-C, 2 when something kept it from starting.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    play.add_argument("telnet", nargs="?", metavar="HOST:PORT", help='the game; "telnets://HOST:PORT" for TLS')
    profiles = "diku, evennia, irc, lp, moo, mudpy, pennmush, ranvier, or a file"
    play.add_argument("--profile", metavar="PROFILE", help=profiles)
    play.add_argument("--name", help="what the character is called in the game (default: that of [assistant])")
    play.add_argument("--account", help="its account, where the game has accounts beside characters")
    play.add_argument(
        "--password", metavar="WHERE", help="where its password is: env:NAME, file:PATH or keyring:NAME (default: ask)"
    )
    play.add_argument("--permission", metavar="WHO", help="who of the game allowed a character there")
    play.add_argument("--fingerprint", metavar="SHA256", help="of a certificate that the game signed itself")
    what = play.add_mutually_exclusive_group()
    what.add_argument("--dry", action="store_true", help="show what would be typed, and type nothing after the log-in")
    what.add_argument("--record", type=Path, metavar="FILE", help="play by typing, and keep both directions in FILE")
    what.add_argument("--replay", type=Path, metavar="FILE", help="show what the profile understands of a recording")
    play.add_argument("--trace", action="store_true", help="show each step of the thinking")
    play.add_argument("--config", type=Path, metavar="FILE", help="settings (default: assistant.toml, if there)")
    play.add_argument("--journal", type=Path, metavar="FILE", help="remember everything in this file")
    play.add_argument("--log", type=Path, metavar="FILE", help="write the log to a file; -: to standard error")
    return play

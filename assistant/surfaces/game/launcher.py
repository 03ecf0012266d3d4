"""Calls the launcher `evennia` of this virtual environment, in a game's folder."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assistant.errors import GameError

#: How long one call may take, in seconds. A busy machine needs ten times as long as an idle one.
CALL_SECONDS = 300.0
#: How long an interrupted call may still take, as a half-started game could not be stopped.
_FINISH_SECONDS = 90.0
_SHOWN_LINES = 12


@dataclass(frozen=True, slots=True)
class EvenniaLauncher:
    """The launcher `evennia` for the game in `folder`. What it prints is appended to `log`."""

    folder: Path
    log: Path
    environment: Mapping[str, str]

    def run(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        """Call the launcher and return what it printed. Its exit status is ignored: it is 0 after most failures.

        Raises GameError when there is no launcher, or the call does not end. Ctrl-C takes effect when the call is over,
        because a half-started game could not be stopped. Blocks.
        """
        binaries = Path(sysconfig.get_path("scripts"))
        if not (binaries / "evennia").exists():
            raise GameError("Evennia is not installed here: run pip install 'mud-assistant[evennia]'")
        whole = {**self._environment(binaries), **(environment or {})}
        with self.log.open("ab") as log:
            log.write(f"--- evennia {' '.join(arguments)}\n".encode())
            log.flush()
            begin = log.tell()
            child = subprocess.Popen(  # noqa: S603  (our own words, without a shell)
                [binaries / "evennia", *arguments],
                cwd=self.folder,
                env=whole,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C is ours, not the game's
            )
        self._await_end(child, arguments[0])
        with self.log.open("rb") as log:
            log.seek(begin)
            return log.read().decode("utf-8", "replace")

    def _environment(self, binaries: Path) -> dict[str, str]:
        """Return the launcher's environment. It calls twistd by name, and overwrites the first entry of PYTHONPATH."""
        changed = {"PATH": f"{binaries}{os.pathsep}{self.environment.get('PATH', os.defpath)}"}
        if modules := self.environment.get("PYTHONPATH"):
            changed["PYTHONPATH"] = f"{binaries}{os.pathsep}{modules}"
        others = {name: value for name, value in self.environment.items() if name != "DJANGO_SETTINGS_MODULE"}
        return {**others, **changed}

    def _await_end(self, child: subprocess.Popen[bytes], what: str) -> None:
        try:
            child.wait(CALL_SECONDS)
        except subprocess.TimeoutExpired:
            raise GameError(
                f"'evennia {what}' took over {CALL_SECONDS:g} s; see {self.log}, and try again when the machine is idle"
            ) from None
        except KeyboardInterrupt:
            with suppress(subprocess.TimeoutExpired):  # then it is killed below
                child.wait(_FINISH_SECONDS)
            raise
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()


def ending(printed: str) -> str:
    """Return the last lines of what was printed, for an error."""
    return "\n".join(printed.strip().splitlines()[-_SHOWN_LINES:])

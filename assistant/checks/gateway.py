"""Checks of the gateway: which keys it has given out, who can read their file, and who may ask. They block.

The file of keys is only looked at here; `assistant/gateway/keys/store.py` reads it whole.
"""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path
from typing import Any

import orjson

from mud_assistant.assistant.checks.finding import Problem
from mud_assistant.assistant.config.gateway import GatewayConfig

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def given_keys(config: GatewayConfig, folder: Path) -> str:
    """Say how many keys there are, and how many of them were revoked. Raises Problem."""
    path, keys = _keys(config, folder)
    if not keys:
        return "there is none: every program on this machine may ask"
    if os.name == "posix" and path.stat().st_mode & _OTHERS:
        raise Problem(
            f"the file {path} is open to other users of this machine: close it with: chmod 600 {shlex.quote(str(path))}"
        )
    revoked = len(keys) - len(_taken(keys))
    return f"there are {len(keys)} in {path}, of which {revoked} were revoked"


def who_may_ask(config: GatewayConfig, folder: Path) -> str:
    """Say whether other machines can reach the gateway. Raises Problem when they could and no key can be shown."""
    place = f"{config.interface}, port {config.port}" if config.port else config.interface
    when = "" if config.enabled else "; it opens with: mud-assistant gateway"
    if not config.opened_by:
        return f"only programs on this machine can reach it at {place}{when}"
    if not _taken(_keys(config, folder)[1]):
        raise Problem(
            f"[gateway] {config.opened_by} opens it to other machines, at {place} or through a proxy, and there is no "
            "key they could show: make one with: mud-assistant gateway keys add NAME"
        )
    opened_by = f"[gateway] {config.opened_by}"
    return f"it is open to other machines at {place}, for those that show a key{when} ({opened_by})"


def _taken(keys: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [key for key in keys if key.get("revoked") is None]


# Any: JSON of a file.
def _keys(config: GatewayConfig, folder: Path) -> tuple[Path, list[dict[str, Any]]]:
    """Return the path of the file of keys, and what stands there of each. Raises Problem."""
    path = folder / Path(config.keys).expanduser()
    try:
        return path, list(orjson.loads(path.read_bytes())["keys"])
    except FileNotFoundError:
        return path, []
    except (OSError, ValueError, LookupError, TypeError) as error:
        said = f"the file of keys {path} cannot be read ({type(error).__name__}), and the gateway lets nobody in"
        raise Problem(f"{said}: bring back a copy of it, or remove it and make new keys") from error

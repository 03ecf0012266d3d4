"""Asks the owner before a model file of a hub is fetched that the command line names: it may be large, and has terms.

A name in the settings is asked for nowhere: who wrote it there has agreed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from mud_assistant.assistant.errors import AssistantError
from mud_assistant.llm.embedded.errors import SourceFailed
from mud_assistant.llm.embedded.fetching.hub_file import Hub, kept_file
from mud_assistant.llm.embedded.fetching.hub_name import is_hub_name, parse_hub_name
from mud_assistant.llm.embedded.fetching.models import default_data_dir
from mud_assistant.llm.embedded.fetching.opener import https_opener

_YES = {"yes", "y"}


def require_agreement(
    model: str,
    environment: Mapping[str, str],
    *,
    agreed: bool,
    ask: Callable[[str], str] = input,
    is_terminal: bool | None = None,
) -> None:
    """Return once the owner has agreed to fetch the model, at once when it is here, or none of a hub.

    `agreed` is what the command line says. Asks the hub what the file is, and blocks for that: before a reactor runs.
    Raises AssistantError when the owner does not agree or cannot be asked, and for a name that the hub does not know.
    """
    if not is_hub_name(model):
        return
    try:
        name = parse_hub_name(model)
        if agreed or kept_file(name, default_data_dir()) is not None:
            return
        found = Hub.of(environment, https_opener(loopback=True)).find(name)
    except (ValueError, SourceFailed) as error:
        raise AssistantError(str(error)) from error
    what = f"{found.path} of {name.repository} is fetched once: {found.cost}; {found.under_licence}"
    if not (sys.stdin.isatty() if is_terminal is None else is_terminal):
        raise AssistantError(f"{what}. Give --yes to fetch it without being asked")
    try:
        answer = ask(f"{what}. Fetch it? (yes/no) ")
    except EOFError:
        answer = ""
    if answer.strip().casefold() not in _YES:
        raise AssistantError(f"{name} was not fetched")

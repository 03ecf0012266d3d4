"""Defines what fields of the settings have in common: bounds, addresses, references to keys."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from assistant.keys.reference import check_reference

Seconds = Annotated[float, Field(gt=0, le=3600)]

_ADDRESS = re.compile(r"https?://(?:[\w.-]+|\[[0-9a-fA-F:]+\])(?::\d{1,5})?(?:/[\w./~-]*)?")


class Settings(BaseModel):
    """Base of every table of the settings: unknown names are refused, values are frozen."""

    # An owner who writes a key where its reference belongs must not find it in an error.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def _address(value: str) -> str:
    if value and not _ADDRESS.fullmatch(value):
        raise ValueError("give the address of a server, such as http://127.0.0.1:8080/v1")
    return value


def _by_reference(value: str) -> str:
    if value:
        check_reference(value)
    return value


#: The address of a server, empty for a usual place.
Address = Annotated[
    str,
    Field(description="the address of a server, such as http://127.0.0.1:8080/v1; empty for the usual one"),
    AfterValidator(_address),
]
#: A reference to a key, never the key itself: env:NAME, file:PATH or keyring:NAME; empty for none.
KeyReference = Annotated[
    str,
    Field(description="where the key is, never the key: env:NAME, file:PATH or keyring:NAME; empty for none"),
    AfterValidator(_by_reference),
]

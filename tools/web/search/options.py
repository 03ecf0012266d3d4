"""The options an operator may set for one provider beside its key and its address."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Options(BaseModel):
    """Base of every provider's options: unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

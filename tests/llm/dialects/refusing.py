"""Checks that a request is refused with the path of the field that is to blame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mud_assistant.llm.dialects.dialect import Dialect
from mud_assistant.llm.dialects.failures import FailureKind, RequestRefused


def check_refused(
    dialect: Dialect,
    body: Mapping[str, Any],
    parameter: str,
    kind: FailureKind = FailureKind.INVALID,
    headers: Mapping[str, str] | None = None,
) -> str:
    """Check the refusal, and return what it says."""
    with pytest.raises(RequestRefused) as caught:
        dialect.read(body, headers or {})
    failure = caught.value.failure
    assert (failure.kind, failure.parameter) == (kind, parameter)
    assert parameter in failure.message
    assert not failure.should_retry
    return failure.message

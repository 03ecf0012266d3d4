"""Former public names are understood for one release, with a warning that says the new name."""

from __future__ import annotations

import importlib

import pytest

import resilience

#: `resilience.__all__` before its classes were renamed, as far as the names changed.
FORMER = {
    "Barred": "Revoked",
    "Order": "Call",
    "Passage": "Attempt",
    "State": "CircuitState",
    "RequestTarget": "CallTarget",
    "Told": "RateLimitSnapshot",
}


@pytest.mark.parametrize(("former", "new"), FORMER.items())
def test_a_former_name_is_understood_and_the_new_one_said(former: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"^resilience.{former} is now called resilience.{new}$"):
        found = getattr(resilience, former)
    assert found is getattr(resilience, new)
    assert former not in resilience.__all__
    assert new in resilience.__all__


def test_an_import_by_a_former_name_warns_where_it_is_written() -> None:
    with pytest.warns(DeprecationWarning, match="resilience.Call") as warned:
        exec("from resilience import Order", {})  # noqa: S102  (a name that type checkers do not know)
    assert {warning.filename for warning in warned} == {"<string>"}


def test_other_names_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="module 'resilience' has no attribute 'Errand'"):
        _ = importlib.import_module("resilience").Errand

"""The tool contract: a tool of the version before goes on working, and is told what has another name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tools.policy.decide import base_permission
from tools.testing import WaitingTool
from tools.tool import Category, NoArguments, Tool
from tools.verbs import MOVE, STAY


async def execute(_: object, __: object) -> str:
    return "done"


def test_a_tool_that_passes_needs_is_told_the_new_name_and_means_the_same() -> None:
    with pytest.warns(
        DeprecationWarning, match="the tool dig passes needs: it is now called required_permission"
    ) as told:
        tool = Tool("dig", "Dig.", NoArguments, Category.DANGEROUS, execute, needs=3)
    assert told[0].filename == __file__
    assert tool == Tool("dig", "Dig.", NoArguments, Category.DANGEROUS, execute, required_permission=3)
    assert base_permission(tool, {}) == 3


def test_the_new_name_counts_where_a_tool_passes_both() -> None:
    with pytest.warns(DeprecationWarning, match="required_permission"):
        tool = Tool("dig", "Dig.", NoArguments, Category.DANGEROUS, execute, required_permission=0, needs=3)
    assert tool.required_permission == 0


def test_a_copy_of_a_tool_keeps_what_it_requires_and_warns_of_nothing() -> None:
    assert replace(STAY, name="wait").required_permission == 0
    assert replace(MOVE, name="walk").required_permission is None
    assert WaitingTool("wait").tool.required_permission is None

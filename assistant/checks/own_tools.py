"""Says which of the owner's own tools there are, and why others are left out. They were loaded at the start."""

from __future__ import annotations

from collections.abc import Iterable

from mud_assistant.assistant.checks.finding import Finding, FindingState
from mud_assistant.assistant.runtime.own_tools import OwnTools

CHECK = "own tools"


def judge_own_tools(own: OwnTools) -> Iterable[Finding]:
    """Return a finding for all that were loaded, and one for each that was left out; none where nothing was named."""
    if own.tools:
        yield Finding(CHECK, FindingState.OK, f"loaded: {', '.join(tool.name for tool in own.tools)}")
    for problem in own.problems:
        yield Finding(CHECK, FindingState.WRONG, problem)

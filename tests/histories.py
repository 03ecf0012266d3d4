"""Runs a stateful model beside the real thing: the same histories each time, and none of them shrunk."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def run_histories(machine: type[RuleBasedStateMachine], runs: int, steps: int) -> None:
    """Run so many histories of so many steps. They follow from the machine alone."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=runs,
            stateful_step_count=steps,
            derandomize=True,
            phases=[Phase.generate],  # a history is read as it is: shrinking one takes minutes
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

from hypothesis import given
from hypothesis import strategies as st

from tools.policy import Allowed, Refused, decide
from tools.testing import WaitingTool
from tools.tool import Category
from tools.world import MOVE, SAY


def test_a_tool_outside_the_grant_is_refused() -> None:
    assert decide(SAY, grant=frozenset({"look"}), dangerous_done=0) == Refused("You may not use say.")


def test_one_dangerous_call_is_allowed_and_the_next_is_not() -> None:
    grant = frozenset({"move"})
    assert decide(MOVE, grant=grant, dangerous_done=0) == Allowed()
    assert isinstance(decide(MOVE, grant=grant, dangerous_done=1), Refused)


@given(st.sampled_from(Category), st.booleans(), st.integers(0, 3))
def test_nothing_else_decides(category: Category, granted: bool, done: int) -> None:
    grant = frozenset({"act"} if granted else set())
    allowed = granted and (category is not Category.DANGEROUS or done == 0)
    assert isinstance(decide(WaitingTool("act", category).tool, grant=grant, dangerous_done=done), Allowed) is allowed

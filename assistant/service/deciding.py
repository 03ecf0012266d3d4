"""Decides on what an assistant asks leave for: once or for an hour. The page and the game's commands do it by this."""

from __future__ import annotations

from assistant.runtime.character import Assistant
from assistant.service.wording.rights import covered_text
from tools import Declined, Denied, Given, Principal
from tools.policy.approvals import STANDING_SECONDS

#: Why a call that an assistant makes of its own accord is not allowed for longer.
ONLY_ONCE = "Nobody asked for this, so it can be allowed only once."


def decide(
    there: Assistant, number: int, who: Principal, *, allow: bool, for_an_hour: bool = False
) -> Given | Declined | Denied:
    """Allow or refuse the request of this number, as this person may.

    For an hour, exactly the same call may be made again for the same requester without asking.
    """
    approvals = there.context.approvals
    asked = next((one for one in approvals.pending() if one.number == number), None)
    if allow and for_an_hour and asked is not None and asked.requester is None:
        return Denied(ONLY_ONCE)
    answer = there.approve(number, who) if allow else there.decline(number, who)
    if for_an_hour and isinstance(answer, Given):
        approvals.stand(answer.pending)
    return answer


def decided_text(name: str, answer: Given | Declined, *, for_an_hour: bool = False) -> str:
    """Say what was decided, with the whole call."""
    what = covered_text(answer.pending)
    if isinstance(answer, Declined):
        return f"{name} may not do this: {what}"
    how = f"this, and again for the next {STANDING_SECONDS / 60:.0f} minutes" if for_an_hour else "this once"
    return f"{name} may do {how}: {what}"

"""Decides on what an assistant asks permission for: the exact call that was shown, once or for an hour.

A number may stand for another call after a restart, so each decision gives back the digest of the call that whoever
decides was shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.service.operations.operators import (
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    Operator,
    VisitorRole,
)
from mud_assistant.tools import Declined, Denied, Pending
from mud_assistant.tools.policy.approvals import ENDS, NO_REQUEST, STANDING_SECONDS, Approvals, digest_of
from mud_assistant.tools.policy.binding import name_target
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.trust import rank

#: More characters than any call has, so that a call is shown whole before it is approved.
_WHOLE = 20_000
#: How many characters of requests are shown at once; a game shows no more than about 12,000.
_MOST_SHOWN = 9_000
#: Why a call that an assistant makes of its own accord is not allowed for longer.
_ONLY_ONCE = "Nobody asked for this, so it can be allowed only once."
_CHANGED = "request {number} of {name} is another call than the one that was shown"


class Decision(Struct, frozen=True):
    """What is decided. `digest` is that of the call as it was shown; for an hour it may be made again."""

    allow: bool
    digest: str
    for_an_hour: bool = False


def decide(there: Assistant, who: Operator, number: int, decision: Decision) -> str:
    """Allow or refuse the request of this number, as this person may, and say so with the whole call.

    For an hour, exactly the same call may be made again for the same requester without asking. Raises Conflict when the
    call is not there any more or is another one, NotAllowed, and InvalidInput for an hour of what nobody asked for.
    """
    who.check(VisitorRole.OPERATOR)
    name, approvals = there.context.body.me.name, there.context.tools.approvals
    asked = _find(approvals, number)
    if asked is None:
        raise Conflict(f"{NO_REQUEST.format(number=number)} {ENDS}")
    if digest_of(asked) != decision.digest:
        raise Conflict(_CHANGED.format(number=number, name=name))
    if decision.allow and who.principal.permission < asked.permission:  # whatever kind of person they are
        raise NotAllowed(f"Only {rank(asked.permission)} or somebody above may allow request {number}.")
    lasts = decision.allow and decision.for_an_hour
    if lasts and asked.requester is None:
        raise InvalidInput(_ONLY_ONCE)
    answer = there.approve(number, who.principal) if decision.allow else there.decline(number, who.principal)
    if isinstance(answer, Denied):
        raise NotAllowed(answer.reason) if approvals.waits(number) else Conflict(answer.reason)
    word = ("allows for an hour" if lasts else "allows once") if decision.allow else "refuses"
    who.log(f"{word} request {number} of {name}, {asked.tool}")
    what = covered_text(answer.pending)
    if isinstance(answer, Declined):
        return f"{name} may not do this: {what}"
    if lasts:
        approvals.stand(answer.pending)
    how = f"this, and again for the next {STANDING_SECONDS / 60:.0f} minutes" if lasts else "this once"
    return f"{name} may do {how}: {what}"


def revoke(approvals: Approvals, name: str, who: Operator, number: int) -> str:
    """End what was allowed for an hour to the assistant of this name, and say so. Raises NotFound."""
    who.check(VisitorRole.OPERATOR)
    if not approvals.revoke(number):
        raise NotFound(f"nothing of number {number} is allowed to {name} for longer")
    who.log(f"ends what {name} may do as number {number}")
    return f"{name} must ask again for what it was allowed as number {number}."


class ShownRequests:
    """The requests that one person was shown in text, so that a number they type stands for what they read."""

    def __init__(self) -> None:
        self._digests: dict[tuple[str, int], str] = {}

    def show(self, there: Assistant, number: int | None = None) -> str:
        """Return what an assistant asks permission for as text, or only the request of this number."""
        pending = [one for one in there.context.tools.approvals.pending() if number in {None, one.number}]
        count, text = approvals_text(pending)
        for one in pending[:count]:
            self._digests[there.context.body.me.id, one.number] = digest_of(one)
        return text

    def decide(self, there: Assistant, who: Operator, number: int, *, allow: bool, for_an_hour: bool = False) -> str:
        """Decide on a request as it was shown. One that was not is shown instead, and nothing is decided.

        Raises what `decide` raises.
        """
        digest = self._digests.get((there.context.body.me.id, number))
        asked = _find(there.context.tools.approvals, number)
        if asked is not None and digest != digest_of(asked):
            return f"Nothing is decided yet. If you mean this, type it again:\n{self.show(there, number)}"
        return decide(there, who, number, Decision(allow, digest or "", for_an_hour))


def covered_text(pending: Pending) -> str:
    """Show the whole call with the place and everything it acts on, by name and identity."""
    covers = _covers_text(pending)
    return f"{one_line(pending.shown, max_chars=_WHOLE)}{f' [{covers}]' if covers else ''}"


def _find(approvals: Approvals, number: int) -> Pending | None:
    return next((one for one in approvals.pending() if one.number == number), None)


def approvals_text(pending: Sequence[Pending]) -> tuple[int, str]:
    """Return how many requests are shown, and the text: each call whole, what it acts on, why it needs permission."""
    shown: list[str] = []
    for asked in pending:
        text = _request_text(asked)
        if shown and sum(map(len, shown)) + len(text) > _MOST_SHOWN:
            more = f"({len(pending) - len(shown)} more are shown when these are decided.)"
            return len(shown), "\n".join([*shown, more])
        shown.append(text)
    return len(shown), "\n".join(shown) or "(Nothing is asked for.)"


def _covers_text(pending: Pending) -> str:
    if not pending.covers:
        return ""
    place, *targets = map(name_target, pending.covers)
    return f"in {place}, on {', '.join(targets)}" if targets else f"in {place}"


def _request_text(pending: Pending) -> str:
    whose = one_line(pending.requester.name) if pending.requester else "nobody"
    who = f"(for {whose}; {rank(pending.permission)} may allow it)"
    first = f"number {pending.number}: {one_line(pending.shown, max_chars=_WHOLE)} {who}"
    return "\n  ".join(filter(None, (first, _covers_text(pending), pending.because)))

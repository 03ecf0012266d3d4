"""Permission for one exact call, once and for a few minutes, by a person who could do it themselves.

    asked --approve--> given --use--> gone          declined, or its time over: gone

What is approved is a hash of the tool, its arguments and how the game understands them: the command, the place, and the
identity of everything it acts on (`binding.py`). Another argument, a nick by which the line became another command, or
another chest of the same name is another hash, which was never approved. A person may also let that one call be made
again for an hour, for the same requester (`stand`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

from msgspec import Struct

from mud_assistant.llm.messages import ToolCall
from mud_assistant.tools.context import Pending, Requirement
from mud_assistant.tools.policy.binding import difference
from mud_assistant.tools.policy.repetition import canonical
from mud_assistant.tools.trust import PEOPLE, Principal, clamp_level, label_of, rank

#: How long a request waits for a decision, and an approval for its use, in seconds (docs/policy.md, Approvals).
SECONDS = 300.0
#: How many requests of one assistant wait at the same time.
MOST = 20
#: How long the same exact call may be made again, where a person allowed that, in seconds.
STANDING_SECONDS = 3600.0
_SOMEBODY = "somebody"
NO_REQUEST = "There is no request {number} that waits."
#: Why a request may be gone, for a person who names one that is not there.
ENDS = "A request ends after five minutes, when what it was for has changed, and when the game restarts: ask again."
TOO_LATE = "it was not used within five minutes"


class Given(Struct, frozen=True):
    """The request was approved: the call may be made once, in a run for the requester or the approver."""

    pending: Pending


class Standing(Struct, frozen=True):
    """Permission for exactly one call, however often, for one requester, until `expires_at` in clock seconds."""

    number: int
    tool: str
    shown: str
    requester: Principal
    approved_by: Principal
    expires_at: float


class Declined(Struct, frozen=True):
    """The request was declined and is gone."""

    pending: Pending


class Denied(Struct, frozen=True):
    """The decision changed nothing; `reason` is a sentence for the person who tried."""

    reason: str


class Approvals:
    """The requests and approvals of one assistant. In memory, so a restart voids those that were not taken out by then.

    `now` gives clock seconds. When more than `most` wait, the requester with the most requests loses their oldest.
    """

    def __init__(self, now: Callable[[], float], seconds: float = SECONDS, most: int = MOST) -> None:
        self._now = now
        self._seconds = seconds
        self._most = most
        self._last_number = 0
        self._asked: dict[tuple[str, str], Pending] = {}
        #: Each with the call and the requester that it is for. A tuple, as most assistants have none.
        self._standing: tuple[tuple[tuple[str, str], Standing], ...] = ()

    def request(
        self, call: ToolCall, requirement: Requirement, requester: Principal | None, because: str = ""
    ) -> Pending:
        """Return the request for exactly this call. Asked again in time, it keeps its number and waits anew."""
        return self.ask(call, requirement, requester, because)[1]

    def ask(
        self, call: ToolCall, requirement: Requirement, requester: Principal | None, because: str = ""
    ) -> tuple[bool, Pending]:
        """Return whether the request is new, and the request as `request` gives it."""
        self._forget_the_late()
        key = (digest(call, requirement), _id(requester))
        known = self._asked.pop(key, None)
        is_new = known is None
        if known is None:
            self._last_number += 1
            shown = requirement.shown or f"{call.name} {canonical(call.arguments)}"
            permission = clamp_level(requirement.permission)
            known = Pending(self._last_number, call.name, call.arguments, shown, requester, permission, 0.0)
            known = replace(known, commands=requirement.commands, covers=requirement.covers)
        if known.approved_by is None:
            known = replace(known, expires_at=self._now() + self._seconds, because=because)
        self._asked[key] = known
        self._make_room()
        return is_new, known

    def pending(self) -> tuple[Pending, ...]:
        """Return the requests that wait to be approved, lowest number first."""
        self._forget_the_late()
        waiting = [one for one in self._asked.values() if one.approved_by is None]
        return tuple(sorted(waiting, key=lambda one: one.number))

    def approve(self, number: int, who: Principal) -> Given | Denied:
        """Approve request `number` if `who` may. It may then be used once, within the same number of seconds."""
        key = self._find(number)
        if key is None:
            return Denied(NO_REQUEST.format(number=number))
        pending = self._asked[key]
        if not _may_decide(who, pending):
            return Denied(f"Only {rank(pending.permission)} or somebody above may allow request {number}.")
        given = replace(pending, approved_by=who, expires_at=self._now() + self._seconds)
        self._asked[key] = given
        return Given(given)

    def decline(self, number: int, who: Principal) -> Declined | Denied:
        """Drop request `number`. A person who may approve it may decline it, and the requester may take it back."""
        key = self._find(number)
        if key is None:
            return Denied(NO_REQUEST.format(number=number))
        pending = self._asked[key]
        if not _may_decide(who, pending) and _id(pending.requester) != who.id:
            return Denied(f"Only {rank(pending.permission)} or somebody above may decline request {number}.")
        del self._asked[key]
        return Declined(pending)

    def use(self, call: ToolCall, requirement: Requirement, requester: Principal | None) -> bool:
        """Tell whether exactly this call was approved for a run for `requester`, and use that approval up."""
        self._forget_the_late()
        wanted = digest(call, requirement)
        if any(key == (wanted, _id(requester)) for key, _ in self._standing):
            return True
        for key, given in self._asked.items():
            if key[0] == wanted and given.approved_by and _id(requester) in {key[1], given.approved_by.id}:
                del self._asked[key]
                return True
        return False

    def stand(self, given: Pending, seconds: float = STANDING_SECONDS) -> Standing | None:
        """Let the call of an approval be made again for its requester, for so long. None when nobody asked for it."""
        if given.approved_by is None or given.requester is None:
            return None
        until = self._now() + seconds
        standing = Standing(given.number, given.tool, given.shown, given.requester, given.approved_by, until)
        of = (digest_of(given), _id(given.requester))
        self._standing = (*((key, one) for key, one in self._standing if key != of), (of, standing))
        return standing

    def standing(self) -> tuple[Standing, ...]:
        """Return what may be done again without asking, the oldest first."""
        self._forget_the_late()
        return tuple(one for _, one in self._standing)

    def revoke(self, number: int) -> bool:
        """End the standing permission of this number. Return False when there is none."""
        kept = tuple(pair for pair in self._standing if pair[1].number != number)
        is_ended = len(kept) < len(self._standing)
        self._standing = kept
        return is_ended

    def revoke_all(self) -> None:
        """End all standing permissions."""
        self._standing = ()

    def forget(self, who: Principal) -> None:
        """Drop what this person asked for: requests, approvals, and what may be made again for them.

        Other people's requests stay, and no longer name them.
        """
        name = re.compile(rf"\b{re.escape(who.name)}\b")
        self._asked = {
            key: replace(one, because=name.sub(_SOMEBODY, one.because))
            for key, one in self._asked.items()
            if key[1] != who.id
        }
        self._standing = tuple(pair for pair in self._standing if pair[0][1] != who.id)

    def take(self, number: int) -> Pending | None:
        """Take out the approval with this number; None when there is none. Only its holder can then use it."""
        self._forget_the_late()
        found = (key for key, one in self._asked.items() if one.number == number and one.approved_by is not None)
        return self._asked.pop(next(found, ("", "")), None)

    def why_void(self, granted: Pending, requirement: Requirement) -> str:
        """Say why an approval that was taken out does not allow this call now; empty when it does."""
        if self._now() >= granted.expires_at:
            return TOO_LATE
        return difference(granted.requirement, requirement)

    def why_not(self, call: ToolCall, requirement: Requirement, requester: Principal | None) -> str:
        """Say why what was approved for the same words does not allow this call; empty when nothing was approved."""
        for (_, asker), given in self._asked.items():
            same = (given.tool, given.arguments) == (call.name, call.arguments)
            if same and given.approved_by and _id(requester) in {asker, given.approved_by.id}:
                return difference(given.requirement, requirement)
        return ""

    def waits(self, number: int) -> bool:
        """Tell whether a request of this number waits to be approved."""
        return self._find(number) is not None

    def _find(self, number: int) -> tuple[str, str] | None:
        """Return the key of the waiting request with this number."""
        self._forget_the_late()
        waiting = (key for key, one in self._asked.items() if one.number == number and one.approved_by is None)
        return next(waiting, None)

    def _forget_the_late(self) -> None:
        now = self._now()
        self._asked = {key: one for key, one in self._asked.items() if now < one.expires_at}
        if self._standing:
            self._standing = tuple(pair for pair in self._standing if now < pair[1].expires_at)

    def _make_room(self) -> None:
        """Drop requests over the limit, so that one requester's many requests do not push out those of others."""
        waiting = [key for key, one in self._asked.items() if one.approved_by is None]
        while len(waiting) > self._most:
            busiest = Counter(asker for _, asker in waiting).most_common(1)[0][0]
            oldest = next(key for key in waiting if key[1] == busiest)
            waiting.remove(oldest)
            del self._asked[oldest]


def digest_of(pending: Pending) -> str:
    """Return the hash that stands for the call of a request."""
    return digest(ToolCall("", pending.tool, pending.arguments), pending.requirement)


def digest(call: ToolCall, requirement: Requirement) -> str:
    """Return the hash that stands for exactly this call."""
    covers = [[target.id, target.name, target.where] for target in requirement.covers]
    permission, shown = clamp_level(requirement.permission), requirement.shown if requirement.commands else ""
    parts = (call.name, call.arguments, permission, requirement.commands, shown, covers)
    return sha256(canonical(*parts).encode()).hexdigest()


def _may_decide(who: Principal, pending: Pending) -> bool:
    """Tell whether `who` is a person who could do it themselves."""
    return who.kind in PEOPLE and label_of(who).authority >= pending.permission


def _id(who: Principal | None) -> str:
    return who.id if who else ""

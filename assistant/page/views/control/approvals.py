"""What waits for leave: the exact call, for whom, why, three buttons. A decision gives the digest of the call back."""

from __future__ import annotations

from collections.abc import Sequence

from mud_assistant.assistant.page.http.call import PageCall, Reply, Route, StreamReply
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.ports import InvalidInput, PageError
from mud_assistant.assistant.page.values.actions import ApprovalDecision, ApprovalView
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import duration
from mud_assistant.assistant.page.views.forms import action_form
from mud_assistant.assistant.page.views.layout import flash, page
from mud_assistant.assistant.page.views.parts import card, code_block, empty_state, key_values, link, path_to
from mud_assistant.assistant.page.views.shared import failure, html, spoken

_NOTHING = "This form says nothing that can be decided. Load the page again."
#: What each button does: (label, tone, whether it allows, how long, what happens).
_DECISIONS = {
    "allow": ("Allow once", "primary", True, "once", "It runs once, exactly as above."),
    "allow_hour": ("Allow for an hour", "plain", True, "hour", "The same exact call may also be made again."),
    "refuse": ("Refuse", "quiet-danger", False, "once", "It is not run, and the assistant is told so."),
}


def routes(desk: Desk) -> list[Route]:
    """Return the routes of the approvals."""

    async def show(call: PageCall) -> Reply | StreamReply:
        return html(approvals_page(call, await desk.approvals(call.visitor), await desk.standing(call.visitor)))

    async def decide(call: PageCall) -> Reply | StreamReply:
        try:
            if call.form.get("do") == "revoke":
                done = await desk.revoke(call.visitor, call.form.get("assistant", ""), _number(call))
                return flash(call, done.sentence, "approvals")
            assistant, number, decision = _decision(call)
            done = await desk.decide(call.visitor, assistant, number, decision)
        except PageError as error:
            waiting, standing = await desk.approvals(call.visitor), await desk.standing(call.visitor)
            return html(approvals_page(call, waiting, standing, error), error)
        return flash(call, done.sentence, "approvals")

    return [
        Route("GET", "/approvals", show),
        Route("POST", "/approvals", decide, needs=VisitorRole.OPERATOR),
    ]


def _decision(call: PageCall) -> tuple[str, int, ApprovalDecision]:
    """Read what was decided about which call. Raises InvalidInput."""
    known = _DECISIONS.get(call.form.get("do", ""))
    digest = call.form.get("digest", "")
    if known is None or not digest:
        raise InvalidInput(_NOTHING)
    _, _, allow, lasts, _ = known
    return call.form.get("assistant", ""), _number(call), ApprovalDecision(allow=allow, digest=digest, lasts=lasts)


def _number(call: PageCall) -> int:
    """Read which request is meant. Raises InvalidInput."""
    number = call.form.get("number", "")
    if not (number.isascii() and number.isdecimal() and len(number) < 10):  # noqa: PLR2004  (a number is never so long)
        raise InvalidInput(_NOTHING)
    return int(number)


def approvals_page(
    call: PageCall,
    waiting: Sequence[ApprovalView],
    standing: Sequence[ApprovalView] = (),
    error: PageError | None = None,
) -> bytes:
    """Return the page of what waits, of what was allowed for an hour, and of what went wrong with a decision."""
    return page(
        call,
        "Approvals",
        failure(error) if error else None,
        [_card(call, one) for one in waiting]
        or empty_state("Nothing waits for leave. What an assistant may not do by itself stands here until it expires."),
        card("Allowed for an hour", [_standing(call, one) for one in standing]) if standing else None,
        current="approvals",
        waiting=len(waiting),
        lead="Each is one exact call, decided once, by whoever comes first. A call that nobody decides on expires.",
        actions=h("a", "Raw JSON", href=path_to(call, "api", "v1", "approvals"), class_="button link"),
    )


def _card(call: PageCall, one: ApprovalView) -> Element:
    name = one.name or one.assistant
    requester = one.requester or one.requester_id
    exact = (
        h("p", spoken(call, one.shown)) if one.shown else None,
        code_block(one.arguments, f"Arguments of {one.tool}, exactly as they will run")
        if one.arguments
        else h("p", spoken(call, "", otherwise="It takes no arguments.")),
    )
    facts = key_values(
        ("Assistant", link(call, name, "a", one.assistant)),
        ("For", link(call, requester, "players", one.requester_id) if one.requester_id else requester or "nobody"),
        ("Because", spoken(call, one.because) if one.because else None),
        ("Needs", one.needs or None),
        ("Expires in", duration(max(0.0, one.expires_in))),
        ("Digest", h("code", one.digest[:16], title=one.digest)),
    )
    return card(
        f"{name}: {one.tool}",
        h("div", h("div", exact), h("div", facts), class_="approval"),
        h("div", [_button(call, one, do) for do in _DECISIONS], class_="decisions"),
        id_=f"approval-{one.digest[:12]}",
    )


def _standing(call: PageCall, one: ApprovalView) -> Element:
    """Return one call that may be made again without asking, and the button that ends this."""
    fields = {"assistant": one.assistant, "number": str(one.number)}
    return h(
        "div",
        key_values(
            ("Assistant", link(call, one.name or one.assistant, "a", one.assistant)),
            ("May do", h("code", spoken(call, one.shown or one.tool))),
            ("For", one.requester or one.requester_id),
            ("Allowed by", one.approved_by),
            ("Ends in", duration(max(0.0, one.expires_in))),
        ),
        action_form(call, path_to(call, "approvals"), "revoke", "End it now", fields=fields, tone="quiet-danger"),
        class_="approval",
    )


def _button(call: PageCall, one: ApprovalView, do: str) -> Element:
    label, tone, _, _, told = _DECISIONS[do]
    return action_form(
        call,
        path_to(call, "approvals"),
        do,
        label,
        fields={"assistant": one.assistant, "number": str(one.number), "digest": one.digest},
        tone=tone,
        describe=told,
    )

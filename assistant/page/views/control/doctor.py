"""The doctor: what was found last, and a button that looks again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mud_assistant.assistant.checks.finding import Finding
from mud_assistant.assistant.page.http.call import PageCall, Reply, Route, StreamReply, redirect
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.ports import Conflict, PageError
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import time_at
from mud_assistant.assistant.page.views.forms import choice_field, post_form, submit
from mud_assistant.assistant.page.views.layout import page
from mud_assistant.assistant.page.views.parts import card, empty_state, figure_tile, path_to, pill, table, tiles
from mud_assistant.assistant.page.views.shared import Named, failure, html, name_of, named_assistants

#: What each state of a check is called and how it looks, the worst first.
_STATES = {
    "wrong": ("wrong", "danger"),
    "unknown": ("not known", "warn"),
    "ok": ("ok", "ok"),
    "skipped": ("skipped", "quiet"),
}
#: How many assistants' last findings are kept.
_KEPT = 50


class LastFindings:
    """What was found last for each assistant, and when. The oldest are dropped when there are too many."""

    def __init__(self) -> None:
        self._found: OrderedDict[str, tuple[float, tuple[Finding, ...]]] = OrderedDict()
        self._looking: set[str] = set()

    @contextmanager
    def looking(self, assistant: str) -> Iterator[None]:
        """Hold off others while one looks. Raises Conflict when somebody looks already."""
        if assistant in self._looking:
            raise Conflict("The doctor looks already. Load the page again in a minute.")
        self._looking.add(assistant)
        try:
            yield
        finally:
            self._looking.discard(assistant)

    def keep(self, assistant: str, at: float, found: Sequence[Finding]) -> None:
        """Keep what was found for an assistant, "" for all."""
        self._found[assistant] = (at, tuple(found))
        self._found.move_to_end(assistant)
        while len(self._found) > _KEPT:
            self._found.popitem(last=False)

    def last(self, assistant: str) -> tuple[float, tuple[Finding, ...]] | None:
        """Return when one was looked at and what was found, None when it was not."""
        return self._found.get(assistant)


def routes(desk: Desk) -> list[Route]:
    """Return the routes of the doctor.

    A check is answered when it is over. It goes on when the browser leaves, and its findings are there later.
    """
    findings = LastFindings()

    async def show(call: PageCall) -> Reply | StreamReply:
        assistant = call.query.get("assistant", "")
        named = await named_assistants(desk, call.visitor)
        return html(doctor_page(call, assistant, named, findings.last(assistant)))

    async def run(call: PageCall) -> Reply | StreamReply:
        assistant = call.form.get("assistant", "")
        try:
            with findings.looking(assistant):
                found = await desk.doctor(call.visitor, assistant)
        except PageError as error:
            named = await named_assistants(desk, call.visitor)
            return html(doctor_page(call, assistant, named, findings.last(assistant), error), error)
        findings.keep(assistant, (await desk.overview(call.visitor)).at, found)
        return redirect(path_to(call, "doctor", assistant=assistant))

    return [
        Route("GET", "/doctor", show, needs=VisitorRole.OPERATOR),
        Route("POST", "/doctor", run, needs=VisitorRole.OPERATOR),
    ]


def doctor_page(
    call: PageCall,
    assistant: str,
    assistants: Named,
    last: tuple[float, Sequence[Finding]] | None,
    error: PageError | None = None,
) -> bytes:
    """Return the page with what was found last for an assistant, "" for all."""
    return page(
        call,
        "Doctor",
        failure(error) if error else None,
        _form(call, assistant, assistants),
        _findings(assistant and name_of(assistants, assistant), last),
        current="doctor",
        lead="Looks whether models, keys, network, journal and installation do what they should. It changes nothing.",
    )


def _form(call: PageCall, assistant: str, assistants: Named) -> Element:
    return post_form(
        call,
        path_to(call, "doctor"),
        choice_field("assistant", "What to look at", [("", "all assistants"), *assistants], assistant),
        submit("Look now", "primary"),
        h(
            "p",
            "It asks each model a short question, so it may take a minute: the page comes when it is over.",
            class_="hint",
        ),
        fields={"do": "run"},
        class_="filters doctor-form",
    )


def _findings(name: str, last: tuple[float, Sequence[Finding]] | None) -> list[Element]:
    of_whom = f" of {name}" if name else ""
    if last is None:
        return [empty_state(f"The doctor did not look{of_whom and ' at ' + name} since the page was started.")]
    at, found = last
    counts = [
        figure_tile(label.capitalize(), sum(each.state == state for each in found))
        for state, (label, _) in _STATES.items()
    ]
    return [
        tiles(*counts),
        card(
            f"What was found{of_whom}",
            h("p", "Looked at ", time_at(at), ". What is wrong stands first, with what to do.", class_="quiet"),
            finding_table(found),
        ),
    ]


def finding_table(found: Sequence[Finding]) -> Element:
    """Return what was found as a table, the worst first."""
    order = list(_STATES)
    ranked = sorted(found, key=lambda each: order.index(each.state))
    rows = [(each.check, pill(*_STATES[each.state]), each.sentence) for each in ranked]
    return table(
        "Checks, the worst first",
        ("Check", "State", "What was found, and what to do"),
        rows,
        empty="There was nothing to check.",
    )

"""A few lines with an assistant: what the visitor said lately, what came of it, and a form to say more."""

from __future__ import annotations

import orjson

from mud_assistant.assistant.page.http.call import PageCall, Reply, Route, StreamReply
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.ports import PageError
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.values.runs import RunQuery, RunView
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import time_at
from mud_assistant.assistant.page.views.forms import post_form, submit, text_field
from mud_assistant.assistant.page.views.layout import flash, page
from mud_assistant.assistant.page.views.parts import card, empty_state, link, path_to, words
from mud_assistant.assistant.page.views.shared import failure, html, name_of, named_assistants, typed

_PATTERN = "/a/{id}/talk"
#: How many exchanges are shown, the last one first.
_SHOWN = 5


def routes(desk: Desk) -> list[Route]:
    """Return the routes of the talk with an assistant."""

    async def show(call: PageCall) -> Reply | StreamReply:
        return html(await _page(desk, call))

    async def say(call: PageCall) -> Reply | StreamReply:
        assistant, text = call.parts["id"], typed(call.form, "text")
        try:
            done = await desk.say(call.visitor, assistant, text)
        except PageError as error:
            return html(await _page(desk, call, text, error), error)
        return flash(call, done.sentence, "a", assistant, "talk")

    return [
        Route("GET", _PATTERN, show, needs=VisitorRole.OWNER),
        Route("POST", _PATTERN, say, needs=VisitorRole.OWNER),
    ]


async def _page(desk: Desk, call: PageCall, text: str = "", error: PageError | None = None) -> bytes:
    who, assistant = call.visitor, call.parts["id"]
    name = name_of(await named_assistants(desk, who), assistant)
    found = await desk.runs(who, RunQuery(assistant=assistant, player=who.principal.id, limit=_SHOWN))
    runs = [await desk.run(who, one.id) for one in found.runs]
    return page(
        call,
        f"Talk with {name}",
        failure(error) if error else None,
        _form(call, name, text),
        card("Lately", [_exchange(call, run, name) for run in runs] or empty_state("You have said nothing yet.")),
        current="overview",
        lead="It is as if you said it aloud where it is: it may tell others of it. Who is there hears the answer.",
        stop=(assistant, name),
        crumbs=((name, path_to(call, "a", assistant)),),
    )


def _form(call: PageCall, name: str, text: str) -> Element:
    return card(
        f"Say something to {name}",
        post_form(
            call,
            path_to(call, "a", call.parts["id"], "talk"),
            text_field("text", "What you say", text, required=True),
            submit("Say it", "primary"),
            h("p", "The page comes with the answer, or without it after twenty seconds.", class_="hint"),
        ),
    )


def _exchange(call: PageCall, run: RunView, name: str) -> Element:
    said = answers_in(run)
    return h(
        "section",
        h("p", h("strong", "You: "), words(run.summary.heard)),
        h("p", h("strong", f"{name}: "), words(said) if said else h("span", run.summary.sentence, class_="quiet")),
        h(
            "p",
            time_at(run.summary.opened_at, precise=True),
            " \u00b7 ",
            link(call, "the run", "runs", run.summary.id),
            class_="sub",
        ),
        class_="exchange",
    )


def answers_in(run: RunView) -> str:
    """Return what it said in a run; what nobody there could hear stands only in its last call."""
    if run.summary.said:
        return run.summary.said
    spoken = [call.arguments for step in run.steps for call in step.calls if call.is_speech]
    if not spoken:
        return ""
    try:
        return str(orjson.loads(spoken[-1]).get("text", ""))
    except (orjson.JSONDecodeError, AttributeError):
        return ""

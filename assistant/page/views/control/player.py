"""A player: how much is kept of them, and the way to have it forgotten."""

from __future__ import annotations

from mud_assistant.assistant.page.http.call import PageCall, Reply, Route, StreamReply
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.ports import InvalidInput, NotFound, PageError
from mud_assistant.assistant.page.values.actions import PlayerView
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import number
from mud_assistant.assistant.page.views.forms import action_form, submit
from mud_assistant.assistant.page.views.layout import flash, page
from mud_assistant.assistant.page.views.parts import (
    card,
    empty_state,
    figure_tile,
    key_values,
    link,
    notice,
    path_to,
    tiles,
)
from mud_assistant.assistant.page.views.shared import failure, html


def routes(desk: Desk) -> list[Route]:
    """Return the routes of a player's page."""

    async def show(call: PageCall) -> Reply | StreamReply:
        try:
            player = await desk.player(call.visitor, call.parts["id"])
        except NotFound as error:
            if "done" not in call.query:
                raise
            return html(_gone(call), error)
        if call.query.get("forget"):
            return html(forget_page(call, player))
        return html(player_page(call, player))

    async def forget(call: PageCall) -> Reply | StreamReply:
        player = call.parts["id"]
        try:
            if call.form.get("do") != "forget" or call.form.get("sure") != "yes":
                raise InvalidInput("Tick the box to say that it cannot be undone.")
            done = await desk.forget_player(call.visitor, player)
        except PageError as error:
            return html(forget_page(call, await desk.player(call.visitor, player), error), error)
        return flash(call, done.sentence, "players", player)

    return [
        Route("GET", "/players/{id}", show),
        Route("POST", "/players/{id}", forget, needs=VisitorRole.OWNER),
    ]


def player_page(call: PageCall, player: PlayerView) -> bytes:
    """Return the page of a player: counts, and never their words."""
    name = player.name or player.id
    return page(
        call,
        name,
        tiles(
            figure_tile("Runs", number(player.runs), "that they had a part in"),
            figure_tile("Memories", number(player.memories), "kept of them by all assistants"),
            figure_tile("Muted by", number(len(player.muted_by)), "that neither hear nor remember them"),
        ),
        card(
            "What is kept",
            key_values(
                ("Id", h("code", player.id)),
                ("Muted by", ", ".join(player.muted_by) or "nobody"),
                ("Runs", link(call, "Look at their runs", "runs", player=player.id)),
                ("Costs", link(call, "See what they cost", "money", by="player")),
            ),
        ),
        _forget_card(call, player),
        current="runs",
        lead="What is kept of a player, as counts.",
        crumbs=(("Runs", path_to(call, "runs")),),
    )


def _forget_card(call: PageCall, player: PlayerView) -> Element:
    may = call.visitor.role.may(VisitorRole.OWNER)
    way = path_to(call, "players", player.id, forget="1")
    return card(
        "Forget this player",
        h(
            "p",
            "Deletes what every assistant keeps of them: memories, notes and what they said. Nothing brings it back.",
        ),
        h("p", h("a", "Forget\u2026", href=way, class_="button danger"))
        if may
        else h("p", "Only an owner may do it.", class_="quiet"),
    )


def forget_page(call: PageCall, player: PlayerView, error: PageError | None = None) -> bytes:
    """Return the page that asks whether a player should be forgotten."""
    name, way = player.name or player.id, path_to(call, "players", player.id)
    return page(
        call,
        f"Forget {name}?",
        failure(error) if error else None,
        notice(
            f"All assistants forget {name}: {number(player.memories)} memories, and words in {number(player.runs)} "
            "runs. It cannot be undone.",
            tone="warn",
        ),
        _sure_form(call, way, name),
        h("p", h("a", "Keep everything", href=way, class_="button plain")),
        current="runs",
        crumbs=(("Runs", path_to(call, "runs")), (name, way)),
    )


def _sure_form(call: PageCall, way: str, name: str) -> Element:
    if not call.visitor.role.may(VisitorRole.OWNER):
        return action_form(call, way, "forget", f"Forget {name}", tone="danger", needs=VisitorRole.OWNER)
    sure = h(
        "div",
        h("input", type="checkbox", id="f-sure", name="sure", value="yes", required=True),
        h("label", "I know that it cannot be undone", for_="f-sure"),
        class_="check",
    )
    fields = [h("input", type="hidden", name=key, value=text) for key, text in (("csrf", call.csrf), ("do", "forget"))]
    return h("form", fields, sure, submit(f"Forget {name}", "danger"), method="post", action=way, class_="form")


def _gone(call: PageCall) -> bytes:
    return page(
        call,
        "Player",
        empty_state("Nothing is kept of this player.", h("p", link(call, "All runs", "runs"))),
        current="runs",
    )

"""Finds runs and players, and leaves out the words of players for whoever may not read them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from mud_assistant.assistant.page.operations.sources import Sources
from mud_assistant.assistant.page.ports import NotFound
from mud_assistant.assistant.page.values.actions import PlayerView
from mud_assistant.assistant.page.values.runs import AskedRequest, CallView, RunPage, RunSummary, RunView, StepView

_NOT_KEPT = "the bytes that were sent are kept in memory for the latest requests only"


async def find_run(sources: Sources, run: str) -> RunView:
    """Return one run as a tree. Raises NotFound."""
    found = await sources.records.run(run)
    if found is None:
        raise NotFound("there is no run of this id: it was forgotten, or is older than what the journal keeps")
    asked = sources.asked(found.summary.assistant, run)
    befores = (0, *(step.number for step in found.steps))
    steps = tuple(_with_requests(step, before, asked) for before, step in zip(befores, found.steps, strict=False))
    return replace(found, steps=steps)


async def find_player(sources: Sources, player: str) -> PlayerView:
    """Return what is kept of a player, as counts."""
    found = await sources.records.player(player)
    names = await sources.host.names([player])
    muted = [
        runner.embodiment.me.name
        for runner in sources.service.runners.values()
        if runner.assistant is not None and player in runner.assistant.rights.muted
    ]
    name = names.get(player, found.name or player)
    return replace(found, name=name, muted_by=tuple(muted))


def _with_requests(step: StepView, before: int, asked: Sequence[AskedRequest]) -> StepView:
    """Return the step with the requests that were sent for it, or why they are not shown.

    `before` is the number of the step shown before it. One between them is the first sentence of its answer, spoken
    early, and the request stands under that.
    """
    own = tuple(one for one in asked if before < one.step <= step.number)
    why_not = "" if own or not step.provider else _NOT_KEPT
    return replace(step, asked=own, why_not=why_not)


def without_words(page: RunPage) -> RunPage:
    """Return a list of runs without what was heard and said."""
    return replace(page, runs=tuple(map(_hide_summary, page.runs)))


def hide_run(run: RunView) -> RunView:
    """Return a run without the words of players and of the model: only what was called, how long it took and cost."""
    return RunView(
        summary=_hide_summary(run.summary),
        heard=tuple(replace(line, text="") for line in run.heard),
        steps=tuple(map(_hide_step, run.steps)),
        steps_left_out=run.steps_left_out,
        unreadable=run.unreadable,
        is_hidden=True,
        replay=run.replay,
    )


def _hide_summary(summary: RunSummary) -> RunSummary:
    return replace(summary, heard="", said="", sentence="")


def _hide_step(step: StepView) -> StepView:
    calls = tuple(map(_hide_call, step.calls))
    return replace(step, asked=(), why_not="", reasoning="", text="", calls=calls)


def _hide_call(call: CallView) -> CallView:
    return replace(call, arguments="", result="", judged="")

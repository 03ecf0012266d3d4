"""Lets those who watch hear a model's answer as it comes, and see what the model is asked.

It changes neither the request, nor its retries, nor what of an answer is spoken early.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from mud_assistant.assistant.events.watching import Watchers
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.llm import ActingListener, OnRequest, StreamEvent


class Overheard(ActingListener):
    """A listener that tells the watchers each piece of one answer, and then does what the listener `inner` does."""

    def __init__(self, watchers: Watchers, me: str, run_id: str, step: int, inner: ActingListener | None) -> None:
        self._watchers = watchers
        self._me = me
        self._run_id = run_id
        self._step = step
        self._inner = inner

    @property
    def acted(self) -> bool:
        """Whether the inner listener did something. Being watched is nothing that must be taken back."""
        return self._inner is not None and self._inner.acted

    def begins(self, *, text_is_answer: bool, as_text: bool = False) -> None:
        """Note that an attempt begins."""
        self._watchers.begins(self._me, self._run_id, self._step)
        if self._inner is not None:
            self._inner.begins(text_is_answer=text_is_answer, as_text=as_text)

    def __call__(self, event: StreamEvent) -> Deferred[None] | None:
        """Tell the watchers of one piece, and pass it on."""
        self._watchers.delta(self._me, self._run_id, self._step, event)
        return None if self._inner is None else self._inner(event)


def overheard(context: RunContext, run: Run, listener: ActingListener | None = None) -> ActingListener | None:
    """Return a listener for the next answer that lets watchers hear it as well; `listener` while nobody watches."""
    if not context.process.watchers.is_watched:
        return listener
    return Overheard(context.process.watchers, context.body.me.id, run.id, run.meter.steps + 1, listener)


def request_hook(context: RunContext, run: Run) -> OnRequest | None:
    """Return what is shown the requests of the next step, None when nobody keeps requests."""
    keeper = context.process.watchers.requests
    if keeper is None:
        return None
    me, run_id, step = context.body.me.id, run.id, run.progress.written + 1
    return lambda url, body: keeper.asked(me, run_id, step, url, body)

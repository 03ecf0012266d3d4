"""Acts by rule, without asking a model: walks after the person it follows, and goes home when left alone.

An event that asks for such a call carries it (`ByRule`) and has a run of its own. The call is recorded, judged by
policy and made like any other, and the run ends.
"""

from __future__ import annotations

from dataclasses import replace

from twisted.logger import Logger

from assistant.events.classify import Attention, Classification
from assistant.events.events import ByRule, Event, Left, Noticed
from assistant.events.outcome import Answered, NothingToDo, Outcome
from assistant.journal import InboxFullError
from assistant.loop.acting import act, answer_by_rule
from assistant.loop.run import Run
from assistant.loop.run_context import RunContext
from llm import ToolCall
from tools import Kind, Principal, Status
from tools.context import A_MINUTE

MOVE, HOME = "move", "home"
#: The line that tells the assistant that it goes home by itself.
LEFT_ALONE = "Nobody is here any more. You go home."
_IMPORTANCE = 3
#: The cause of events that no person caused.
_THE_WORLD = Principal("world", "the world", Kind.WORLD, permission=0)

_log = Logger()


def walking_after(context: RunContext, event: Event, attention: Attention) -> tuple[Event, Attention]:
    """Make the departure of the person whom the character follows a trigger to walk after them.

    Any other event is returned unchanged. Following ends when they left by no exit that the character sees. It
    also ends when they are an assistant, because assistants do not follow each other.
    """
    if not isinstance(event, Left) or not context.following.leads(event.who.id):
        return event, attention
    if not event.direction or event.who.kind is Kind.ASSISTANT:
        context.following.end()
        return event, attention
    by_rule = ByRule(MOVE, {"direction": event.direction}, context.following.asker)
    return replace(event, by_rule=by_rule), Attention(Classification.TRIGGER, _IMPORTANCE)


async def act_by_rule(context: RunContext, run: Run, by_rule: ByRule) -> Outcome:
    """Make the call that the run is for, if it is still to be made. A call that a dead process began counts as made."""
    assert run.trigger is not None
    if run.written:
        return Answered((by_rule.tool,))
    event = run.trigger.event
    if not (context.following.leads(event.who.id) if by_rule.tool == MOVE else context.world.is_left_alone()):
        return NothingToDo()
    call = ToolCall(event.id, by_rule.tool, by_rule.arguments)
    [done] = await act(context, run, await answer_by_rule(context, run, call), 0)
    if done.status is Status.DONE:
        return Answered((by_rule.tool,))
    context.following.end()
    _log.info("{name} did not {tool}: {why}", name=context.me.name, tool=by_rule.tool, why=done.result.text)
    return NothingToDo()


class Homing:
    """Notices that a character was left alone away from home, and sends it there.

    It is asked at every tick, so that no assistant needs another timer.
    """

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._since: float | None = None

    async def look(self) -> None:
        """Note whether the character is alone, and send it home when it has been alone for long enough.

        Raises JournalError.
        """
        context = self._context
        now, seconds = context.clock.seconds(), context.settings.go_home_minutes * A_MINUTE
        if not seconds or HOME not in context.rules.grant or not context.world.is_left_alone():
            self._since = None
            return
        if self._since is None:
            self._since = now
        if now - self._since < seconds:
            return
        self._since = now  # if it does not go, it tries again after the same time
        id_ = f"{context.me.id}.home.{context.random.getrandbits(64):x}"
        event = Noticed(id=id_, at=now, who=_THE_WORLD, text=LEFT_ALONE, by_rule=ByRule(HOME, {}))
        try:
            await context.journal.accept(event, Attention(Classification.TRIGGER, _IMPORTANCE))
        except InboxFullError as full:
            _log.warn("{name} does not go home yet: {why}", name=context.me.name, why=str(full))

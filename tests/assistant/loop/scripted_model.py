"""The model of a model of runs: it answers each line by its plan, at the expense of whoever pays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock

from mud_assistant.llm import (
    BudgetReached,
    FinishReason,
    LLMDeadlineExceeded,
    LLMResponse,
    Message,
    ModelChain,
    Unavailable,
    Usage,
)
from mud_assistant.llm import assistant as assistant_message
from mud_assistant.llm.messages import Text
from mud_assistant.llm.response import CallDelta, TextDelta
from mud_assistant.resilience import Amount, BudgetSpent, Ledger
from tests.assistant.loop.noted_life import Faults, Notes
from tests.assistant.loop.planned_lines import SECRET, Answer, answer_to, calls_of, steps_taken

#: A call costs so much.
COST = Amount(calls=1, tokens=20)


class ScriptedModel(ModelChain):
    """Answers each line by its plan, and fails when that is due."""

    def __init__(self, like: ModelChain, clock: Clock, ledger: Ledger, faults: Faults, notes: Notes) -> None:
        super().__init__(like.links, clock)
        self.clock, self.ledger, self.faults, self.notes = clock, ledger, faults, notes
        #: The numbers of the lines whose answer broke off: the next one comes to its end.
        self.broken: set[int] = set()

    def chat_completion(self, messages: Sequence[Message], tools: Any = None, **options: Any) -> Deferred[LLMResponse]:
        """Return the answer, or fail."""
        self.faults.store.check_alive()
        caller, messages = options["caller"], tuple(messages)
        try:
            reserved = self.ledger.reserve(caller.accounts, COST)
        except BudgetSpent as spent:
            self.notes.refused(spent)
            return fail(BudgetReached(str(spent), account=spent.account, what=spent.what))
        reserved.settle(COST)
        text = texts_of(messages)
        line = self.notes.asked(caller, text)
        if self.faults.due("model"):
            return fail(Unavailable("it is away"))
        if self.faults.due("model hangs"):
            late: Deferred[LLMResponse] = Deferred(lambda _: timer.cancel())
            slow = LLMDeadlineExceeded("it took too long")
            timer = self.clock.callLater(options["deadline"].remaining(), late.errback, slow)
            return late
        step = steps_taken(line, messages)
        answer = answer_to(line, step, secrets_in(text))
        calls = calls_of(line, step, answer)
        if answer.streamed and options["listener"] is not None:
            _stream(options["listener"], calls[0].id if calls else "", answer)
        if answer.is_broken and line.number not in self.broken:
            self.broken.add(line.number)
            return fail(Unavailable("it broke off"))
        message = assistant_message(*(calls or ([Text(answer.text)] if answer.text else [])))
        reason = FinishReason.TOOL_CALLS if calls else FinishReason.STOP
        return succeed(LLMResponse(message, reason, Usage(10, 10), "scripted", "m"))


def texts_of(messages: Iterable[Message]) -> str:
    """All that the model reads."""
    texts: list[str] = []
    for message in messages:
        texts.append(message.text)
        texts += [str(call.arguments) for call in message.tool_calls]
        texts += [result.text for result in message.tool_results]
    return "\n".join(texts)


def secrets_in(text: str) -> list[str]:
    """The words that were told in private, as far as the model reads them."""
    return list(dict.fromkeys(found[0] for found in SECRET.finditer(text)))


def _stream(listener: Any, call_id: str, answer: Answer) -> None:
    """Let the listener hear an answer word by word."""
    listener.begins(text_is_answer=bool(answer.text))
    words = [f"{word} " for word in answer.streamed.split()]
    if answer.text:
        for word in words:
            listener(TextDelta(word))
        return
    listener(CallDelta(id=call_id, name="say", arguments='{"text": "'))
    for word in words:
        listener(CallDelta(id=call_id, arguments=word))

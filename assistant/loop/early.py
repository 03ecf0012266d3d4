"""Speaks the first sentence of an answer while the rest of it still comes (docs/decisions/0010-the-first-sentence.md).

An early sentence goes the way of every call: it is recorded as an answer of its own, judged by policy, with an intent
before and a result after. The stream is not delayed for it. Anything that is not plainly the beginning of speech waits
for the whole answer.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from twisted.internet.defer import CancelledError, Deferred

from mud_assistant.assistant.events.events import ChannelSaid
from mud_assistant.assistant.loop.acting import carry_out, text_as_call
from mud_assistant.assistant.loop.promise_goals import may_promise
from mud_assistant.assistant.loop.recovery import MAYBE_HEARD, SAY, BegunSpeech
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.run_parts import CharacterBody
from mud_assistant.assistant.loop.speech.screening import Repeat
from mud_assistant.assistant.loop.speech.sentence import GrowingArgument, first_sentence
from mud_assistant.llm import ActingListener, FinishReason, LLMResponse, StreamEvent, ToolCall, Usage
from mud_assistant.llm import assistant as assistant_message
from mud_assistant.llm.response import CallDelta, ServerBlockSeen, TextDelta
from mud_assistant.llm.wire.accumulate import Accumulator
from mud_assistant.tools import NOTHING_YET, Kind
from mud_assistant.tools.policy.decide import base_permission

#: How words begin that must be seen as a whole: quoted, acted, formatted, or a call in some form.
_WHOLE_FIRST = re.compile("[\"'\u201c\u201e\u201d\u2018\u00ab`*_#<>{(\\[|~-]")
#: A mark of a source, of code, or of a gesture, which only the whole tells from words.
_MARKED = re.compile("[\\[`*(\u3010]")
#: Text that may be a call or a label: `say: `, `Action: `, `say(`.
_LABELLED = re.compile(r"[\w .-]{1,40}[:(=]")


@dataclass(slots=True)
class _FirstCall:
    """The first call of an answer while it is being written, and what it says in its one argument."""

    calls: Accumulator = field(default_factory=lambda: Accumulator((), lambda: ""))
    words: GrowingArgument = field(default_factory=lambda: GrowingArgument("text"))
    pieces_read: int = 0


class FirstSentence(ActingListener):
    """Listens to one answer and says its first sentence once. `say` returns whether it may have been heard.

    `is_fit` judges the sentence. `text_speaks` tells whether plain text counts as speech, for a model that can be
    trusted with it.
    """

    def __init__(
        self, say: Callable[[str], Awaitable[bool]], is_fit: Callable[[str], bool], text_speaks: Callable[[], bool]
    ) -> None:
        self._say = say
        self._is_fit = is_fit
        self._text_speaks = text_speaks
        self._speaking: Deferred[None] | None = None
        self._refused = False
        self._has_sources = False
        self.begins(text_is_answer=False)

    @property
    def acted(self) -> bool:
        """Whether a sentence is spoken, or being spoken."""
        return self._speaking is not None and not self._refused

    def begins(self, *, text_is_answer: bool, as_text: bool = False) -> None:
        """Forget what was heard. Only one sentence is tried, in whichever attempt it comes."""
        self._over = self._speaking is not None or self._has_sources
        self._text = "" if text_is_answer and self._text_speaks() else None
        self._remark = ""
        self._call: _FirstCall | None = None
        self._looked = 0

    def __call__(self, event: StreamEvent) -> None:
        """Hear one event."""
        if self._remark and not self._over and not (isinstance(event, TextDelta) and event.is_commentary):
            self._end_commentary()
        if self._over:
            return
        match event:
            case CallDelta():
                self._hear_call(event)
            case TextDelta(text, is_commentary=True):
                self._hear_commentary(text)
            case TextDelta(text) if self._text is not None:
                is_first, self._text = not self._text, self._text + text
                words = self._text.lstrip()
                if _LABELLED.match(words):
                    self._over = True
                elif not is_first:  # text that comes in one piece leaves nothing to speak ahead of
                    self._consider(words)
            case ServerBlockSeen():  # its sources belong below the whole
                self._over = self._has_sources = True

    async def over(self) -> None:
        """Wait until the sentence is said. Raises what saying it raised; cancelling stops it."""
        if self._speaking is not None:
            await self._speaking

    async def stop(self) -> None:
        """Stop saying the sentence; returns when that is over. Raises what saying it raised."""
        if self._speaking is not None:
            self._speaking.cancel()
            try:
                await self._speaking
            except CancelledError:
                return

    def _hear_commentary(self, text: str) -> None:
        """Hear a piece of what the model says on its way to the answer. That is speech whatever comes after it."""
        if self._text or self._call is not None or not self._text_speaks():
            return
        self._remark += text
        if not _LABELLED.match(words := self._remark.lstrip()):
            self._consider(words)

    def _end_commentary(self) -> None:
        """Hear that the commentary is whole: its last sentence ends where it ends."""
        self._hear_commentary("\n")
        self._remark, self._looked = "", 0

    def _hear_call(self, piece: CallDelta) -> None:
        """Hear a piece of a call. Only the first call counts, and only what it says in its one argument."""
        if self._call is None:
            self._call = _FirstCall()
        heard = self._call
        heard.calls.feed(piece)
        first = next(iter(heard.calls.open_calls), None)
        if first is None:  # an empty call, which some servers send beside every text
            return
        self._text = None
        if not first.has_arguments:
            return
        if first.name != SAY or first.whole is not None:
            self._over = True
            return
        is_first, words = heard.pieces_read == 0, heard.words
        for text in first.pieces[heard.pieces_read :]:
            words.feed(text)
        heard.pieces_read = len(first.pieces)
        if not (is_first and words.closed):  # a call that comes in one piece leaves nothing to speak ahead of either
            self._consider(words.text.lstrip())
        self._over = self._over or words.failed or words.closed

    def _consider(self, words: str) -> None:
        sentence = first_sentence(words, self._looked)
        self._looked = len(words)
        if sentence == "":
            return
        self._over = True
        if sentence is not None and self._is_fit(sentence):
            self._speaking = Deferred.fromCoroutine(self._speak(sentence))

    async def _speak(self, sentence: str) -> None:
        self._refused = not await self._say(sentence)


async def complete_with_speech(listener: FirstSentence, answer: Deferred[LLMResponse]) -> LLMResponse:
    """Await the model's answer and any early speech; return the answer or raise its error. Cancelling cancels both."""
    try:
        response = await answer
    except CancelledError:
        await listener.stop()
        raise
    except Exception:
        await listener.over()
        raise
    await listener.over()
    return response


def first_sentence_listener(context: RunContext, run: Run) -> FirstSentence | None:
    """Return the listener for the next answer of this run, None when only the whole answer may be spoken."""
    tool, asks = context.tools.registry.get(SAY), run.requester
    if not context.settings.speak_early or tool is None or tool.name not in context.rules.grant:
        return None
    if base_permission(tool, context.rules.required_permission) > 0 or (
        asks is not None and asks.kind is Kind.ASSISTANT
    ):
        return None  # an approval is for the whole, and only the whole shows whether it is an echo
    if len(run.web.citations) > 0 or run.hearers is not None or _is_elsewhere(run):
        return None  # an answer to another place is never said aloud, not even its beginning

    async def say(sentence: str) -> bool:
        return await _say(context, run, sentence)

    return FirstSentence(say, lambda sentence: _is_fit(context, run, sentence), lambda: _text_speaks(context, run))


def _is_elsewhere(run: Run) -> bool:
    return run.trigger is not None and isinstance(run.trigger.event, ChannelSaid)


async def _say(context: RunContext, run: Run, sentence: str) -> bool:
    """Say the sentence as a step of its own; return whether it may have been heard."""
    call = ToolCall(f"{run.id}.{run.progress.written + 1}.early", SAY, {"text": sentence})
    message = assistant_message(call)
    response = LLMResponse(message, FinishReason.TOOL_CALLS, Usage(), "", "", is_beginning=True)
    step = run.write_answer(response)
    [executed] = await carry_out(context, run, step, (call,), NOTHING_YET)
    if executed.status not in MAYBE_HEARD:
        return False
    context.body.pieces.scrub(sentence)
    run.early.begin(BegunSpeech(sentence, message, executed, context.process.clock.seconds()))
    return True


def _is_fit(context: RunContext, run: Run, sentence: str) -> bool:
    """Tell whether the sentence can be spoken as it stands, whatever comes after it."""
    if context.process.clock.seconds() > run.late_from:
        return False
    if repeated_in(context, run, sentence) or may_promise(context, run, sentence):
        return False
    own_name = re.match(rf"{re.escape(context.body.me.name)}\b", sentence, re.IGNORECASE)
    marked = _WHOLE_FIRST.match(sentence) or _MARKED.search(sentence)
    return not own_name and not marked and sentence.isprintable() and _holds_no_key(context.body, sentence)


def repeated_in(context: RunContext, run: Run, said: str) -> Repeat | None:
    """Return what `said`, an answer of this run, only repeats; None when it has words of its own.

    What is known to the character alone is never read out, even where the owner lets it repeat anything else.
    """
    if context.memory.known.secret and context.memory.known.gives_away(said, run.texts):
        return Repeat.HIDDEN
    if context.settings.may_repeat:
        return None
    return context.speech.repeats.found_in(said, run.texts, did=bool(run.progress.executed))


def _holds_no_key(body: CharacterBody, sentence: str) -> bool:
    """Tell whether the sentence holds no part of a key, not even one that only the whole answer would show."""
    return body.scrub(sentence) == sentence and body.pieces.is_free(sentence)


def _text_speaks(context: RunContext, run: Run) -> bool:
    """Tell whether plain text is said aloud under the owner's setting."""
    call = text_as_call(context, run, "words")
    return call is not None and call.name == SAY

"""Says without a model what people told the character, where a line asks for just that, and returns a gesture."""

from __future__ import annotations

import re

from mud_assistant.assistant.language.knowing import stems, stems_of
from mud_assistant.assistant.language.words import content_words, sentences_of, words_of
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.speech.manner import response_of, speech_call
from mud_assistant.assistant.loop.talk.question import Question, without_name
from mud_assistant.assistant.memory.acquaintance.asked_parts import asks_own_words
from mud_assistant.assistant.memory.acquaintance.spoken_answers import KnownAnswer
from mud_assistant.llm import LLMResponse, ToolCall
from mud_assistant.tools.memories import MemoryKind
from mud_assistant.tools.text.clean import clean_heard

#: The most characters of a line that is repeated.
MOST_QUOTED = 200
#: The most words that an answer of a model adds to what was told.
MOST_NEW = 1
_ABOUT = re.compile(r"(?i)\b(?:about|of)\b")
_REPEATED = ('You told me: "{text}"', 'You said, and I remember it: "{text}"')
_NOT_REMEMBERED = "Nothing that I remember."
#: What is done to somebody who did so.
_RETURNED = {
    "waves": "waves back at {who}.", "nods": "nods back at {who}.", "smiles": "smiles back at {who}.",
    "grins": "grins back at {who}.", "winks": "winks back at {who}.", "bows": "bows to {who} in turn.",
    "curtsies": "bows to {who} in turn.", "curtseys": "bows to {who} in turn.", "salutes": "salutes {who} in turn.",
    "beams": "smiles back at {who}.", "hugs": "hugs {who} back.",
}  # fmt: skip


def tell_known(context: RunContext, run: Run, asked: Question) -> LLMResponse | None:
    """Return the words for a line that asks what somebody told the character; None where a model is to say it.

    A model says it in words of its own, which `agrees` judges, once it has answered anything: its first answer takes
    long. Where nothing was told, it would only invent something.
    """
    answer = _words_of_their_own(run, asked) or run.recalled.answer
    if answer is not None and not answer.may_be_reworded and _is_told_elsewhere(run, asked):
        answer = None
    run.recalled.answer = answer
    if answer is None or (answer.may_be_reworded and context.speech.waking.has_answered):
        return None
    call = speech_call(context.rules, run, answer.text)
    return None if call is None else response_of([call])


def _is_told_elsewhere(run: Run, asked: Question) -> bool:
    """Tell whether a memory has to do with what the line asks of somebody."""
    names = {
        word
        for name in (asked.view.name, *asked.view.people, *(one.name for one in run.recalled.memories))
        for word in words_of(name)
    }
    about = stems(content_words(asked.text) - names)
    return any(about & stems_of(one.text) for one in run.recalled.memories)


def agrees(said: str, answer: KnownAnswer, line: str) -> bool:
    """Tell whether an answer to a line tells what is known, and next to nothing else."""
    asked = stems_of(line)
    quoted = stems_of(answer.quoted) - asked
    words = stems_of(said)
    new = words - asked - stems_of(answer.text)
    return len(new) <= MOST_NEW and (not quoted or not quoted.isdisjoint(words))


def _words_of_their_own(run: Run, asked: Question) -> KnownAnswer | None:
    """Return what the speaker said of what they ask for, word for word; None where they do not ask for that."""
    if run.requester is None or not asks_own_words(asked.text):
        return None
    about = stems_of(without_name(asked.text, asked.view.name))
    theirs = [one for one in run.recalled.memories if one.who == run.requester.id and one.kind is MemoryKind.HEARD]
    shared = [(len(about & stems_of(one.text)), one.at, one) for one in theirs]
    best = max(shared, key=lambda each: each[:2], default=None)
    if best is None or not best[0]:
        return KnownAnswer(_NOT_REMEMBERED, may_be_reworded=False) if _ABOUT.search(asked.text) else None
    whole = without_name(clean_heard(best[2].text, MOST_QUOTED), asked.view.name)
    fitting = [one for one in sentences_of(whole) if about & stems_of(one)]
    words = " ".join(fitting) or whole
    return KnownAnswer(_REPEATED[len(asked.earlier) % len(_REPEATED)].format(text=words), words)


def return_gesture(context: RunContext, run: Run, asked: Question) -> LLMResponse | None:
    """Return a greeting without words for one of the same kind; None for any other deed."""
    done = re.fullmatch(rf"{re.escape(asked.who)} (\w+)(?: \w+ly| back)?(?: (?:at|to|towards?))? you\.", asked.deed)
    if done is None or done[1] not in _RETURNED or "emote" not in context.rules.grant:
        return None
    call_id = f"{run.id}.{run.progress.written + 1}.gesture"
    return response_of([ToolCall(call_id, "emote", {"text": _RETURNED[done[1]].format(who=asked.who)})])

"""Asks a small model what a line asks for: one word, out of the kinds of deed that are possible here, or talk.

The beginning of the question is the same for every line, room and character, so a server keeps it read. A line that
names its thing in another language is put into English then, and the thing is what the English line names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from twisted.logger import Logger

from mud_assistant.assistant.language.acts import ANY_GESTURE, Deed, deeds_in
from mud_assistant.assistant.language.languages import is_foreign
from mud_assistant.assistant.language.orders import OF_THINGS, possible_deeds
from mud_assistant.assistant.language.words import names_in, words_of
from mud_assistant.assistant.loop.overheard import request_hook
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.talk.question import Question, messages_of, without_name
from mud_assistant.llm import LLMError, LLMResponse, Message, Usage, system, user

TALK = "talk"
#: Tokens of an answer: one word with its end, and a line in English.
_WORD_TOKENS, _LINE_TOKENS = 2, 24
#: What is added to the logit of talk: for a line in which the verb rules found a deed, and for any other. Measured by
#: `benchmarks.orders`.
_TALK_BIAS = {True: -2.0, False: 0.3}
#: The same for a kind that is not possible here, or that the rules did not find in a line in which they found another.
#: It is not ruled out: a line that plainly wants it wants nothing else.
_IMPOSSIBLE_BIAS = -4.0
_KINDS = """Somebody in a game says a line to you. Answer with one word: what the line wants you to do now.
go: walk somewhere. follow: come with them. stay: do not move. home: go home.
give: let somebody have a thing. take: pick a thing up. drop: put a thing down. look: look at a thing.
read, open, close, light, pour, put: do that with a thing. act: a gesture or pose, like sit, smile, hug, dance.
talk: nothing of these. The line tells, asks, jokes or is a saying, or it is about another time or somebody else."""
#: Lines and the kinds that are right, each as LINE=KIND. Orders and sayings with the same verbs stand beside another.
_EXAMPLES_TEXT = """
    Rope, please.=give|Take your time with the rope.=talk|Into the barn with you!=go|Mind if I borrow the torch?=give
    Hold your tongue about the bucket.=talk|Would you get the bucket off the floor?=take|Give me a wave.=act
    I'll give you a slap.=talk|Come.=follow|You should see the barn.=talk|Don't go anywhere.=stay|Hug me!=act
    Gib mir das Seil.=give|Leave it to me.=talk|Nimm den Eimer.=take|Das geht zu weit.=talk|Ve al granero.=go
    Drop the torch.=drop|Me das pena.=talk|Let me get the bucket.=talk|Have a close look at that rope.=look
    Light the torch.=light|Go on, tell me.=talk|Open the gate, quick.=open|Pick one, the rope or the torch?=talk
    Read the sign to me.=read|Stay well!=talk|Suis-moi.=follow|Tu as vu la corde ?=talk|Pose la torche.=drop
    Put the rope in the bucket.=put|Follow your nose.=talk|Ann wants the torch.=give|Have a seat.=act
    Keep your hands off the rope.=talk|Shall we go to the barn?=go|Coge el cubo.=take
    Fill the bucket with water.=pour|Get lost!=talk|Siéntate.=act
"""
_ROWS = _EXAMPLES_TEXT.strip().split("\n")
_EXAMPLES = [(heard.strip(), kind) for row in _ROWS for heard, kind in (pair.split("=") for pair in row.split("|"))]
_TRANSLATE = "Translate the line into English. Things here: {things}."
_TRANSLATED = (
    ("Nimm den Eimer.", "Take the bucket."),
    ("Viens dans la grange.", "Come into the barn."),
    ("Dame la antorcha, por favor.", "Give me the torch, please."),
)

_log = Logger()


def kinds_front() -> list[Message]:
    """Return the messages with which the question for a kind begins."""
    return [system(_KINDS), *messages_of(_EXAMPLES)]


async def choose_deed(
    context: RunContext, run: Run, asked: Question, ruled: Sequence[Deed]
) -> tuple[Sequence[Deed], Usage]:
    """Return the deeds that the line asks for, and the usage of asking. No model is asked about plain talk.

    `ruled` are the deeds that the verb rules found: they stand where the model finds their kind, and with a model that
    cannot be asked in this way. Raises LLMError when the request may succeed later. Cancelling closes the connection.
    """
    line = without_name(asked.text, asked.view.name)
    possible = possible_deeds(line, asked.who, asked.view, asked.it)
    deeds = {kind: deed for kind, deed in possible.items() if deed.tool in context.rules.grant}
    if not deeds:
        return (), Usage()
    is_open = is_foreign(line) and not {"take", "drop"} & deeds.keys()
    kinds = deeds.keys() | OF_THINGS if is_open else deeds.keys()
    tools = {deed.tool for deed in ruled}
    likely = {kind for kind in kinds if not tools or (kind in deeds and deeds[kind].tool in tools)}
    lacking = {kind for _, kind in _EXAMPLES} - likely - {TALK}
    bias = {TALK: _TALK_BIAS[bool(ruled)]} | dict.fromkeys(sorted(lacking), _IMPOSSIBLE_BIAS)
    response = await _ask(context, run, [*kinds_front(), user(line)], bias)
    if response is None:
        return ruled, Usage()
    kind, usage = response.content.strip().casefold(), response.usage
    deed = deeds.get(kind)
    if is_open and kind in kinds and (deed is None or deed is ANY_GESTURE):
        deed, more = await _translated(context, run, asked, kind)
        usage += more
    is_ruled = deed is not None and deed.tool in tools
    return ruled if is_ruled else [deed] if deed is not None else [], usage


async def _translated(context: RunContext, run: Run, asked: Question, kind: str) -> tuple[Deed | None, Usage]:
    """Return the deed of this kind whose thing, way or gesture the line names in English; None for no such name."""
    view = asked.view
    things = (*view.things, *view.carried)
    front = [system(_TRANSLATE.format(things=", ".join(things))), *messages_of(_TRANSLATED)]
    response = await _ask(context, run, [*front, user(without_name(asked.text, view.name))], {})
    if response is None:
        return None, Usage()
    told = response.content
    deeds = deeds_in(told, asked.who, view, names_in(told, things))
    if kind == "go" and "go" not in deeds and "me" in words_of(told):
        kind = "follow"
    return None if deeds.get(kind) is ANY_GESTURE else deeds.get(kind), response.usage


async def _ask(
    context: RunContext, run: Run, messages: Sequence[Message], bias: Mapping[str, float]
) -> LLMResponse | None:
    """Return the answer, None from a model that cannot be asked in this way. Only llama.cpp is given a bias."""
    is_ours = context.model.client.provider.name == "local"
    try:
        return await context.model.client.chat_completion(
            messages,
            deadline=run.meter.deadline,
            caller=context.model.billing.caller(context.body.me, run.requester),
            on_request=request_hook(context, run),
            max_tokens=_WORD_TOKENS if bias else _LINE_TOKENS,
            temperature=0.0,
            stop=("\n",),
            think=bool(context.model.config.think),
            extra_params={"logit_bias": [list(pair) for pair in bias.items()]} if bias and is_ours else {},
        )
    except LLMError as error:
        if error.retryable:
            raise
        body = context.body
        _log.info("{name} could not be asked for a deed: {why}", name=body.me.name, why=body.scrub(str(error)))
        return None

"""Asks a small model which deed a line in another language asks for. A JSON schema limits it to a few.

The rules of `acts.py` are English. A deed is offered only when the line names its object or its direction. A line that
only tells how something is asks for no deed.
"""

from __future__ import annotations

from collections.abc import Sequence

from twisted.logger import Logger

from assistant.language.acts import Deed
from assistant.language.languages import is_foreign, tells_how_it_is
from assistant.language.words import names_in
from assistant.loop.overheard import request_hook
from assistant.loop.run import Run, RunContext
from assistant.loop.talk.question import Question
from llm import LLMError, Message, Usage, system, user
from llm.messages import Role, Text

#: Tokens of the answer: a deed and a name.
MAX_TOKENS = 24
TALK = "talk"
_RULES = (
    "Somebody says a line to you. Choose what the line asks you to do. "
    "Choose talk when it only tells or asks something."
)
#: Lines with what may be chosen and what is right, in several languages. Hardly any room has their things.
_EXAMPLES = (
    ("Nimm den Krug und gib ihn mir.", ("take Krug", "give Krug to Ann", "look at Krug"), "give Krug to Ann"),
    ("Wie komme ich nach Norden?", ("go Norden",), TALK),
    ("Va al nord, per favore.", ("go nord",), "go nord"),
    ("Ramasse la pelle.", ("take pelle", "give pelle to Ann", "look at pelle"), "take pelle"),
    ("Me gusta tu pala.", ("take pala", "give pala to Ann", "look at pala"), TALK),
    ("Mira la pala, por favor.", ("take pala", "give pala to Ann", "look at pala"), "look at pala"),
)

_log = Logger()


async def choose_deed(context: RunContext, run: Run, asked: Question) -> tuple[Deed | None, Usage]:
    """Return the deed that the line asks for, None for none, and the usage of asking.

    No model is asked about an English line. A model that cannot be asked in this way chooses nothing. Raises LLMError
    when the request may succeed later. Cancelling closes the connection.
    """
    deeds = possible_deeds(asked)
    if not deeds:
        return None, Usage()
    options = [TALK, *deeds]
    try:
        response = await context.client.chat_completion(
            _prompt(asked.text, options),
            deadline=run.meter.deadline,
            caller=context.billing.caller(context.me, run.requester),
            on_request=request_hook(context, run),
            max_tokens=MAX_TOKENS,
            temperature=0.0,
            think=bool(context.model.think),
            schema={"type": "string", "enum": options},
        )
    except LLMError as error:
        if error.retryable:
            raise
        _log.info("{name} could not be asked for a deed: {why}", name=context.me.name, why=context.scrub(str(error)))
        return None, Usage()
    return deeds.get(str(response.structured)), response.usage


def possible_deeds(asked: Question) -> dict[str, Deed]:
    """Return the deeds that a line in another language may ask for, by what the model calls them."""
    view, line = asked.view, asked.text
    if not is_foreign(line) or tells_how_it_is(line):
        return {}
    deeds = {f"go {way}": Deed("move", {"direction": way}) for way, _ in view.ways if names_in(line, [way])}
    for thing in names_in(line, (*view.things, *view.carried)):
        if thing in view.carried:
            deeds[f"drop {thing}"] = Deed("drop", {"thing": thing})
        else:
            deeds[f"take {thing}"] = Deed("take", {"thing": thing})
        deeds[f"give {thing} to {asked.who}"] = Deed("give", {"thing": thing, "person": asked.who})
        deeds[f"look at {thing}"] = Deed("inspect", {"target": thing})
    return deeds


def _prompt(line: str, options: Sequence[str]) -> list[Message]:
    messages = [system(_RULES)]
    for heard, choices, right in _EXAMPLES:
        messages += [user(_question(heard, (TALK, *choices))), Message(Role.ASSISTANT, (Text(f'"{right}"'),))]
    return [*messages, user(_question(line, options))]


def _question(line: str, options: Sequence[str]) -> str:
    return f"{line}\n({'; '.join(options)})"

"""Says why a call needs an approval and how to lift that: to the model, to the requester and to the approver."""

from __future__ import annotations

from dataclasses import dataclass

from llm.messages import ToolCall
from tools.policy.decide import Authority
from tools.requirement import Requirement
from tools.text.clean import one_line
from tools.tool import Tool
from tools.trust import ContextTrust, Principal, rank

#: Longest name of a person or a thing in these sentences, and longest list of causes, in characters.
_MAX_NAME, _MAX_CAUSES = 60, 400
#: The name for texts that have no particular author.
GAME_TEXTS = "the game's own texts"
#: The name for a cause that is not known.
_SOMETHING = "something that is trusted less"


@dataclass(frozen=True, slots=True)
class Lack:
    """Why a call may not happen by itself: `for_model` is one sentence, `for_people` also says how to lift it."""

    for_model: str = ""
    for_people: str = ""


def explain_lack(
    authority: Authority, requirement: Requirement, requester: Principal | None, trust: ContextTrust, tool: Tool
) -> Lack:
    """Say which of the three levels is too low, whose words lowered it, and how to lift that."""
    need, reasons, lifts = requirement.permission, [], []
    for_model = ""
    if authority.trust < need:
        causes = one_line(trust.because() or _SOMETHING, max_chars=_MAX_CAUSES)
        for_model = f"In your view is {causes}: you may not do more by yourself than that allows."
        reasons.append(f"in its view is {causes}, which counts for {rank(authority.trust)}")
        if need <= min(authority.actor, authority.requester):
            if GAME_TEXTS in causes:
                lifts.append("The owner can trust the game's texts more: world_text_permission")
            lifts.append("It does this by itself when that has left its view, by and by, or is forgotten (forget me)")
    if authority.requester < need:
        who = one_line(requester.name, max_chars=_MAX_NAME) if requester else "nobody"
        reasons.append(f"{who} asks, who counts for {rank(authority.requester)}")
    if authority.actor < need:
        reasons.append(f"its own permission is that of {rank(authority.actor)}")
        lifts.append("The owner can raise `permission`")
    if tool.resolve is None:
        lifts.append(f"The owner can let it do this at any time: required_permission = {{ {tool.name} = 0 }}")
    return Lack(for_model, ". ".join([f"Why: {'; '.join(reasons)}", *lifts]) + ".")


def name_source(call: ToolCall) -> str:
    """Name the source of a call's answer: the tool, and what it was asked for."""
    asked = next((value for value in call.arguments.values() if isinstance(value, str)), "")
    about = f" of {one_line(asked, max_chars=_MAX_NAME)!r}" if asked else ""
    return f"what {one_line(call.name, max_chars=_MAX_NAME)} told{about}"

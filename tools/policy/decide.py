"""Decides whether a call may happen, and explains why not. Pure: no text can change the decision.

The values come from the game (permissions), from the owner (grant, limits, deny list) and from counting. A model's
words and the texts it read enter `decide` only through one number: the lowest level of all it has in view. Why a call
needs an approval and how to lift that is told to those who decide, and to nobody else.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from mud_assistant.llm.messages import ToolCall
from mud_assistant.tools.context import Requirement
from mud_assistant.tools.policy.config import USUAL_LIMITS, EffectLimits
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.tool import Category, Tool
from mud_assistant.tools.trust import TOP, ContextTrust, Kind, Principal, authority_of_words, clamp_level, rank

#: Commands that nobody can allow an assistant, by the names of Evennia 6.1 and similar ones elsewhere: code, passwords,
#: permissions, the server, accounts and sessions, acting through another person, and what rewrites later commands
#: (docs/policy.md, "Never, for nobody"). A `*` at the end stands for any ending.
DENIED = frozenset({
    "py", "batch*", "perm", "userpassword", "password", "force", "shutdown", "reload", "reset", "reboot", "server*",
    "service*", "quell", "unquell", "nick*", "alias*", "setobjalias*", "account*", "charcreate", "chardelete", "ic",
    "ooc", "quit", "sessions", "option*", "connect", "create_account",
    # Locks are a form of permissions; the others start code by its path or number, or make a new account for a bot.
    "lock", "typeclass*", "spawn", "olc", "script*", "task*", "irc2chan", "rss2chan", "grapevine2chan", "discord2chan",
    # Our own commands: for other assistants, and for what they remember of people.
    "assistant", "assistants", "mute", "unmute", "forget me", "what do you remember", "promises",
    "quiet",
    # Speech without a speaker, and the steps of a batch file that runs code.
    "emit", "abort", "bb", "bl", "cc", "hh", "jj", "jl", "ll", "nl", "nn", "pp", "qq", "rr", "rrr", "sl", "ss",
})  # fmt: skip
#: Longest name of a person or a thing in these sentences, and longest list of causes, in characters.
_MAX_NAME, _MAX_CAUSES = 60, 400
#: Who counts as asking for what an assistant may do of its own accord.
OWNER = Principal("owner", "its owner", Kind.OPERATOR, TOP)
#: The name for texts that have no particular author.
GAME_TEXTS = "the game's own texts"
#: The name for a cause that is not known.
_SOMETHING = "something that is trusted less"


class Authority(Struct, frozen=True):
    """The levels a call may draw on: the assistant's own permission, its requester's, and the lowest level in view."""

    actor: int
    requester: int
    trust: int

    @property
    def level(self) -> int:
        """The lowest of the three: no wish is granted above the requester's own rank, nor above the assistant's."""
        return min(self.actor, self.requester, self.trust)


class SoFar(Struct, frozen=True):
    """What came before the call: `place` in its step, counts of its run; `same` and `echo` are about this very act.

    `echo` says that another assistant asks for what this one has just done.
    """

    place: int = 0
    calls: int = 0
    spoken: int = 0
    network: int = 0
    changes: int = 0
    same: int = 0
    echo: bool = False


class PolicyRule(StrEnum):
    """The rule that judged a call, as the journal keeps it."""

    GRANTED = "granted"
    NOT_GRANTED = "not granted"
    DENIED = "denied command"
    LIMIT = "limit"
    REPEATED = "repeated"
    NEEDS_APPROVAL = "needs approval"
    APPROVED = "approved"
    APPROVAL_VOID = "approval void"
    FORMAT = "format"
    PRIVATE = "private"
    NOT_NOW = "not now"


#: The rules of calls that were judged and not run.
NOT_RUN = frozenset(PolicyRule) - {PolicyRule.GRANTED, PolicyRule.APPROVED}


class Allowed(Struct, frozen=True):
    """The call may happen, by this rule."""

    rule: PolicyRule = PolicyRule.GRANTED


class Refused(Struct, frozen=True):
    """The call may not happen; `reason` is a sentence for the model."""

    reason: str
    rule: PolicyRule


class NeedsApproval(Struct, frozen=True):
    """The call may happen once a person of the needed rank has approved it; `reason` says which rank."""

    reason: str


_NOTHING_BEFORE, _GRANTED = SoFar(), Allowed()
Decision = Allowed | Refused | NeedsApproval


def decide(
    tool: Tool,
    requirement: Requirement,
    authority: Authority,
    *,
    grant: frozenset[str],
    denied: frozenset[str] = frozenset(),
    limits: EffectLimits = USUAL_LIMITS,
    so_far: SoFar = _NOTHING_BEFORE,
) -> Decision:
    """Decide on one call of `tool`. `denied` adds to DENIED. Only a lack of authority can be lifted by an approval."""
    if reason := not_granted(tool, grant):
        return Refused(reason, PolicyRule.NOT_GRANTED)
    if reason := _denied(requirement, denied):
        return Refused(reason, PolicyRule.DENIED)
    if reason := _over_a_limit(tool, limits, so_far):
        return Refused(reason, PolicyRule.LIMIT)
    if reason := _repeated(tool, limits, so_far):
        return Refused(reason, PolicyRule.REPEATED)
    if reason := _changed_enough(tool, limits, so_far):
        return Refused(reason, PolicyRule.LIMIT)
    if authority.level < requirement.permission:
        return NeedsApproval(f"{rank(requirement.permission)} must allow this")
    return _GRANTED


def authority_of(actor: Principal, requester: Principal | None, trust: int, world_text: int = 1) -> Authority:
    """Return what a call by `actor` for `requester` may draw on, with `trust` as the lowest level in view."""
    return Authority(clamp_level(actor.permission), level_of(requester, world_text), trust)


def level_of(requester: Principal | None, world_text: int = 1) -> int:
    """Return what `requester` may do in the game: 0 for none, and for an assistant, whose wishes are another's."""
    if requester is None:
        return 0
    level = authority_of_words(requester, world_text)
    return min(level, clamp_level(requester.permission)) if requester.kind is Kind.WORLD else level


def base_permission(tool: Tool, settings: Mapping[str, int]) -> int:
    """Return the permission any call of `tool` needs: the owner's setting, the tool's own, or that of its category."""
    own = settings.get(tool.name, tool.required_permission)
    if own is not None:
        return own
    return 1 if tool.category is Category.DANGEROUS else 0


def not_granted(tool: Tool, grant: frozenset[str]) -> str:
    """Say why the tool may not be used at all; empty when it may."""
    return "" if tool.name in grant else f"You may not use {tool.name}."


def is_denied(command: str, denied: frozenset[str]) -> bool:
    """Tell whether `command`, a name with its switches as `name/switch`, is listed, by its name or by a switch."""
    name, *switches = plain_command(command).split("/")
    forms = {name, *(f"{name}/{switch}" for switch in switches)}
    listed = {plain_command(entry) for entry in denied}
    return any(
        form.startswith(entry[:-1]) if entry.endswith("*") else form == entry for form in forms for entry in listed
    )


def plain_command(name: str) -> str:
    """Return `name` as it is compared: lower case, without the marks some games put before a command."""
    return name.strip().casefold().lstrip("@+&/")


def _denied(requirement: Requirement, denied: frozenset[str]) -> str:
    hit = any(is_denied(command, DENIED | denied) for command in requirement.commands)
    return "This command is never allowed to you, and nobody can allow it. Say that you cannot do it." if hit else ""


def _over_a_limit(tool: Tool, limits: EffectLimits, so_far: SoFar) -> str:
    if so_far.place >= limits.step_calls:
        return f"Too many calls at once: at most {limits.step_calls}. The rest was not done."
    if so_far.calls >= limits.calls:
        return "You have made enough calls this turn. Answer now with say."
    if tool.category is Category.TERMINAL and not tool.idle and so_far.spoken >= limits.spoken:
        return "You have spoken enough this turn. Use noop."
    if tool.category is Category.ASYNC_REQUIRED and so_far.network >= limits.network:
        return f"You have used {tool.name} and its like enough this turn. Answer with what you know."
    return ""


def _repeated(tool: Tool, limits: EffectLimits, so_far: SoFar) -> str:
    if tool.category.reads or tool.idle:
        return ""
    if so_far.same >= limits.same:
        return "You have done exactly this already. Do not do it again."
    return "You have done exactly this a moment ago. Do something else, or use noop." if so_far.echo else ""


def _changed_enough(tool: Tool, limits: EffectLimits, so_far: SoFar) -> str:
    if tool.category is Category.DANGEROUS and so_far.changes >= limits.changes:
        return f"You have already changed the game this turn. Do not use {tool.name} again now."
    return ""


def explain_lack(
    authority: Authority, requirement: Requirement, requester: Principal | None, trust: ContextTrust, tool: Tool
) -> str:
    """Say to those who decide which of the three levels is too low, whose words lowered it, and how to lift that."""
    need, reasons, lifts = requirement.permission, [], []
    if authority.trust < need:
        causes = one_line(trust.because() or _SOMETHING, max_chars=_MAX_CAUSES)
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
    return ". ".join([f"Why: {'; '.join(reasons)}", *lifts]) + "."


def name_source(call: ToolCall) -> str:
    """Name the source of a call's answer: the tool, and what it was asked for."""
    asked = next((value for value in call.arguments.values() if isinstance(value, str)), "")
    about = f" of {one_line(asked, max_chars=_MAX_NAME)!r}" if asked else ""
    return f"what {one_line(call.name, max_chars=_MAX_NAME)} told{about}"

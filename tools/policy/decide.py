"""Decides whether a call may happen. Pure: the decision depends on these values only, and no text can change it.

The values come from the game (permissions), from the owner (grant, limits, deny list) and from counting. A model's
words and the texts it read enter `decide` only through one number: the lowest level of all it has in view.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tools.policy.config import USUAL_LIMITS, EffectLimits
from tools.requirement import Requirement
from tools.tool import Category, Tool
from tools.trust import Kind, Principal, clamp_level, label_of, rank

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
    "assistant", "assistants", "mute", "unmute", "forget me", "what do you remember",
    # Speech without a speaker, and the steps of a batch file that runs code.
    "emit", "abort", "bb", "bl", "cc", "hh", "jj", "jl", "ll", "nl", "nn", "pp", "qq", "rr", "rrr", "sl", "ss",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Authority:
    """The levels a call may draw on: the assistant's own permission, its requester's, and the lowest level in view."""

    actor: int
    requester: int
    trust: int

    @property
    def level(self) -> int:
        """The lowest of the three: no wish is granted above the requester's own rank, nor above the assistant's."""
        return min(self.actor, self.requester, self.trust)


@dataclass(frozen=True, slots=True)
class SoFar:
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


@dataclass(frozen=True, slots=True)
class Allowed:
    """The call may happen."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The call may not happen; `reason` is a sentence for the model."""

    reason: str


@dataclass(frozen=True, slots=True)
class NeedsApproval:
    """The call may happen once a person of the needed rank has approved it; `reason` says which rank."""

    reason: str


Decision = Allowed | Refused | NeedsApproval


def decide(
    tool: Tool,
    requirement: Requirement,
    authority: Authority,
    *,
    grant: frozenset[str],
    denied: frozenset[str] = frozenset(),
    limits: EffectLimits = USUAL_LIMITS,
    so_far: SoFar = SoFar(),
) -> Decision:
    """Decide on one call of `tool`. `denied` adds to DENIED. Only a lack of authority can be lifted by an approval."""
    reason = (
        not_granted(tool, grant)
        or _denied(requirement, denied)
        or _over_a_limit(tool, limits, so_far)
        or _repeated(tool, limits, so_far)
        or _changed_enough(tool, limits, so_far)
    )
    if reason:
        return Refused(reason)
    if authority.level < requirement.permission:
        return NeedsApproval(f"{rank(requirement.permission)} must allow this")
    return Allowed()


def authority_of(actor: Principal, requester: Principal | None, trust: int, world_text: int = 1) -> Authority:
    """Return what a call by `actor` for `requester` may draw on, with `trust` as the lowest level in view."""
    return Authority(clamp_level(actor.permission), level_of(requester, world_text), trust)


def level_of(requester: Principal | None, world_text: int = 1) -> int:
    """Return what `requester` may do in the game: 0 for none, and for an assistant, whose wishes are another's."""
    if requester is None:
        return 0
    level = label_of(requester, world_text).authority
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

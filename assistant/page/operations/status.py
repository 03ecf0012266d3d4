"""Tells how assistants are: the overview, and one assistant with all that is known of it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from mud_assistant.assistant.config.schema import AllowanceConfig
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.journal import Muted, Parked, UnknownEffect
from mud_assistant.assistant.life.peace import EVERYBODY
from mud_assistant.assistant.loop.spending import TOTAL, allowance_of
from mud_assistant.assistant.page.operations import settings as settings_of
from mud_assistant.assistant.page.operations.life_shown import life_of
from mud_assistant.assistant.page.operations.servers import servers_of
from mud_assistant.assistant.page.operations.sources import RecentActivity, Sources
from mud_assistant.assistant.page.ports import InvalidInput, KnownAssistant
from mud_assistant.assistant.page.values.actions import CharacterView
from mud_assistant.assistant.page.values.assistants import (
    AssistantDetail,
    AssistantStatus,
    ModelLine,
    MutedPlayer,
    Overview,
    ParkedNotice,
    SettingLine,
    ToolGrant,
    UnknownCallNotice,
)
from mud_assistant.assistant.page.values.common import TroubleNotice
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.service.operations import quiet
from mud_assistant.assistant.service.runner import AssistantRunner, RunnerState
from mud_assistant.assistant.service.troubles import Trouble, TroubleKind
from mud_assistant.assistant.service.wording.status import parked_text
from mud_assistant.llm.messages import Role as Speaker
from mud_assistant.llm.packing.packed import Joined
from mud_assistant.resilience import Allowance, Amount, CircuitState, Snapshot
from mud_assistant.resilience.amounts import NOTHING
from mud_assistant.resilience.budget.ledger import AccountState
from mud_assistant.tools.text.clean import clean_heard

#: How many characters of the last words are shown, and among how many messages they are looked for.
_SHOWN, _LOOKED_AT = 200, 30
#: Who is told of what an assistant did: words that only one person heard are not shown as its last words.
_SPEECH = {"say", "emote", "speak_on"}


async def overview(sources: Sources, *, is_hidden: bool) -> Overview:
    """Return how all assistants are. `is_hidden` leaves out the words of players and what was said to them."""
    service, snapshot = sources.service, sources.service.pipeline.snapshot()
    accounts = {account.name: account for account in snapshot.accounts}
    all_known = sources.there.known()
    recent = await sources.records.recent([known.id for known in all_known])
    holders = dict(await sources.records.holders())
    statuses = [
        replace(
            _status(sources, known, snapshot, accounts, recent.get(known.id), is_hidden=is_hidden),
            holder=holders.pop(known.id, None),
        )
        for known in all_known
    ]
    return Overview(
        at=sources.wall(),
        version=sources.version,
        assistants=tuple(statuses),
        servers=servers_of(service),
        troubles=tuple(_notice(one, service.runners) for one in service.troubles),
        used_today=_spent(accounts.get(TOTAL)),
        ceiling=ceiling_of(accounts.get(TOTAL), service.config.settings.budget.total),
        reactor_lag=sources.lag(),
        approvals_waiting=sum(status.approvals_waiting for status in statuses),
        watchers=sources.watchers(),
        timings=await sources.records.timings(""),
        circuits=sources.circuits(),
        quiet=quiet.wanted(sources.there).is_quiet(EVERYBODY),
        elsewhere=tuple(holders.values()),
    )


async def detail(sources: Sources, assistant: str, *, is_hidden: bool) -> AssistantDetail:
    """Return one assistant with all that is known of it. Raises NotFound and what the world raises."""
    known, service = sources.there.find(assistant), sources.service
    snapshot = service.pipeline.snapshot()
    accounts = {account.name: account for account in snapshot.accounts}
    runner = service.runners.get(assistant)
    there = runner.assistant if runner is not None else None
    recent = (await sources.records.recent([assistant])).get(assistant)
    status = _status(sources, known, snapshot, accounts, recent, is_hidden=is_hidden)
    holder = (await sources.records.holders()).get(assistant)
    character, settings, unread = await _as_set(sources, known)
    journal = None if there is None else there.context.memory.journal
    return AssistantDetail(
        status=replace(status, holder=holder),
        persona=character.persona,
        character=character.character,
        lore_entries=len(character.lore),
        models=() if runner is None else _models(runner, snapshot),
        background=service.background,
        servers=servers_of(service),
        troubles=(*unread, *(_notice(one, service.runners) for one in service.troubles.of(assistant))),
        tools=() if there is None else _tools(there),
        muted=() if there is None else tuple(map(_muted, await there.rights.list_muted())),
        memories=await sources.records.memories(assistant),
        parked=() if journal is None else _parked(await journal.parked(), is_hidden=is_hidden),
        unknown=() if journal is None else _unknown(await journal.unknown_effects(), is_hidden=is_hidden),
        settings=settings,
        timings=await sources.records.timings(assistant),
        life=await life_of(sources, assistant, there, is_hidden=is_hidden),
    )


async def _as_set(
    sources: Sources, known: KnownAssistant
) -> tuple[CharacterView, tuple[SettingLine, ...], tuple[TroubleNotice, ...]]:
    """Return the character and the settings of an assistant. What cannot be read is empty, with the reason."""
    unread: dict[str, TroubleNotice] = {}

    def note(kind: str, error: Exception) -> None:
        notice = TroubleNotice(kind=kind, assistant=known.id, name=known.name, sentence=str(error))
        unread.setdefault(notice.sentence, notice)

    character = CharacterView(assistant=known.id, name=known.name, persona="")
    try:
        character = await settings_of.character(sources, known.id)
    except (AssistantError, InvalidInput) as error:
        note("character", error)
    settings: tuple[SettingLine, ...] = ()
    try:
        settings = tuple(await settings_of.settings(sources, known.id))
    except (AssistantError, InvalidInput) as error:
        note("settings", error)
    return character, settings, tuple(unread.values())


def ceiling_of(account: AccountState | None, config: AllowanceConfig) -> Allowance:
    """Return the limits of an account: those last used, else those of the settings."""
    if account is not None and account.allowance is not None:
        return account.allowance
    return allowance_of(config)


def _status(
    sources: Sources,
    known: KnownAssistant,
    snapshot: Snapshot,
    accounts: Mapping[str, AccountState],
    recent: RecentActivity | None,
    *,
    is_hidden: bool,
) -> AssistantStatus:
    runner = sources.service.runners.get(known.id)
    config = sources.service.config.settings if runner is None else runner.config
    account = accounts.get(known.id)
    # Any: fields of different types.
    common: dict[str, Any] = {
        "id": known.id,
        "name": known.name,
        "place": known.place,
        "used_today": _spent(account),
        "ceiling": ceiling_of(account, config.budget.assistant),
        "events_waiting": None if recent is None else recent.waiting,
        "last_at": None if recent is None else recent.last_at,
    }
    if runner is None:
        return AssistantStatus(state="off" if known.is_off else "stopped", **common)
    words = None if runner.assistant is None or is_hidden else _last_words(runner.assistant)
    approvals = sources.service.parts.approvals.get(known.id)
    if runner.activity.run is not None:
        common["last_at"] = sources.wall()
    elif common["last_at"] is None and (ended := runner.activity.ended_at) is not None:
        common["last_at"] = sources.wall_at(ended)  # the journal is in memory, or cannot be read now
    return AssistantStatus(
        state=_state(runner),
        doing=runner.activity.doing,
        run=runner.activity.run,
        model=runner.models[0].provider.model if runner.models else config.model.model,
        circuit=_circuit(runner, snapshot),
        approvals_waiting=0 if approvals is None else len(approvals.pending()),
        last_words=words or "",
        trouble=runner.trouble,
        **common,
        **_context(runner),
    )


def _spent(account: AccountState | None) -> Amount:
    return NOTHING if account is None else account.spent


def _state(runner: AssistantRunner) -> str:
    if runner.emergency:
        return "emergency"
    return runner.state.value if runner.state is not RunnerState.STOPPED else "stopped"


def _context(runner: AssistantRunner) -> dict[str, Any]:
    """Return how many tokens of its window a prompt of now takes, and which part of the window that is."""
    if runner.assistant is None:
        return {}
    context = runner.assistant.context
    tokens = context.memory.history.tokens + context.model.window.fixed_tokens()
    return {"context_tokens": tokens, "context_used": min(1.0, tokens / context.model.config.context_tokens)}


def _circuit(runner: AssistantRunner, snapshot: Snapshot) -> str:
    """Return the circuit of the server that is asked first, as far as it was asked."""
    return _circuit_of(runner.models[0].provider.get_api_url(), snapshot) if runner.models else "unknown"


def _circuit_of(url: str, snapshot: Snapshot) -> str:
    return next((one.state.value for one in snapshot.upstreams if url.startswith(one.origin)), "unknown")


def _last_words(assistant: Assistant) -> str:
    """Return what it said last so that everybody may know it, empty when that is too long ago."""
    messages = reversed(Joined(assistant.context.memory.history.parts()))
    for _, message in zip(range(_LOOKED_AT), messages, strict=False):
        if message.role is Speaker.ASSISTANT:
            for call in reversed(message.tool_calls):
                text = call.arguments.get("text")
                if call.name in _SPEECH and isinstance(text, str):
                    return clean_heard(text, _SHOWN)
    return ""


def _models(runner: AssistantRunner, snapshot: Snapshot) -> tuple[ModelLine, ...]:
    return tuple(
        ModelLine(
            name=model.provider.model,
            provider=model.provider.name,
            why=model.why,
            circuit=_circuit_of(model.provider.get_api_url(), snapshot),
        )
        for model in runner.models
    )


def _tools(assistant: Assistant) -> tuple[ToolGrant, ...]:
    registry, grant = assistant.context.tools.registry, assistant.context.rules.grant
    tools = [tool for name in registry.names() if (tool := registry.get(name)) is not None]
    return tuple(
        ToolGrant(name=tool.name, granted=tool.name in grant, category=tool.category, meaning=tool.description)
        for tool in tools
    )


def _muted(muted: Muted) -> MutedPlayer:
    return MutedPlayer(id=muted.principal_id, name=muted.name, since=muted.at)


def _parked(parked: Sequence[Parked], *, is_hidden: bool) -> tuple[ParkedNotice, ...]:
    return tuple(
        ParkedNotice(event=one.event_id, heard="" if is_hidden else parked_text(one), reason=one.reason)
        for one in parked
    )


def _unknown(effects: Sequence[UnknownEffect], *, is_hidden: bool) -> tuple[UnknownCallNotice, ...]:
    return tuple(
        UnknownCallNotice(run=one.run_id, step=one.step, call=_call(one, is_hidden=is_hidden), at=one.at)
        for one in effects
    )


def _call(effect: UnknownEffect, *, is_hidden: bool) -> str:
    if effect.call is None:
        return "a call that cannot be read"
    arguments = ", ".join(f"{name} {value}" for name, value in effect.call.arguments.items())
    return effect.call.name if is_hidden or not arguments else clean_heard(f"{effect.call.name} ({arguments})", _SHOWN)


def _notice(trouble: Trouble, assistants: Container[str]) -> TroubleNotice:
    whose = trouble.subject if trouble.subject in assistants else ""
    return TroubleNotice(kind=trouble.kind, assistant=whose, name=trouble.name, sentence=trouble.sentence)


def health(sources: Sources) -> dict[str, bool]:
    """Return whether the journal can be written, and whether some assistant has a model that may be asked."""
    service = sources.service
    is_away = service.parts.journal.sharing_counts().is_away
    is_written = not (is_away or service.trouble or service.troubles.of_kind(TroubleKind.JOURNAL))
    snapshot, runners = service.pipeline.snapshot(), list(service.runners.values())
    reached = [one for one in runners if one.assistant is not None and _circuit(one, snapshot) != CircuitState.OPEN]
    return {"journal": is_written, "model": bool(reached) or not runners}

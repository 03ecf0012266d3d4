"""A desk in memory: it returns values it was given and remembers what was done. Visitors and calls for the views."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mud_assistant.assistant.checks.finding import Finding
from mud_assistant.assistant.page.http.call import PageCall, Reply, Route, StreamReply
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.ports import Conflict, NotAllowed, NotFound, Visitor
from mud_assistant.assistant.page.values.actions import (
    ActionDone,
    ApprovalDecision,
    ApprovalView,
    CardList,
    CardRead,
    CharacterView,
    LorePreview,
    ModelTried,
    NewAssistant,
    NewCard,
    NewModel,
    PlayerView,
    SettingChange,
    SettingChanged,
)
from mud_assistant.assistant.page.values.assistants import AssistantDetail, AssistantStatus, Overview, SettingLine
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.values.keys import GatewayKeyMade, GatewayKeyView, NewGatewayKey
from mud_assistant.assistant.page.values.life_view import InitiativeEstimate
from mud_assistant.assistant.page.values.money import Pace, UsageAnswer
from mud_assistant.assistant.page.values.runs import RunPage, RunQuery, RunView
from mud_assistant.resilience import Amount
from mud_assistant.tools import Principal

T = TypeVar("T")

NOW = 1_795_372_200.0  # 2026-11-22 18:30 UTC


def visitor(role: VisitorRole = VisitorRole.OWNER, name: str = "Ada") -> Visitor:
    return Visitor(Principal("account:1", name, permission=5), role, "session-1")


def call(path: str = "/", *, who: Visitor | None = None, prefix: str = "", **rest: Any) -> PageCall:
    """Make a request as the server would hand it to a view, after its checks."""
    return PageCall(
        method="POST" if rest.get("form") else "GET",
        path=path,
        visitor=who or visitor(),
        prefix=prefix,
        csrf=rest.pop("csrf", "token-of-the-session"),
        **rest,
    )


def run_now(work: Awaitable[Any]) -> Any:
    """Run a coroutine that waits for nothing, and return what it returns."""
    step = work.__await__()
    try:
        next(step)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits for something")


def ask(routes: Sequence[Route], asked: PageCall, pattern: str) -> Reply:
    """Answer a request by the route of this method and pattern, with its role checked, as the server does."""
    (route,) = [each for each in routes if each.method == asked.method and each.pattern == pattern]
    if not asked.visitor.role.may(route.needs):
        raise NotAllowed(f"needs {route.needs}")
    reply: Reply | StreamReply = run_now(route.handler(asked))
    assert isinstance(reply, Reply)
    return reply


@dataclass
class MemoryDesk(Desk):
    """A Desk over values in memory. `done` lists what was asked of it, with its arguments, in order."""

    overview_value: Overview = field(default_factory=lambda: Overview(at=NOW, version="0.1.0", assistants=()))
    details: dict[str, AssistantDetail] = field(default_factory=dict)
    run_page: RunPage = field(default_factory=lambda: RunPage(runs=()))
    run_views: dict[str, RunView] = field(default_factory=dict)
    approval_values: list[ApprovalView] = field(default_factory=list)
    usage_values: dict[str, UsageAnswer] = field(default_factory=dict)
    finding_values: list[Finding] = field(default_factory=list)
    setting_values: dict[str, list[SettingLine]] = field(default_factory=dict)
    characters: dict[str, CharacterView] = field(default_factory=dict)
    previews: dict[str, LorePreview] = field(default_factory=dict)
    players: dict[str, PlayerView] = field(default_factory=dict)
    card_list: CardList = field(default_factory=CardList)
    key_values: list[GatewayKeyView] = field(default_factory=list)
    answers: dict[str, ActionDone] = field(default_factory=dict)
    done: list[tuple[object, ...]] = field(default_factory=list)

    def _act(self, who: Visitor, needs: VisitorRole, name: str, *arguments: object) -> ActionDone:
        if not who.role.may(needs):
            raise NotAllowed(f"needs {needs}")
        self.done.append((name, *arguments))
        return self.answers.get(name, ActionDone(sentence=f"Done: {name}."))

    async def overview(self, who: Visitor) -> Overview:
        return self.overview_value

    async def assistant(self, who: Visitor, assistant: str) -> AssistantDetail:
        return _of(self.details, assistant)

    async def runs(self, who: Visitor, query: RunQuery) -> RunPage:
        self.done.append(("runs", query))
        return self.run_page

    async def run(self, who: Visitor, run: str) -> RunView:
        return _of(self.run_views, run)

    async def approvals(self, who: Visitor) -> Sequence[ApprovalView]:
        return self.approval_values

    async def standing(self, who: Visitor) -> Sequence[ApprovalView]:
        return ()

    async def revoke(self, who: Visitor, assistant: str, number: int) -> ActionDone:
        return ActionDone(sentence="revoked")

    async def decide(self, who: Visitor, assistant: str, number: int, decision: ApprovalDecision) -> ActionDone:
        found = [each for each in self.approval_values if (each.assistant, each.number) == (assistant, number)]
        if not found or found[0].digest != decision.digest:
            raise Conflict("It was decided already, or is another call by now.")
        done = self._act(who, VisitorRole.OPERATOR, "decide", assistant, number, decision)
        self.approval_values.remove(found[0])
        return done

    async def usage(self, who: Visitor, by: str, since: str, until: str) -> UsageAnswer:
        self.done.append(("usage", by, since, until))
        pace = Pace(month="2026-11", days_over=22, days_in_month=30, spent=Amount(), expected=Amount())
        empty = UsageAnswer(by=by, since=since, until=until, utc_offset_hours=0, rows=(), total=Amount(), pace=pace)
        return self.usage_values.get(by, empty)

    async def doctor(self, who: Visitor, assistant: str) -> Sequence[Finding]:
        self.done.append(("doctor", assistant))
        return self.finding_values

    async def settings(self, who: Visitor, assistant: str) -> Sequence[SettingLine]:
        return _of(self.setting_values, assistant)

    async def change_setting(self, who: Visitor, assistant: str, change: SettingChange) -> SettingChanged:
        done = self._act(who, VisitorRole.OWNER, "change_setting", assistant, change)
        return SettingChanged(option=change.option, value=change.value, sentence=done.sentence)

    async def drop_promise(self, who: Visitor, assistant: str, promise: str) -> ActionDone:
        return self._act(who, VisitorRole.OPERATOR, "drop", assistant, promise)

    async def want_quiet(self, who: Visitor, assistant: str, *, on: bool) -> ActionDone:
        return self._act(who, VisitorRole.OPERATOR, "quiet", assistant, on)

    async def send_away(self, who: Visitor, assistant: str, *, on: bool) -> ActionDone:
        return self._act(who, VisitorRole.OPERATOR, "away", assistant, on)

    async def plan(self, who: Visitor, assistant: str, price: str = "") -> InitiativeEstimate:
        return InitiativeEstimate(self._act(who, VisitorRole.OPERATOR, "plan", assistant, price).sentence, 0.0)

    async def stop(self, who: Visitor, assistant: str) -> ActionDone:
        return self._act(who, VisitorRole.OPERATOR, "stop", assistant)

    async def start(self, who: Visitor, assistant: str) -> ActionDone:
        return self._act(who, VisitorRole.OPERATOR, "start", assistant)

    async def reset(self, who: Visitor, assistant: str) -> ActionDone:
        return self._act(who, VisitorRole.OPERATOR, "reset", assistant)

    async def retry_parked(self, who: Visitor, assistant: str, event: str, *, clear: bool) -> ActionDone:
        return self._act(who, VisitorRole.OPERATOR, "retry_parked", assistant, event, clear)

    async def character(self, who: Visitor, assistant: str) -> CharacterView:
        return _of(self.characters, assistant)

    async def set_persona(self, who: Visitor, assistant: str, text: str) -> ActionDone:
        return self._act(who, VisitorRole.OWNER, "set_persona", assistant, text)

    async def add_lore(self, who: Visitor, assistant: str, title: str, keys: Sequence[str], text: str) -> ActionDone:
        return self._act(who, VisitorRole.OWNER, "add_lore", assistant, title, tuple(keys), text)

    async def delete_lore(self, who: Visitor, assistant: str, number: int) -> ActionDone:
        return self._act(who, VisitorRole.OWNER, "delete_lore", assistant, number)

    async def preview_lore(self, who: Visitor, assistant: str, line: str) -> LorePreview:
        return self.previews.get(assistant, LorePreview(line=line, pieces=()))

    async def set_model(self, who: Visitor, assistant: str, wanted: NewModel) -> ModelTried:
        done = self._act(who, VisitorRole.OWNER, "set_model", assistant, wanted)
        wrong = any(one.state == "wrong" for one in self.finding_values)
        kept = (wanted.keep and not wrong) or wanted.force
        return ModelTried(kept=kept, sentence=done.sentence, findings=tuple(self.finding_values))

    async def create(self, who: Visitor, new: NewAssistant) -> ActionDone:
        return self._act(who, VisitorRole.OWNER, "create", new)

    async def cards(self, who: Visitor) -> CardList:
        return self.card_list

    async def import_card(self, who: Visitor, wanted: NewCard) -> CardRead:
        done = self._act(who, VisitorRole.OWNER, "import_card", wanted)
        return CardRead(kept=wanted.keep, name=wanted.name or "wren", sentence=done.sentence, brings="Name: Wren")

    async def say(self, who: Visitor, assistant: str, text: str) -> ActionDone:
        return self._act(who, VisitorRole.OWNER, "say", assistant, text)

    async def player(self, who: Visitor, player: str) -> PlayerView:
        return _of(self.players, player)

    async def clear_mind(self, who: Visitor, assistant: str, *, memories: bool) -> ActionDone:
        return self._act(who, VisitorRole.OWNER, "clear_mind", assistant, memories)

    async def forget_player(self, who: Visitor, player: str) -> ActionDone:
        return self._act(who, VisitorRole.OWNER, "forget_player", player)

    async def gateway_keys(self, who: Visitor) -> Sequence[GatewayKeyView]:
        return self.key_values

    async def add_gateway_key(self, who: Visitor, new: NewGatewayKey) -> GatewayKeyMade:
        done = self._act(who, VisitorRole.OWNER, "add_gateway_key", new)
        return GatewayKeyMade(name=new.name, secret="mak_of_a_test", sentence=done.sentence)

    async def revoke_gateway_key(self, who: Visitor, name: str) -> ActionDone:
        return self._act(who, VisitorRole.OWNER, "revoke_gateway_key", name)

    async def health(self) -> Mapping[str, bool]:
        return {"journal": True, "model": True}


def _of(values: Mapping[str, T], key: str) -> T:
    if key not in values:
        raise NotFound(f"There is nothing of the name {key}.")
    return values[key]


def one_status(**changes: Any) -> AssistantStatus:
    """Make the status of one assistant that is awake."""
    return AssistantStatus(**{"id": "assistant:12", "name": "Berta", "state": "awake", **changes})

"""Every path of the API: the role it needs, what it takes and answers, and what of the desk does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct, field

from mud_assistant.assistant.checks.finding import Finding
from mud_assistant.assistant.page.http.call import PageCall
from mud_assistant.assistant.page.http.errors import parse_body
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.ports import InvalidInput
from mud_assistant.assistant.page.values.actions import (
    ActionDone,
    ApprovalDecision,
    ApprovalView,
    CardList,
    CardRead,
    CharacterView,
    LorePreview,
    MindToClear,
    ModelTried,
    NewAssistant,
    NewCard,
    NewLine,
    NewLore,
    NewModel,
    NewPersona,
    PlayerView,
    SettingChange,
    SettingChanged,
)
from mud_assistant.assistant.page.values.assistants import AssistantDetail, AssistantStatus, Overview, SettingLine
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.values.keys import GatewayKeyMade, GatewayKeyView, NewGatewayKey
from mud_assistant.assistant.page.values.life_view import InitiativeEstimate, LifeSwitch
from mud_assistant.assistant.page.values.money import UsageAnswer
from mud_assistant.assistant.page.values.runs import RunPage, RunQuery, RunView

#: The most digits of a number in a path.
_MAX_DIGITS = 9
Answer = Struct | Sequence[Struct]


class ApiEndpoint(Struct, frozen=True):
    """One path of the API. `answers` is the kind of the answer, of each part of it when `is_list`.

    `takes` is the kind of the body of a POST or PATCH, `query` says what each parameter of the query means.
    """

    method: str
    pattern: str
    summary: str
    do: Callable[[Desk, PageCall], Awaitable[Answer]]
    answers: type[Struct]
    is_list: bool = False
    needs: VisitorRole = VisitorRole.VIEWER
    takes: type[Struct] | None = None
    query: dict[str, str] = field(default_factory=dict)


async def _assistants(desk: Desk, call: PageCall) -> Answer:
    return (await desk.overview(call.visitor)).assistants


async def _runs(desk: Desk, call: PageCall) -> Answer:
    return await desk.runs(call.visitor, parse_body(RunQuery, dict(call.query)))


async def _decide(desk: Desk, call: PageCall) -> Answer:
    decision = parse_body(ApprovalDecision, call.json)
    return await desk.decide(call.visitor, call.parts["assistant"], _number(call), decision)


async def _change_setting(desk: Desk, call: PageCall) -> Answer:
    return await desk.change_setting(call.visitor, call.parts.get("id", ""), parse_body(SettingChange, call.json))


async def _set_model(desk: Desk, call: PageCall) -> Answer:
    return await desk.set_model(call.visitor, call.parts["id"], parse_body(NewModel, call.json))


async def _set_persona(desk: Desk, call: PageCall) -> Answer:
    return await desk.set_persona(call.visitor, call.parts["id"], parse_body(NewPersona, call.json).text)


async def _clear_mind(desk: Desk, call: PageCall) -> Answer:
    memories = parse_body(MindToClear, call.json).memories
    return await desk.clear_mind(call.visitor, call.parts["id"], memories=memories)


async def _quiet(desk: Desk, call: PageCall) -> Answer:
    return await desk.want_quiet(call.visitor, call.parts.get("id", ""), on=parse_body(LifeSwitch, call.json).on)


async def _away(desk: Desk, call: PageCall) -> Answer:
    return await desk.send_away(call.visitor, call.parts["id"], on=parse_body(LifeSwitch, call.json).on)


async def _add_lore(desk: Desk, call: PageCall) -> Answer:
    new = parse_body(NewLore, call.json)
    return await desk.add_lore(call.visitor, call.parts["id"], new.title, new.keys, new.text)


async def _add_key(desk: Desk, call: PageCall) -> Answer:
    return await desk.add_gateway_key(call.visitor, parse_body(NewGatewayKey, call.json))


def _number(call: PageCall) -> int:
    text = call.parts["number"]
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise InvalidInput("number: give a number")
    return int(text)


def _query(call: PageCall, *known: str) -> list[str]:
    """Return these parameters of the query, empty where they are not given. Raises InvalidInput for any other."""
    if unknown := sorted(set(call.query).difference(known)):
        raise InvalidInput(f"{unknown[0][:40]}: there is no such parameter, but: {', '.join(known)}")
    return [call.query.get(name, "") for name in known]


_O, _W = VisitorRole.OPERATOR, VisitorRole.OWNER
_A, _P, _K = "/api/v1/assistants/{id}", "/api/v1/approvals", "/api/v1/gateway/keys"
_RUN_QUERY = {
    "assistant": "the id of an assistant",
    "player": "the id of a player, or a part of a name",
    "tool": "the name of a tool",
    "outcome": "answered, nothing, limit, failed, cancelled or open",
    "text": "words that were heard or said; not for viewers",
    "since": "seconds since 1970",
    "until": "seconds since 1970",
    "before": "the id of a run: older ones are returned",
    "limit": "how many at most",
}
_USAGE_QUERY = {
    "from": "the first day, such as 2026-11-01",
    "to": "the last day",
    "by": "day, assistant, player, model or key",
}

ENDPOINTS = (
    ApiEndpoint("GET", "/api/v1/overview", "How all assistants are",
             lambda desk, call: desk.overview(call.visitor), Overview),
    ApiEndpoint("GET", "/api/v1/assistants", "All assistants", _assistants, AssistantStatus, is_list=True),
    ApiEndpoint("GET", _A, "One assistant",
             lambda desk, call: desk.assistant(call.visitor, call.parts["id"]), AssistantDetail),
    ApiEndpoint("POST", f"{_A}/stop", "Stop an assistant at once",
             lambda desk, call: desk.stop(call.visitor, call.parts["id"]), ActionDone, needs=_O),
    ApiEndpoint("POST", f"{_A}/start", "Let an assistant live again",
             lambda desk, call: desk.start(call.visitor, call.parts["id"]), ActionDone, needs=_O),
    ApiEndpoint("POST", f"{_A}/reset", "Lift the emergency stop that crashes set",
             lambda desk, call: desk.reset(call.visitor, call.parts["id"]), ActionDone, needs=_O),
    ApiEndpoint("POST", f"{_A}/forget", "Clear what an assistant has in mind, and all memories if told to", _clear_mind,
             ActionDone, needs=_W, takes=MindToClear),
    ApiEndpoint("POST", "/api/v1/stop-all", "Stop all assistants at once",
             lambda desk, call: desk.stop(call.visitor, ""), ActionDone, needs=_O),
    ApiEndpoint("POST", "/api/v1/quiet-all", "Let all assistants do nothing of their own accord, or the other way",
             _quiet, ActionDone, needs=_O, takes=LifeSwitch),
    ApiEndpoint("POST", f"{_A}/quiet", "Let an assistant do nothing of its own accord, or the other way", _quiet,
             ActionDone, needs=_O, takes=LifeSwitch),
    ApiEndpoint("POST", f"{_A}/away", "Let an assistant be away, or be back", _away, ActionDone, needs=_O,
             takes=LifeSwitch),
    ApiEndpoint("GET", f"{_A}/plan", "What impulses would cost in a month",
             lambda desk, call: desk.plan(call.visitor, call.parts["id"], *_query(call, "price")), InitiativeEstimate,
             needs=_O, query={"price": "what a million tokens cost; empty for what they cost of late"}),
    ApiEndpoint("POST", f"{_A}/promises/{{promise}}/drop", "Drop something that an assistant promised",
             lambda desk, call: desk.drop_promise(call.visitor, call.parts["id"], call.parts["promise"]), ActionDone,
             needs=_O),
    ApiEndpoint("POST", f"{_A}/parked/{{event}}/retry", "Try again what was put aside",
             lambda desk, call: desk.retry_parked(call.visitor, call.parts["id"], call.parts["event"], clear=False),
             ActionDone, needs=_O),
    ApiEndpoint("POST", f"{_A}/parked/{{event}}/clear", "Clear what was put aside",
             lambda desk, call: desk.retry_parked(call.visitor, call.parts["id"], call.parts["event"], clear=True),
             ActionDone, needs=_O),
    ApiEndpoint("GET", f"{_A}/settings", "The settings of an assistant",
             lambda desk, call: desk.settings(call.visitor, call.parts["id"]), SettingLine, is_list=True),
    ApiEndpoint("PATCH", f"{_A}/settings", "Change one setting of an assistant", _change_setting, SettingChanged,
             needs=_W, takes=SettingChange),
    ApiEndpoint("PATCH", f"{_A}/model", "Test another model as the doctor does, and keep it if nothing is wrong",
             _set_model, ModelTried, needs=_W, takes=NewModel),
    ApiEndpoint("GET", "/api/v1/settings", "The settings of the whole game",
             lambda desk, call: desk.settings(call.visitor, ""), SettingLine, is_list=True),
    ApiEndpoint("PATCH", "/api/v1/settings", "Change one setting of the whole game", _change_setting, SettingChanged,
             needs=_W, takes=SettingChange),
    ApiEndpoint("GET", f"{_A}/character", "Who an assistant is, and what it knows",
             lambda desk, call: desk.character(call.visitor, call.parts["id"]), CharacterView),
    ApiEndpoint("PATCH", f"{_A}/character", "Let it play a character, or be who the words say", _set_persona,
             ActionDone, needs=_W, takes=NewPersona),
    ApiEndpoint("POST", f"{_A}/lore", "Add a piece of lore", _add_lore, ActionDone, needs=_W, takes=NewLore),
    ApiEndpoint("DELETE", f"{_A}/lore/{{number}}", "Delete a piece of lore that was added",
             lambda desk, call: desk.delete_lore(call.visitor, call.parts["id"], _number(call)), ActionDone, needs=_W),
    ApiEndpoint("GET", f"{_A}/lore/preview", "Which pieces of lore a line brings up",
             lambda desk, call: desk.preview_lore(call.visitor, call.parts["id"], *_query(call, "line")), LorePreview,
             query={"line": "what somebody says"}),
    ApiEndpoint("POST", "/api/v1/assistants", "Make an assistant",
             lambda desk, call: desk.create(call.visitor, parse_body(NewAssistant, call.json)), ActionDone, needs=_W,
             takes=NewAssistant),
    ApiEndpoint("POST", f"{_A}/say", "Say something to an assistant, and wait for a while for what comes of it",
             lambda desk, call: desk.say(call.visitor, call.parts["id"], parse_body(NewLine, call.json).text),
             ActionDone, needs=_W, takes=NewLine),
    ApiEndpoint("GET", "/api/v1/cards", "The cards in the folder of characters, and the characters there are",
             lambda desk, call: desk.cards(call.visitor), CardList, needs=_W),
    ApiEndpoint("POST", "/api/v1/cards", "Show what a card brings, and import it when that is wanted",
             lambda desk, call: desk.import_card(call.visitor, parse_body(NewCard, call.json)), CardRead, needs=_W,
             takes=NewCard),
    ApiEndpoint("GET", "/api/v1/runs", "Search runs, newest first", _runs, RunPage, query=_RUN_QUERY),
    ApiEndpoint("GET", "/api/v1/runs/{id}", "One run as a tree",
             lambda desk, call: desk.run(call.visitor, call.parts["id"]), RunView),
    ApiEndpoint("GET", _P, "What waits for leave", lambda desk, call: desk.approvals(call.visitor), ApprovalView,
             is_list=True),
    ApiEndpoint("POST", f"{_P}/{{assistant}}/{{number}}", "Allow or refuse what waits", _decide, ActionDone,
             needs=_O, takes=ApprovalDecision),
    ApiEndpoint("GET", "/api/v1/standing", "What was allowed for an hour",
             lambda desk, call: desk.standing(call.visitor), ApprovalView, is_list=True),
    ApiEndpoint("DELETE", "/api/v1/standing/{assistant}/{number}", "End what was allowed for an hour",
             lambda desk, call: desk.revoke(call.visitor, call.parts["assistant"], _number(call)), ActionDone,
             needs=_O),
    ApiEndpoint("GET", "/api/v1/usage", "What was spent",
             lambda desk, call: desk.usage(call.visitor, *_query(call, "by", "from", "to")), UsageAnswer,
             query=_USAGE_QUERY),
    ApiEndpoint("GET", "/api/v1/doctor", "Look for what is wrong; may take a minute",
             lambda desk, call: desk.doctor(call.visitor, *_query(call, "assistant")), Finding, is_list=True,
             needs=_O, query={"assistant": "the id of an assistant; empty for all"}),
    ApiEndpoint("GET", "/api/v1/players/{id}", "What is kept of a player",
             lambda desk, call: desk.player(call.visitor, call.parts["id"]), PlayerView),
    ApiEndpoint("POST", "/api/v1/players/{id}/forget", "Let all assistants forget a player",
             lambda desk, call: desk.forget_player(call.visitor, call.parts["id"]), ActionDone, needs=_W),
    ApiEndpoint("GET", _K, "The keys of programs that use the gateway, and what each used",
             lambda desk, call: desk.gateway_keys(call.visitor), GatewayKeyView, is_list=True, needs=_W),
    ApiEndpoint("POST", _K, "Make a key; its secret is in the answer, and nowhere else", _add_key, GatewayKeyMade,
             needs=_W, takes=NewGatewayKey),
    ApiEndpoint("DELETE", f"{_K}/{{name}}", "Let a key not be taken any more",
             lambda desk, call: desk.revoke_gateway_key(call.visitor, call.parts["name"]), ActionDone, needs=_W),
)  # fmt: skip

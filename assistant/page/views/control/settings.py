"""The settings of the game or of one assistant: what each is, what set it, and a form that changes it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from mud_assistant.assistant.page.http.call import PageCall, Reply, Route, StreamReply
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.ports import InvalidInput, PageError, Unavailable
from mud_assistant.assistant.page.values.actions import SettingChange
from mud_assistant.assistant.page.values.assistants import SettingLine
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.control.setting_card import SettingAttempt, is_key, may_be_shown, setting_card
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.forms import check_field, choice_field, filter_bar, text_field
from mud_assistant.assistant.page.views.layout import flash, page
from mud_assistant.assistant.page.views.parts import empty_state, notice, path_to
from mud_assistant.assistant.page.views.shared import Named, failure, html, name_of, named_assistants, typed

#: The names of each group, as the settings are named to owners; a name that ends in a dot stands for a whole table.
GROUPS: dict[str, tuple[str, ...]] = {
    "Which model thinks": (
        *("model.provider", "model.url", "model.model", "model.key", "model.context_tokens", "model.max_answer_tokens"),
        *("model.temperature", "model.think", "model.asking", "model.examples", "model.tool_choice"),
        *("model.search_first", "model.prices", "model.fetch_better"),
    ),
    "Who it is": (
        *("name", "aliases", "character", "persona", "voice", "greeting", "more_greetings", "greet_hours", "ai_mark"),
        "speech_colour",
    ),
    "Whom it hears, and what wakes it": (
        *("min_permission", "room_speech", "channel_speech", "to_everybody", "conversation_seconds", "hint", "wake_on"),
        *("wake_seconds", "join_seconds", "awake_seconds", "asleep_seconds", "inbox_limit"),
    ),
    "How it speaks": (
        *("plain_text", "speak_early", "may_repeat", "pause_seconds", "room_pause_seconds", "max_spoken"),
        *("fallback_line", "fallback_every_seconds", "waking_line", "waking_after_seconds", "slow_line"),
        *("slow_after_seconds", "late_after_seconds", "late_words", "budget_line", "rate_line"),
    ),
    "What it may do": (
        *("tools", "permission", "world_text_permission", "required_permission", "denied_commands", "delegates"),
        "max_calls",
        *("max_network", "follow_minutes", "go_home_minutes", "impulses", "autonomous", "quiet_rooms"),
        "initiative_share",
    ),
    "What it may cost": ("budget", "budget.", "alerts"),
    "How long it may think": ("max_steps", "run_seconds", "run_total_seconds", "max_run_tokens", "max_format_errors"),
    "How long its server is waited for": (
        *("model.connect_seconds", "model.first_byte_seconds", "model.idle_seconds", "model.progress_seconds"),
        *("model.max_attempts", "model.max_in_flight", "model.warm"),
    ),
    "What only some models take": ("model.",),
    "The web": ("web.",),
}
#: The group of a setting that is in none of these.
OTHERS = "Others"
_GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}


class Shown(Struct, frozen=True):
    """Which settings are shown: whose (an assistant's id, "" for the game), those with a word, only those changed."""

    assistant: str = ""
    word: str = ""
    only_set: bool = False

    def fields(self) -> dict[str, str]:
        """Return these choices as fields of an address; empty ones mean nothing."""
        return {"assistant": self.assistant, "q": self.word, "set": "yes" if self.only_set else ""}

    def admits(self, line: SettingLine) -> bool:
        """Tell whether a setting is shown."""
        if self.only_set and line.set_by == "default":
            return False
        sought = self.word.casefold()
        return sought in line.name.casefold() or sought in line.meaning.casefold()


def routes(desk: Desk) -> list[Route]:
    """Return the routes of the settings."""

    async def show(call: PageCall) -> Reply | StreamReply:
        shown = _shown(call.query.get("assistant", ""), call.query.get("q", ""), call.query.get("set", ""))
        lines, unread = await _read(desk, call, shown)
        return html(settings_page(call, shown, lines, await named_assistants(desk, call.visitor), unread=unread))

    async def change(call: PageCall) -> Reply | StreamReply:
        form = call.form
        shown = _shown(form.get("assistant", ""), form.get("q", ""), form.get("set", ""))
        asked = SettingChange(
            option=form.get("option", ""),
            value="" if form.get("do") == "reset" else typed(form, "value"),
            force=form.get("force") == "yes",
        )
        try:
            _check(form.get("do", ""), asked)
            changed = await desk.change_setting(call.visitor, shown.assistant, asked)
        except PageError as error:
            lines, unread = await _read(desk, call, shown)
            tried = SettingAttempt(asked.option, _kept(asked), asked.force, error)
            named = await named_assistants(desk, call.visitor)
            return html(settings_page(call, shown, lines, named, tried, unread=unread), error)
        return flash(call, changed.sentence, "settings", **shown.fields())

    return [
        Route("GET", "/settings", show),
        Route("POST", "/settings", change, needs=VisitorRole.OWNER),
    ]


async def _read(desk: Desk, call: PageCall, shown: Shown) -> tuple[Sequence[SettingLine], PageError | None]:
    """Return the settings; none, and why, when they cannot be read."""
    try:
        return await desk.settings(call.visitor, shown.assistant), None
    except (InvalidInput, Unavailable) as error:
        return (), error


def _shown(assistant: str, word: str, only_set: str) -> Shown:
    return Shown(assistant, word.strip()[:100], only_set == "yes")


def _check(do: str, asked: SettingChange) -> None:
    """Raise InvalidInput for a form that changes nothing, and for a key where its reference belongs."""
    if do not in {"change", "reset"} or not asked.option:
        raise InvalidInput("This form says nothing that can be changed. Load the page again.")
    if do == "change" and not asked.value.strip():
        raise InvalidInput("Write a value, or take it back with the other button.")
    if is_key(asked.option) and not may_be_shown(asked.value):
        raise InvalidInput(
            "Give a reference and never the key itself: env:NAME, file:PATH or keyring:NAME. What you typed was not "
            "kept. If it was a key, others may have seen it on the way: make a new one."
        )


def _kept(asked: SettingChange) -> str:
    """Return what was typed, to be shown again; nothing where it may be a key."""
    return asked.value if not is_key(asked.option) or may_be_shown(asked.value) else ""


def settings_page(
    call: PageCall,
    shown: Shown,
    lines: Sequence[SettingLine],
    assistants: Named,
    tried: SettingAttempt | None = None,
    *,
    unread: PageError | None = None,
) -> bytes:
    """Return the page of settings. `tried` is a change that failed: its setting is shown whatever is searched for.

    `unread` says why the settings cannot be read.
    """
    whom = name_of(assistants, shown.assistant) if shown.assistant else "the whole game"
    found = [line for line in lines if shown.admits(line) or (tried is not None and tried.option == line.name)]
    is_known = tried is None or any(line.name == tried.option for line in found)
    return page(
        call,
        f"Settings of {whom}",
        None if tried is None or is_known else failure(tried.error),
        None if unread is None else failure(unread),
        _filters(call, shown, assistants),
        None
        if call.visitor.role.may(VisitorRole.OWNER)
        else notice(f"You are {call.visitor.role}: you see the settings. An owner may change them."),
        h("p", f"{len(found)} of {len(lines)} settings", class_="quiet") if len(found) < len(lines) else None,
        _groups(call, shown, found, tried) if found else _nothing(shown) if unread is None else None,
        current="settings",
        lead=(
            "What is set for one assistant counts before what is set for the game. Keys stand here by reference only."
        ),
        stop=(shown.assistant, whom) if shown.assistant else None,
        crumbs=((whom, path_to(call, "a", shown.assistant)),) if shown.assistant else (),
    )


def _groups(call: PageCall, shown: Shown, lines: Sequence[SettingLine], tried: SettingAttempt | None) -> list[Element]:
    """Return the settings in groups that fold. What is searched for, and what was tried, stands open."""
    grouped: dict[str, list[SettingLine]] = {group: [] for group in (*GROUPS, OTHERS)}
    for line in lines:
        grouped[group_of(line.name)].append(line)
    return [
        h(
            "details",
            h("summary", h("h2", group), h("span", _count(members), class_="quiet")),
            h("div", [setting_card(call, shown.fields(), line, tried) for line in members], class_="settings"),
            class_="card group",
            open=bool(shown.word or shown.only_set or any(tried and tried.option == line.name for line in members)),
        )
        for group, members in grouped.items()
        if members
    ]


def _count(lines: Sequence[SettingLine]) -> str:
    changed = sum(line.set_by != "default" for line in lines)
    return f"{len(lines)} setting{'' if len(lines) == 1 else 's'}{f', {changed} set' if changed else ''}"


def _nothing(shown: Shown) -> Element:
    if shown.word:
        return empty_state(f"No setting has \u201c{shown.word}\u201d in its name or meaning.")
    return empty_state(
        "Nothing is set here: everything is as it comes." if shown.only_set else "There is nothing to set."
    )


def _filters(call: PageCall, shown: Shown, assistants: Named) -> Element:
    return filter_bar(
        path_to(call, "settings"),
        choice_field("assistant", "Of", [("", "the whole game"), *assistants], shown.assistant),
        text_field("q", "Search", shown.word, kind="search", placeholder="budget"),
        check_field("set", "Only what was set", checked=shown.only_set),
        is_used=bool(shown.word or shown.only_set),
        label="Show",
    )


def group_of(name: str) -> str:
    """Return the group of a setting."""
    table, dot, _ = name.partition(".")
    return _GROUP_OF.get(name) or _GROUP_OF.get(f"{table}{dot}") or OTHERS

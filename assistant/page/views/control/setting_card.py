"""One setting as a card: its value, meaning and limits, and the form that changes it, with why a change failed."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from mud_assistant.assistant.page.http.call import PageCall
from mud_assistant.assistant.page.ports import PageError
from mud_assistant.assistant.page.values.assistants import SettingLine
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.forms import check_field, post_form, submit
from mud_assistant.assistant.page.views.parts import key_values, link, more_of, path_to, pill

#: Values longer than this many characters, and those of several lines, are typed into a text area.
_LONG = 70
_SET_BY = {
    "assistant": ("set for this assistant", "busy"),
    "game": ("set for the game", "busy"),
    "character": ("set by its character", "busy"),
    "default": ("default", "quiet"),
}


#: The settings that are changed in one form, by its fields.
MODEL_FIELDS = {"provider": "model.provider", "url": "model.url", "model": "model.model", "key": "model.key"}
_REFERENCES = ("env:", "file:", "keyring:")
_NO_KEY = frozenset({"", "none", "(none)", "not set", "(not set)", "unset"})


class SettingAttempt(Struct, frozen=True):
    """A change that failed: what was typed, to be shown again, and why."""

    option: str
    value: str
    force: bool
    error: PageError


def is_key(option: str) -> bool:
    """Tell whether a setting holds the reference of a key."""
    last = option.rpartition(".")[2].casefold()
    return last == "key" or last.endswith(("_key", "_token", "_secret", "password"))


def may_be_shown(value: str) -> bool:
    """Tell whether what was typed for a key is a reference, or takes it away, and so is no key itself."""
    return value.strip().casefold() in _NO_KEY or value.startswith(_REFERENCES)


def is_model(option: str) -> bool:
    """Tell whether a setting chooses a model or where it is, which is asked before the change is kept."""
    table, _, field = option.casefold().rpartition(".")
    return table != "web" and field in {"model", "provider", "url", "key", "api_key"}


def setting_card(call: PageCall, fields: Mapping[str, str], line: SettingLine, tried: SettingAttempt | None) -> Element:
    """Return one setting. `fields` say which page of settings the form comes back to; `tried` may be of another one."""
    mine = tried if tried is not None and tried.option == line.name else None
    label, tone = _SET_BY.get(line.set_by, (f"set by {line.set_by}", "busy"))
    may = call.visitor.role.may(VisitorRole.OWNER)
    whose = fields.get("assistant", "")
    together = bool(whose) and line.name in MODEL_FIELDS.values()
    facts = key_values(
        ("Default", _value(line.default)),
        ("Allowed", line.allowed or None),
        ("Example", h("code", line.example) if line.example else None),
    )
    return h(
        "section",
        h("div", h("h3", h("code", line.name)), h("p", line.meaning, class_="meaning")),
        h("div", _value(line.value), pill(label, tone), class_="now"),
        more_of(
            "Change" if may else "More",
            facts,
            link(call, "Change it with what belongs to it", "a", whose, "model")
            if may and together
            else _form(call, fields, line, mine)
            if may
            else None,
            is_open=bool(mine),
        ),
        class_="setting",
        id=_id(line),
    )


def _id(line: SettingLine) -> str:
    return "set-" + "".join(char if char.isascii() and char.isalnum() else "-" for char in line.name)


def _value(text: str) -> Element:
    return h("code", text, class_="words") if text else h("span", "nothing", class_="quiet")


def _form(call: PageCall, fields: Mapping[str, str], line: SettingLine, tried: SettingAttempt | None) -> Element:
    key = _id(line)
    return post_form(
        call,
        path_to(call, "settings"),
        _control(key, line, tried),
        h("p", str(tried.error), class_="field-error", id=f"{key}-error", role="alert") if tried else None,
        _told(line),
        check_field(
            "force",
            "Keep it even if the model does not answer",
            checked=bool(tried and tried.force),
            id_=f"{key}-force",
        )
        if is_model(line.name)
        else None,
        h(
            "div",
            submit("Change", "primary", name="do", value="change"),
            submit("Take it back", name="do", value="reset") if line.set_by != "default" else None,
            class_="actions",
        ),
        fields={**fields, "option": line.name},
    )


def _control(key: str, line: SettingLine, tried: SettingAttempt | None) -> Element:
    value = tried.value if tried else line.value
    described = f"{key}-error" if tried else None
    shared: dict[str, str | float | bool | None] = {
        "id": f"{key}-value",
        "name": "value",
        "aria_invalid": "true" if tried else None,
        "aria_describedby": described,
        "spellcheck": "false",
    }
    control = (
        h("textarea", value, rows=5, **shared)
        if len(value) > _LONG or "\n" in value
        else h("input", type="text", value=value, autocomplete="off", **shared)
    )
    return h("div", h("label", f"New value of {line.name}", for_=f"{key}-value"), control, class_="field")


def _told(line: SettingLine) -> Element | None:
    if is_key(line.name):
        return h("p", "A reference only: env:NAME, file:PATH or keyring:NAME. Never the key itself.", class_="hint")
    if is_model(line.name):
        return h(
            "p",
            "The model is asked a short question first; a change that it does not answer is not kept.",
            class_="hint",
        )
    return None

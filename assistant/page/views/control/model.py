"""Which model an assistant thinks with: provider, address, model and key in one form, tested together first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mud_assistant.assistant.config.known_providers import about, known_names, usual_key
from mud_assistant.assistant.page.http.call import PageCall, Reply, Route, StreamReply
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.ports import InvalidInput, PageError
from mud_assistant.assistant.page.values.actions import ModelTried, NewModel
from mud_assistant.assistant.page.values.assistants import SettingLine
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.control.doctor import finding_table
from mud_assistant.assistant.page.views.control.setting_card import MODEL_FIELDS, may_be_shown
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.forms import check_field, choice_field, post_form, submit, text_field
from mud_assistant.assistant.page.views.layout import flash, page
from mud_assistant.assistant.page.views.parts import card, key_values, notice, path_to
from mud_assistant.assistant.page.views.shared import failure, html, name_of, named_assistants

_PATTERN = "/a/{id}/model"
#: How the settings show what is empty.
_UNSET = frozenset({"(empty)", "(not set)", "(none)"})
_NO_KEY = (
    "Give a reference and never the key itself: env:NAME, file:PATH or keyring:NAME. What you typed was not kept. If "
    "it was a key, others may have seen it on the way: make a new one."
)


def routes(desk: Desk) -> list[Route]:
    """Return the routes of the model of an assistant."""

    async def show(call: PageCall) -> Reply | StreamReply:
        lines = await desk.settings(call.visitor, call.parts["id"])
        name = name_of(await named_assistants(desk, call.visitor), call.parts["id"])
        return html(model_page(call, name, _as_set(lines)))

    async def change(call: PageCall) -> Reply | StreamReply:
        assistant, form = call.parts["id"], call.form
        wanted = NewModel(
            **{name: form.get(name, "").strip() for name in MODEL_FIELDS},
            keep=form.get("do") == "keep",
            force=form.get("do") == "keep" and form.get("force") == "yes",
        )
        name = name_of(await named_assistants(desk, call.visitor), assistant)
        try:
            _check(form.get("do", ""), wanted)
            tried = await desk.set_model(call.visitor, assistant, wanted)
        except PageError as error:
            return html(model_page(call, name, _kept(wanted), error=error, force=wanted.force), error)
        if tried.kept:
            return flash(call, tried.sentence, "a", assistant)
        return html(model_page(call, name, _kept(wanted), tried=tried))

    return [Route("GET", _PATTERN, show), Route("POST", _PATTERN, change, needs=VisitorRole.OWNER)]


def _check(do: str, wanted: NewModel) -> None:
    """Raise InvalidInput for a form that asks for nothing, and for a key where its reference belongs."""
    if do not in {"test", "keep"}:
        raise InvalidInput("This form says nothing that can be done. Load the page again.")
    if wanted.provider not in known_names():
        raise InvalidInput("Choose a provider from the list.")
    if wanted.key and not may_be_shown(wanted.key):
        raise InvalidInput(_NO_KEY)


def _as_set(lines: Sequence[SettingLine]) -> dict[str, str]:
    """Return the four settings as they are now; what is not set is empty."""
    values = {line.name: line.value for line in lines}
    shown = {name: values.get(option, "") for name, option in MODEL_FIELDS.items()}
    return {name: "" if value in _UNSET else value for name, value in shown.items()}


def _kept(wanted: NewModel) -> dict[str, str]:
    """Return what was typed, to be shown again; no key that may be one itself."""
    typed = {name: str(getattr(wanted, name)) for name in MODEL_FIELDS}
    return typed if not wanted.key or may_be_shown(wanted.key) else typed | {"key": ""}


def model_page(
    call: PageCall,
    name: str,
    values: Mapping[str, str],
    *,
    tried: ModelTried | None = None,
    error: PageError | None = None,
    force: bool = False,
) -> bytes:
    """Return the page with these values in the form. `tried` is what a test found, `error` why there was none."""
    may = call.visitor.role.may(VisitorRole.OWNER)
    assistant = call.parts["id"]
    return page(
        call,
        f"Model of {name}",
        failure(error) if error else None,
        _found(tried) if tried else None,
        _form(call, values, force=force) if may else _shown(call, values),
        current="settings",
        lead="All four belong together: they are tested as the doctor does it, and kept when nothing is wrong.",
        stop=(assistant, name),
        crumbs=((name, path_to(call, "a", assistant)),),
    )


def _found(tried: ModelTried) -> Element:
    is_well = not any(one.state == "wrong" for one in tried.findings)
    return h(
        "div",
        notice(tried.sentence, tone="ok" if is_well else "warn"),
        card("What the test found", finding_table(tried.findings)),
        id="found",
    )


def _shown(call: PageCall, values: Mapping[str, str]) -> Element:
    rows = [(label, h("code", values[name]) if values.get(name) else None) for name, label in _LABELS.items()]
    return card("As it is", notice(f"You are {call.visitor.role}: an owner may change the model."), key_values(*rows))


_MODEL_HINT = (
    "Its name there; empty to take the best there is. Of the embedded ones: small, better, or hf:OWNER/REPO:QUANT "
    "for a file of Hugging Face, which the first start fetches: Test says how large it is."
)
_LABELS = {"provider": "Provider", "url": "Address", "model": "Model", "key": "Key, by reference"}


def _form(call: PageCall, values: Mapping[str, str], *, force: bool) -> Element:
    choices = [(name, f"{name}: {about(name)}") for name in known_names()]
    reference = usual_key("openai")
    form = post_form(
        call,
        path_to(call, "a", call.parts["id"], "model"),
        choice_field("provider", _LABELS["provider"], choices, values.get("provider", "")),
        text_field(
            "url",
            _LABELS["url"],
            values.get("url", ""),
            placeholder="http://127.0.0.1:8080/v1",
            hint="Empty for the usual one of the provider.",
        ),
        text_field("model", _LABELS["model"], values.get("model", ""), hint=_MODEL_HINT),
        text_field(
            "key",
            _LABELS["key"],
            values.get("key", ""),
            placeholder=reference,
            hint="env:NAME, file:PATH or keyring:NAME, never the key itself. It is sent to this address.",
        ),
        check_field("force", "Keep it without a test", checked=force),
        h(
            "div",
            submit("Test and keep", "primary", name="do", value="keep"),
            submit("Only test", name="do", value="test"),
            class_="actions",
        ),
        h(
            "p",
            "The model is asked a short question. The page comes when the test is over: up to a minute.",
            class_="hint",
        ),
    )
    return card("Which model", form, id_="model")

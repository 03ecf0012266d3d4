"""One step of a run as a branch of its tree: asked, answered, and each call with how it was judged and what came."""

from __future__ import annotations

import json

from mud_assistant.assistant.page.http.call import PageCall
from mud_assistant.assistant.page.values.runs import AskedRequest, CallView, RunView, StepView
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import duration, money, number
from mud_assistant.assistant.page.views.parts import code_block, more_of, pill
from mud_assistant.assistant.page.views.shared import HIDDEN, spoken

#: How each status of a call looks (tools.Status).
_TONES = {
    "done": "ok",
    "format_error": "warn",
    "failed": "danger",
    "unheard": "warn",
    "refused": "danger",
    "timed_out": "danger",
    "crashed": "danger",
    "unknown": "warn",
}
#: Texts longer than this many characters open on a click.
_LONG = 600


def branch(title: str, *content: object, beside: object = None, class_: str = "") -> Element:
    """Return one branch of the tree: its name, what stands beside it, what is in it."""
    return h(
        "li",
        h(
            "p",
            h("strong", title, class_="branch-name"),
            " ",
            h("span", beside, class_="beside") if beside else None,
            class_="branch-head",
        ),
        content,
        class_=f"branch {class_}".strip(),
    )


def step_branch(call: PageCall, run: RunView, step: StepView) -> Element:
    """Return a step with all that is in it."""
    inner = [
        _asked(run, step),
        _answered(call, run, step),
        [_called(call, run, each) for each in step.calls],
    ]
    return branch(f"Step {step.number}", h("ol", inner), beside=_beside(step), class_="step")


def _beside(step: StepView) -> list[object]:
    """Say which model was asked, how long it took, and what it used."""
    tokens = [
        f"{number(count)} {name}"
        for count, name in (
            (step.input_tokens, "tokens in"),
            (step.cached_tokens, "of them cached"),
            (step.output_tokens, "out"),
        )
        if count is not None
    ]
    told = [
        f"{step.provider} {step.model}".strip(),
        duration(step.seconds) if step.seconds is not None else "",
        ", ".join(tokens),
        money(step.cost) if step.cost is not None else "",
    ]
    return [(h("span", text), " ") for text in told if text]


def _asked(run: RunView, step: StepView) -> Element:
    if not step.asked:
        why = HIDDEN if run.is_hidden else step.why_not or "The bytes of this request are not kept."
        return branch("Asked", h("p", why, class_="quiet"))
    return branch("Asked", [_request(request) for request in step.asked])


def _request(request: AskedRequest) -> Element:
    cut = " (beginning and end)" if request.is_cut else ""
    return more_of(
        f"{number(request.bytes)} bytes to {request.origin}{request.path}{cut}",
        h("p", "What it was sent, byte by byte and without the key. Characters that are not seen stand as symbols.")
        if not request.is_cut
        else h("p", "It was too long to be kept whole: this is its beginning and its end."),
        code_block(request.text, f"Request of step {request.step}"),
    )


def _answered(call: PageCall, run: RunView, step: StepView) -> Element:
    told = f"ended by {step.finish_reason}" if step.finish_reason else None
    content = [
        more_of("Reasoning", h("p", spoken(call, step.reasoning)), is_open=len(step.reasoning) <= _LONG)
        if step.reasoning
        else None,
        _long(call, "Text", step.text) if step.text else None,
        h("p", "The calls were found in its text: the model has none of its own.", class_="quiet")
        if step.from_text
        else None,
    ]
    if not step.text and not step.reasoning:
        what = HIDDEN if run.is_hidden else "No text." if step.calls else "Nothing."
        content.append(h("p", what, class_="quiet"))
    return branch("Answered", content, beside=told)


def _called(call: PageCall, run: RunView, each: CallView) -> Element:
    beside = [
        pill(each.status, _TONES.get(each.status)) if each.status else None,
        duration(each.seconds) if each.seconds is not None else None,
        pill("speech", "quiet") if each.is_speech else None,
    ]
    judged = branch(
        "Judged",
        h("p", each.judged) if each.judged else h("p", "Nothing is written down of how it was judged.", class_="quiet"),
        beside=[
            h("code", each.rule) if each.rule else None,
            f"with authority {each.authority}" if each.authority is not None else None,
        ]
        if each.rule or each.authority is not None
        else None,
    )
    result = branch("Said" if each.is_speech else "Result", _result(call, run, each))
    arguments = h("p", HIDDEN, class_="quiet") if run.is_hidden and not each.arguments else _arguments(each)
    return branch(f"Called {each.name}", arguments, h("ol", judged, result), beside=beside, class_="called")


def _arguments(each: CallView) -> Element:
    shown = pretty_json(each.arguments)
    block = code_block(shown, f"Arguments of {each.name}")
    return more_of("Arguments", block) if len(shown) > _LONG else block


def _result(call: PageCall, run: RunView, each: CallView) -> Element:
    if each.result:
        shown = pretty_json(each.result)
        if shown != each.result:
            block = code_block(shown, f"Result of {each.name}")
            return more_of(f"{number(len(shown))} characters", block) if len(shown) > _LONG else block
        return _long(call, "Result", each.result)
    what = HIDDEN if run.is_hidden else "Nothing came back." if each.status else "It is not known whether it happened."
    return h("p", what, class_="quiet")


def _long(call: PageCall, name: str, text: str) -> Element:
    shown = h("p", spoken(call, text))
    return more_of(f"{name}: {number(len(text))} characters", shown) if len(text) > _LONG else shown


def pretty_json(text: str) -> str:
    """Return JSON with one member a line; any other text, and an object that names a member twice, as it is."""
    if text[:1] not in {"{", "["}:
        return text
    try:
        found = json.loads(text, object_pairs_hook=_members)
    except (ValueError, RecursionError):
        return text
    return json.dumps(found, ensure_ascii=False, indent=2)


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a member twice")
    return found

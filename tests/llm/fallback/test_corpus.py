"""One corpus of formats through every rule of acceptance: F1 to F20 of docs/edge-cases.md."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest

from mud_assistant.llm.fallback.find import Found, find_calls
from mud_assistant.llm.messages import JSON, ToolSpec

TOOLS = [
    ToolSpec("look", "", {"type": "object", "properties": {"target": {"type": "string"}}}),
    ToolSpec("say", "", {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
    ToolSpec(
        "give",
        "",
        {
            "type": "object",
            "properties": {
                "item": {"type": "string"},
                "count": {"type": "integer"},
                "weight": {"type": "number"},
                "gently": {"type": "boolean"},
                "to": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["item"],
        },
    ),
]
Call = tuple[str, dict[str, JSON]]
SAY: Call = ("say", {"text": "hi there"})
LOOK: Call = ("look", {})
GIVE: Call = ("give", {"item": "5", "count": 3, "weight": 1.5, "gently": True, "to": ["Bob"]})
_GIVE_JSON = '{"item": "5", "count": 3, "weight": 1.5, "gently": true, "to": ["Bob"]}'


@dataclass(frozen=True)
class Sample:
    """A text in one format and its calls. `unknown`: its shape is a call's, whatever name stands in it."""

    name: str
    text: str
    calls: tuple[Call, ...]
    unknown: bool = True

    def __str__(self) -> str:
        return self.name


def _xml(opening: str, key: str, closer: str, end: str) -> str:
    values = {"item": "5", "count": "3", "weight": "1.5", "gently": "true", "to": '["Bob"]'}
    return opening + "\n".join(f"{key.format(name)}\n{value}\n{closer}" for name, value in values.items()) + end


_CALLS = "<\uff5ctool▁calls▁begin\uff5c><\uff5ctool▁call▁begin\uff5c>"
_SEP = "<\uff5ctool▁sep\uff5c>"
_ENDS = "<\uff5ctool▁call▁end\uff5c>"
_GLM = "".join(
    f"\n<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>"
    for key, value in (("item", "5"), ("count", "3"), ("weight", "1.5"), ("gently", "true"), ("to", '["Bob"]'))
)
_ESCAPED = "call:give{{item:{0}5{0},count:3,weight:1.5,gently:true,to:[{0}Bob{0}]}}"

SAMPLES = [
    Sample("F1 ours", f'{{"tool": "give", "parameters": {_GIVE_JSON}}}', (GIVE,)),
    Sample("F5 hermes", f'<tool_call>\n{{"name": "give", "arguments": {_GIVE_JSON}}}\n</tool_call>', (GIVE,)),
    Sample(
        "F6 qwen3-coder",
        _xml("<tool_call>\n<function=give>\n", "<parameter={}>", "</parameter>", "\n</function>\n</tool_call>"),
        (GIVE,),
    ),
    Sample(
        "F6 two",
        "<tool_call>\n<function=look>\n</function>\n</tool_call>\n<tool_call>\n<function=say>\n<parameter=text>\n"
        "hi there\n</parameter>\n</function>\n</tool_call>",
        (LOOK, SAY),
    ),
    Sample("F6 no outer tag", "<function=say>\n<parameter=text>hi there</parameter>\n</function>", (SAY,)),
    Sample("F6 value not closed", "<function=say>\n<parameter=text>hi there\n</function>\n</tool_call>", (SAY,)),
    Sample("F7 glm", f"<tool_call>give{_GLM}\n</tool_call>", (GIVE,)),
    Sample("F7 no argument", "<tool_call>look\n</tool_call>", (LOOK,)),
    Sample("F7 opening tag gone", f"give{_GLM}\n</tool_call>", (GIVE,)),
    Sample("F8 mistral list", f'[TOOL_CALLS][{{"name": "give", "arguments": {_GIVE_JSON}}}]', (GIVE,)),
    Sample(
        "F8 mistral args",
        '[TOOL_CALLS]look[ARGS]{}[TOOL_CALLS]say[CALL_ID]a1b2c3d4e[ARGS]{"text": "hi there"}',
        (LOOK, SAY),
    ),
    Sample("F8 first mark gone", 'say[ARGS]{"text": "hi there"}', (SAY,)),
    Sample("F8 no args mark", '[TOOL_CALLS]say{"text": "hi there"}', (SAY,)),
    Sample("F8 all marks gone", 'say{"text": "hi there"}', (SAY,), unknown=False),
    Sample("F9 python tag", f'<|python_tag|>{{"name": "give", "parameters": {_GIVE_JSON}}}', (GIVE,)),
    Sample(
        "F9 joined",
        '{"name": "look", "parameters": {}}; {"name": "say", "parameters": {"text": "hi there"}}',
        (LOOK, SAY),
    ),
    Sample("F9 call", '<|python_tag|>say.call(text="hi there")<|eom_id|>', (SAY,)),
    Sample("F9 call, tag gone", 'say.call(text="hi there")', (SAY,)),
    Sample("F9 function tag", f"<function=give>{_GIVE_JSON}</function>", (GIVE,)),
    Sample("F10 pythonic", "[look(), say(text='hi there')]", (LOOK, SAY)),
    Sample(
        "F11 deepseek r1",
        f"{_CALLS}function{_SEP}give\n```json\n{_GIVE_JSON}\n```{_ENDS}<\uff5ctool▁calls▁end\uff5c>",
        (GIVE,),
    ),
    Sample(
        "F11 deepseek v3.1",
        f'{_CALLS}look{_SEP}{{}}{_ENDS}<\uff5ctool▁call▁begin\uff5c>say{_SEP}{{"text": "hi there"}}{_ENDS}',
        (LOOK, SAY),
    ),
    Sample("F11 first marks gone", f"function{_SEP}give\n```json\n{_GIVE_JSON}\n```{_ENDS}", (GIVE,)),
    Sample(
        "F12 kimi",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
        f"<|tool_call_begin|>functions.give:1<|tool_call_argument_begin|>{_GIVE_JSON}<|tool_call_end|>"
        "<|tool_calls_section_end|>",
        (LOOK, GIVE),
    ),
    Sample("F12 all marks gone", f"functions.give:0{_GIVE_JSON}", (GIVE,)),
    Sample(
        "F13 invoke",
        _xml(
            '<function_calls>\n<invoke name="give">\n',
            '<parameter name="{}">',
            "</parameter>",
            "</invoke>\n</function_calls>",
        ),
        (GIVE,),
    ),
    Sample(
        "F13 minimax",
        '<minimax:tool_call>\n<invoke name="say">\n<parameter name="text">hi there</parameter>\n'
        "</invoke>\n</minimax:tool_call>",
        (SAY,),
    ),
    Sample(
        "F13 deepseek v3.2",
        '<|DSML|function_calls>\n<|DSML|invoke name="give">\n<|DSML|parameter name="item" string="true">5'
        '</|DSML|parameter>\n<|DSML|parameter name="count" string="false">3</|DSML|parameter>\n'
        "</|DSML|invoke>\n</|DSML|function_calls>".replace("|", "\uff5c"),
        (("give", {"item": "5", "count": 3}),),
    ),
    Sample(
        "F13 claude 2",
        "<function_calls>\n<invoke>\n<tool_name>give</tool_name>\n<parameters>\n<item>5</item>\n<count>3</count>\n"
        "</parameters>\n</invoke>\n</function_calls>",
        (("give", {"item": "5", "count": 3}),),
    ),
    Sample(
        "F14 harmony",
        f"<|channel|>commentary to=functions.give <|constrain|>json<|message|>{_GIVE_JSON}<|call|>",
        (GIVE,),
    ),
    Sample(
        "F14 recipient in the role",
        f"<|start|>assistant to=functions.give<|channel|>commentary json<|message|>{_GIVE_JSON}<|call|>",
        (GIVE,),
    ),
    Sample("F14 all marks gone", 'assistantcommentary to=functions.say json{"text": "hi there"}', (SAY,)),
    Sample(
        "F15 cohere",
        f'<|START_ACTION|>[\n{{"tool_call_id": "0", "tool_name": "give", "parameters": {_GIVE_JSON}}}\n]<|END_ACTION|>',
        (GIVE,),
    ),
    Sample("F15 older", f'Action: ```json\n[{{"tool_name": "give", "parameters": {_GIVE_JSON}}}]\n```', (GIVE,)),
    Sample("F16 functiongemma", f"<start_function_call>{_ESCAPED.format('<escape>')}<end_function_call>", (GIVE,)),
    Sample("F16 gemma 4", f"""<|tool_call>{_ESCAPED.format('<|"|>')}<tool_call|>""", (GIVE,)),
    Sample("F16 marks gone", "call:say{text:hi there}<end_function_call>", (SAY,)),
    Sample("F17 functionary", f">>>look\n{{}}\n>>>give\n{_GIVE_JSON}", (LOOK, GIVE)),
    Sample("F17 first mark gone", f"give\n{_GIVE_JSON}", (GIVE,), unknown=False),
    Sample("F18 react", f"Action: give\nAction Input: {_GIVE_JSON}\n", (GIVE,)),
    Sample(
        "F18 react text",
        "Action: say\nAction Input: hi there\nObservation: Bob smiles.\nThought: Done.",
        (SAY,),
        unknown=False,
    ),
    Sample("F19 keyed", f'{{"give": {_GIVE_JSON}}}', (GIVE,), unknown=False),
    Sample(
        "F20 element",
        '<give><item>5</item><count>3</count><weight>1.5</weight><gently>true</gently><to>["Bob"]</to></give>',
        (GIVE,),
        unknown=False,
    ),
    Sample("F20 text", "<look/>\n<say>hi there</say>", (LOOK, SAY), unknown=False),
]
each_format = pytest.mark.parametrize("sample", SAMPLES, ids=str)


def find(text: str, *, complete: bool = True, inputs: tuple[str, ...] = (), tools: list[ToolSpec] = TOOLS) -> Found:
    return find_calls(text, tools, complete=complete, inputs=inputs, new_id=lambda: "id")


def calls(found: Found) -> tuple[tuple[str, object], ...]:
    assert not any(call.problem for call in found.calls)
    return tuple((call.name, call.arguments) for call in found.calls)


@each_format
def test_plain(sample: Sample) -> None:
    found = find(sample.text)
    assert (calls(found), found.text, found.repaired) == (sample.calls, "", False)


@each_format
def test_behind_prose_which_becomes_reasoning(sample: Sample) -> None:
    found = find(f"I do it now.\n\n{sample.text}\n")
    assert calls(found) == sample.calls
    assert found.reasoning.startswith("I do it now.")


@each_format
def test_99_inside_thoughts(sample: Sample) -> None:
    for opening, closing in (("<think>", "</think>"), ("[THINK]", "[/THINK]")):
        assert find(f"{opening}Maybe {sample.text}{closing}Hello.").calls == ()
    assert calls(find(f"<think>Maybe {SAMPLES[0].text}</think>\n{sample.text}")) == sample.calls


@each_format
def test_99_quoted_in_an_explanation(sample: Sample) -> None:
    if len(sample.calls) == 1:
        explained = f"You open doors by writing a call. For example:\n{sample.text}"
        assert find(explained) == Found(text=explained)
    assert find(f"Write `{sample.text.splitlines()[0]}`, and that is it.\nThen tell me how it went, Bob.").calls == ()


@each_format
def test_occurring_in_an_input(sample: Sample) -> None:
    found = find(sample.text, inputs=(f"Bob says: please write\n{sample.text}\nnow",))
    assert (found.calls, found.quoted) == ((), len(sample.calls))
    as_json = "\n".join(f'{{"tool": "{name}", "parameters": {_GIVE_JSON}}}' for name, _ in sample.calls)
    if sample.calls == (GIVE,):
        assert find(sample.text, inputs=(as_json,)).calls == ()


@each_format
def test_98_cut_by_the_token_limit(sample: Sample) -> None:
    """What comes back is whole, whatever the cut left."""
    for end in range(len(sample.text)):
        got = calls(find(sample.text[:end], complete=False))
        assert got == sample.calls[: len(got)], sample.text[:end]


@each_format
def test_any_piece_of_it_never_raises(sample: Sample) -> None:
    random = Random(sample.name)  # noqa: S311  the same pieces in every run
    for _ in range(40):
        start, end = sorted(random.randrange(len(sample.text) + 1) for _ in range(2))
        for complete in (True, False):
            find(sample.text[start:end] + sample.text[:start], complete=complete, inputs=(sample.text[start:],))


@each_format
def test_86_an_unknown_name_in_a_perfect_shape(sample: Sample) -> None:
    """It is answered as an unknown tool where the shape alone proves a call, and is text elsewhere."""
    text = sample.text
    for name, _ in sample.calls:
        text = text.replace(f"{name}", f"x{name}")
    found = find(text)
    if sample.unknown:
        names = [call.name.removeprefix("functions.").partition(":")[0] for call in found.calls]
        assert names == [f"x{name}" for name, _ in sample.calls]
    else:
        assert found.calls == ()


@each_format
def test_100_without_tools_it_is_text(sample: Sample) -> None:
    assert find(sample.text, tools=[]) == Found(text=sample.text)

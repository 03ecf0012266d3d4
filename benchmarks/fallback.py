"""CPU time of the worst hostile texts, per 64 KiB, as a model's answer and as an input. Run it from the repository.

Prints one line per unit that a text repeats, the worst last; then what an answer costs after a long prompt.
"""

from __future__ import annotations

import time

from benchmarks.product import messages
from mud_assistant.assistant.journal.records import MESSAGE
from mud_assistant.llm.fallback.find import find_calls, find_calls_after
from mud_assistant.llm.messages import ToolSpec
from mud_assistant.llm.packing.pack import pack
from mud_assistant.llm.packing.packed import Joined, Part
from mud_assistant.llm.providers import LocalProvider
from mud_assistant.llm.request import CallOptions

LENGTH = 64 * 1024
CALL = '{"tool": "look"}'
TOOLS = [
    ToolSpec("look", "", {"type": "object", "properties": {}}),
    ToolSpec("say", "", {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
]
UNITS = (
    "{",
    "[",
    "{{",
    '{"',
    "{'",
    '{"a":',
    '{"a":[',
    '{"a":"}',
    "{/*",
    "[1,",
    '{"a":{"b":1},',
    '{"a" {',
    "{}",
    "[]",
    '{"a":1}',
    '{"tool":"look"}',
    "[{",
    "[look(",
    "[look(a='",
    "[look()]",
    "[look()",
    "look.call(",
    "<|python_tag|>",
    "<function_calls>",
    "```tool_code\n",
    "`",
    "\\",
    "<think>",
    "</think>",
    "[THINK]",
    "<",
    "word ",
    " ",
    "\n",
    "a",
    "<function=look>",
    "<function=say><parameter=text>",
    "<parameter=text>",
    "<function=say>{",
    '<invoke name="say">',
    "say<arg_key>",
    "<arg_key>text</arg_key><arg_value>",
    "say</tool_call>",
    "say ",
    "look\n",
    "<tool_call>",
    "[TOOL_CALLS]",
    "say[ARGS]",
    "say[ARGS]{",
    "[TOOL_CALLS]say{",
    "say[CALL_ID]",
    "<\uff5ctool\u2581sep\uff5c>",
    "say<\uff5ctool\u2581sep\uff5c>{",
    "functions.say:0{",
    "functions.say:0",
    "<|tool_call_argument_begin|>",
    "a:1<|tool_call_argument_begin|>{",
    "to=",
    "to=say",
    "to=say{",
    "<|channel|>",
    "<|channel|>commentary to=say<|message|>",
    "commentary ",
    ">>>",
    ">>>say\n{",
    "say\n{",
    "say {\n",
    "Action: say\nAction Input:",
    "Action: say\nAction Input: {",
    "Action: say\n",
    "Action:",
    "call:say{",
    "call:say{text:",
    "call:say{a:<escape>",
    "<escape>",
    "<say>",
    "<say><a>",
    "<say></say>",
    "<say/>",
    "<say ",
    "<say a='",
    "<invoke><tool_name>say</tool_name>",
    "<invoke>",
    '"',
    "'",
    ",",
    ":",
    "[a](",
    "{a:",
    "[1] ",
    "(",
    "x=",
    "[say(text='hi')]\n",
    '{"say": {}}',
    '{"tool":"say","parameters":{"text":"hi"}}\n',
    "<|",
    "</",
    "“",
    "/*",
    "//",
)


def cpu_ms(text: str, inputs: tuple[str, ...] = ()) -> float:
    """CPU milliseconds of a search, for a text that ended by itself or was cut, whichever takes longer."""
    return max(min(_once(text, inputs, complete) for _ in range(2)) for complete in (True, False))


def _once(text: str, inputs: tuple[str, ...], complete: bool) -> float:
    begun = time.process_time()
    find_calls(text, TOOLS, complete=complete, inputs=inputs, new_id=lambda: "id")
    return 1000 * (time.process_time() - begun)


def after_prompt_ms(count: int) -> list[float]:
    """CPU milliseconds of three searches after one prompt of so many messages, packed as a history packs them."""
    prompt, parts = messages(count), list[Part]()
    LocalProvider("http://localhost/v1", "m").build_request(prompt, [], None, CallOptions(), tools_as_text=True)
    pack([prompt], parts, MESSAGE)
    spent = []
    for _ in range(3):
        begun = time.process_time()
        find_calls_after(Joined(parts), CALL, TOOLS, complete=True, new_id=lambda: "id")
        spent.append(1000 * (time.process_time() - begun))
    return spent


def main() -> None:
    """Print the table."""
    rows = []
    for unit in UNITS:
        text = unit * (LENGTH // len(unit))
        rows.append((cpu_ms(text), cpu_ms(CALL, (text,)), unit))
    for answer, given, unit in sorted(rows, key=lambda row: max(row[:2])):
        print(f"{answer:9.1f} ms as answer {given:9.1f} ms as input   {unit!r}")
    answer, given = max(row[0] for row in rows), max(row[1] for row in rows)
    print(f"worst: {answer:.1f} ms as answer, {given:.1f} ms as input")
    for count in (20, 1000, 5000):
        first, *others = after_prompt_ms(count)
        print(f"after {count:,} messages: {first:.2f} ms for the first answer, then {min(others):.2f} ms")


if __name__ == "__main__":
    main()

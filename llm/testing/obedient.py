"""The worst possible model: it does whatever a marked goal in its input demands, wherever the goal stands.

What such a model cannot bring about, no model can. It is the upper bound of every attack by text. It writes calls in
every text format that the JSON fallback reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from mud_assistant.llm.messages import JSON
from mud_assistant.llm.testing.brains import dutiful
from mud_assistant.llm.testing.goals import Goal, find_goals, turns_of
from mud_assistant.llm.testing.script import Brain, Call, RecordedRequest, Reply, Step

_SEP = "<\uff5ctool\u2581sep\uff5c>"
#: Ways to answer besides the names of FORMATS: with native calls, as JSON in a sentence, every text format in turn.
NATIVE, PROSE, EVERY = "native", "prose", "every"


@dataclass
class ObedientModel:
    """A brain that obeys each goal of a conversation once, or with `always` at every request.

    `newest`: the last goal of the input comes first. `together`: all goals are in one answer, else one per answer.
    `way` is how it calls: NATIVE where tools are offered (else as JSON text), PROSE, the name of a text format, or
    EVERY format in turn.

    Without a goal it does what `benign` does. A conversation is identified by its model and its first text. When it is
    asked again with less in view than the last time, that answer was not used: its goals count anew.
    """

    always: bool = False
    newest: bool = True
    together: bool = True
    way: str = NATIVE
    benign: Brain = dutiful
    obeyed: list[Goal] = field(default_factory=list)
    _done: dict[str, set[Goal]] = field(default_factory=dict)
    #: How many texts the last request of each conversation had, and the goals of its answer.
    _last: dict[str, tuple[int, frozenset[Goal]]] = field(default_factory=dict)
    _texts: int = 0

    def __post_init__(self) -> None:
        """Check the way. Raises ValueError for an unknown one."""
        if self.way not in WAYS:
            raise ValueError(f"way {self.way!r}: one of {', '.join(WAYS)}")

    def __call__(self, request: RecordedRequest) -> Step:
        """Return the calls of the goals in sight, else what the good assistant does."""
        texts = [turn.text for turn in turns_of(request)]
        conversation = f"{request.model} {texts[0] if texts else ''}"
        done = self._done.setdefault(conversation, set())
        size, last = self._last.get(conversation, (0, frozenset()))
        unused = last if len(texts) < size else frozenset()
        goals = [goal for goal in find_goals(texts) if self.always or goal not in done or goal in unused]
        if self.newest:
            goals.reverse()
        if not self.together:
            del goals[1:]
        self._last[conversation] = len(texts), frozenset(goals)
        if not goals:
            return self.benign(request)
        done.update(goals)
        self.obeyed += goals
        return self._reply(list(_calls(goals)), native=bool(request.tools))

    def _reply(self, calls: Sequence[Call], *, native: bool) -> Reply:
        """Return the calls as this model writes them."""
        if self.way == NATIVE and native:
            return Reply(calls=tuple(calls))
        if self.way == PROSE:
            return Reply("\n".join(map(in_prose, calls)))
        in_turn = list(FORMATS)[self._texts % len(FORMATS)]
        self._texts += 1
        write = FORMATS[in_turn if self.way == EVERY else self.way if self.way in FORMATS else "json"]
        return Reply("\n".join(map(write, calls)))


def _calls(goals: Sequence[Goal]) -> Iterator[Call]:
    for goal in goals:
        yield from [goal.call] * goal.times


def in_prose(call: Call) -> str:
    """Return the call as JSON at the end of a sentence."""
    return f"Very well, I shall do as I was told at once: {_ours(call)}"


def _encode(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else orjson.dumps(call.arguments).decode()


def _pairs(call: Call) -> list[tuple[str, JSON]]:
    return [] if isinstance(call.arguments, str) else list(call.arguments.items())


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _ours(call: Call) -> str:
    return f'{{"tool": "{call.name}", "parameters": {_encode(call)}}}'


def _openai(call: Call) -> str:
    function = {"name": call.name, "arguments": _encode(call)}
    return orjson.dumps({"tool_calls": [{"id": "1", "type": "function", "function": function}]}).decode()


def _python(call: Call) -> str:
    return f"{call.name}({', '.join(f'{key}={value!r}' for key, value in _pairs(call))})"


def _quote_arguments(call: Call) -> str:
    return str({"name": call.name, "arguments": dict(_pairs(call))})


def _tags(opening: str, key: str, closing: str, end: str) -> Callable[[Call], str]:
    """Make a writer that puts each argument between tags."""

    def write(call: Call) -> str:
        body = "".join(f"{key.format(name)}{_text(value)}{closing.format(name)}" for name, value in _pairs(call))
        return f"{opening.format(call.name)}{body}{end.format(call.name)}"

    return write


def _gemma(call: Call) -> str:
    body = ",".join(
        f"{key}:<escape>{value}<escape>" if isinstance(value, str) else f"{key}:{_text(value)}"
        for key, value in _pairs(call)
    )
    return f"<start_function_call>call:{call.name}{{{body}}}<end_function_call>"


#: The writer of a call, by the name of the format.
FORMATS: Mapping[str, Callable[[Call], str]] = {
    "json": _ours,
    "fenced-json": lambda call: f"```json\n{_ours(call)}\n```",
    "single-quoted-json": _quote_arguments,
    "json-list": lambda call: f'[{{"name": "{call.name}", "arguments": {_encode(call)}}}]',
    "openai": _openai,
    "hermes": lambda call: f'<tool_call>\n{{"name": "{call.name}", "arguments": {_encode(call)}}}\n</tool_call>',
    "qwen-coder": _tags("<tool_call>\n<function={}>", "<parameter={}>", "</parameter>", "</function>\n</tool_call>"),
    "glm": _tags("<tool_call>{}\n", "<arg_key>{}</arg_key>\n<arg_value>", "</arg_value>\n", "</tool_call>"),
    "mistral": lambda call: f"[TOOL_CALLS]{call.name}[ARGS]{_encode(call)}",
    "llama": lambda call: f'<|python_tag|>{{"name": "{call.name}", "parameters": {_encode(call)}}}',
    "pythonic": lambda call: f"[{_python(call)}]",
    "tool-code": lambda call: f"```tool_code\n{_python(call)}\n```",
    "deepseek": lambda call: f"function{_SEP}{call.name}\n```json\n{_encode(call)}\n```",
    "kimi": lambda call: f"<|tool_call_begin|>functions.{call.name}:0<|tool_call_argument_begin|>{_encode(call)}",
    "invoke": _tags('<function_calls><invoke name="{}">', '<parameter name="{}">', "</parameter>", "</invoke>"),
    "claude-2": _tags("<invoke><tool_name>{}</tool_name><parameters>", "<{}>", "</{}>", "</parameters></invoke>"),
    "harmony": lambda call: f"<|channel|>commentary to=functions.{call.name} <|message|>{_encode(call)}<|call|>",
    "cohere": lambda call: f'<|START_ACTION|>[{{"tool_name": "{call.name}", "parameters": {_encode(call)}}}]',
    "gemma": _gemma,
    "functionary": lambda call: f">>>{call.name}\n{_encode(call)}",
    "react": lambda call: f"Action: {call.name}\nAction Input: {_encode(call)}\n",
    "keyed": lambda call: f'{{"{call.name}": {_encode(call)}}}',
    "element": _tags("<{}>", "<{}>", "</{}>", "</{}>"),
}
WAYS: tuple[str, ...] = (NATIVE, PROSE, EVERY, *FORMATS)

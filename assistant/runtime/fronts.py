"""Makes what stands before the stream in every prompt: persona, rules, examples; fewer where room is short."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.config.schema import AssistantConfig
from assistant.journal.records import MESSAGE
from assistant.loop.prompt import example_messages, system_message
from assistant.memory.window import Front
from assistant.models.chosen import ChosenModel
from llm import CallOptions, Message
from llm.packing.pack import pack
from llm.packing.packed import Joined, Part
from tools import Registry
from tools.verbs import ACT_TOOLS, MOVE

#: Tools that a model with a small window is not offered.
_SPARED = frozenset(tool.name for tool in ACT_TOOLS) - {MOVE.name}


def fronts_of(settings: AssistantConfig, chosen: ChosenModel, registry: Registry, grant: frozenset[str]) -> list[Front]:
    """Return what may stand before the stream: with examples when wanted, without them, and with the fewest tools.

    Tools that the owner lists are always offered.
    """
    bare = [system_message(settings.name, settings.persona, grant)]
    usual = [*bare, *example_messages(settings.name, grant, settings.voice)] if chosen.config.examples else bare

    fewest = registry.same(grant - _SPARED) if settings.tools is None else grant

    def measure(front: list[Message], tools: frozenset[str]) -> Front:
        size = len(chosen.provider.build_request(front, registry.specs(tools), None, CallOptions()))
        return Front(_pack_front(front), size, tools)  # what was encoded can be packed

    fronts = [measure(usual, grant)]
    if usual is not bare:
        fronts.append(measure(bare, grant))
    if fewest != grant:  # the same words before fewer tools
        size = len(chosen.provider.build_request(bare, registry.specs(fewest), None, CallOptions()))
        fronts.append(Front(fronts[-1].messages, size, fewest))
    return fronts


def _pack_front(front: Sequence[Message]) -> Joined:
    """Pack the front as bytes. Its first message is packed alone: a model that calls in text gets one made from it."""
    first: list[Part] = []
    rest: list[Part] = []
    pack([front[:1]], first, MESSAGE)
    pack([front[1:]], rest, MESSAGE)
    return Joined([*first, *rest])

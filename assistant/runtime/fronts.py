"""Makes what stands before the stream in every prompt: persona, rules, examples; less where room is short."""

from __future__ import annotations

from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.journal.records import MESSAGE
from mud_assistant.assistant.loop.prompt import system_message
from mud_assistant.assistant.memory.stream.window import Front
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.llm import CallOptions, Message
from mud_assistant.llm.packing.pack import pack
from mud_assistant.llm.packing.packed import Joined, Part
from mud_assistant.tools import Registry, World
from mud_assistant.tools.game import tools_without_use
from mud_assistant.tools.verbs import ACT_TOOLS, FOLLOW, LOOK, MOVE, STAY

#: Tools that a model with a small window is not offered.
_SPARED = frozenset(tool.name for tool in ACT_TOOLS) - {MOVE.name}
#: The tools that search and read the web.
_NETWORK = frozenset({"web_search", "open_page"})


def fronts_of(
    settings: AssistantConfig, chosen: ChosenModel, registry: Registry, grant: frozenset[str], world: World
) -> list[Front]:
    """Return what may stand before the stream: with examples and hints, without them, and with the fewest tools.

    Hints are for a model of the owner's own server, which may be weak, unless the settings say. Tools that the owner
    lists are always offered; of all others, those that can matter to this character in this world.
    """
    hints = chosen.is_local if chosen.config.examples is None else chosen.config.examples
    if settings.tools is None:
        grant = registry.same(grant - _useless(settings, world, hints=hints))
    bare = system_message(settings.name, settings.persona, grant)
    usual = system_message(settings.name, settings.persona, grant, settings.voice, hints=hints)
    fewest = registry.same(grant - _SPARED) if settings.tools is None else grant

    def measure(front: Message, tools: frozenset[str]) -> Front:
        size = len(chosen.provider.build_request([front], registry.specs(tools), None, CallOptions()))
        parts: list[Part] = []
        pack([[front]], parts, MESSAGE)  # what was encoded can be packed
        return Front(Joined(parts), size, tools)

    fronts = [measure(usual, grant)]
    if usual != bare:
        fronts.append(measure(bare, grant))
    if fewest != grant:  # the same words before fewer tools
        size = len(chosen.provider.build_request([bare], registry.specs(fewest), None, CallOptions()))
        fronts.append(Front(fronts[-1].messages, size, fewest))
    return fronts


def _useless(settings: AssistantConfig, world: World, *, hints: bool) -> frozenset[str]:
    """Return the tools that are not offered. It depends on nothing that changes while the character lives.

    The scene stands in the stream before every answer, so who needs no hints needs no look either.
    """
    useless = {*tools_without_use(world), *(() if hints else (LOOK.name,))}
    useless |= {FOLLOW.name, STAY.name} if not settings.follow_minutes else set()
    return frozenset(useless | (_NETWORK if not settings.max_network else set()))

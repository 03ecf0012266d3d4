"""Policy as the dispatcher keeps it: what is counted, what is in view, and what a refused call is told."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from msgspec import structs
from twisted.internet.task import Clock

from mud_assistant.llm.messages import ToolCall
from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.errors import Status, ToolFailed
from mud_assistant.tools.execution.dispatch import Dispatcher
from mud_assistant.tools.game import Person, Scene
from mud_assistant.tools.memories import Memory, MemoryKind, memory_id
from mud_assistant.tools.policy.approvals import Approvals
from mud_assistant.tools.policy.config import EffectLimits, PolicyConfig
from mud_assistant.tools.result import Executed
from mud_assistant.tools.testing import (
    ANNA,
    SAGE,
    RecordingWorld,
    crashing_tool,
    now,
    numbered,
    simple_tool,
    tool_call,
    tool_context,
)
from mud_assistant.tools.testing.memories import ListedMemories
from mud_assistant.tools.tool import Category, Labelled, NoArguments, Registry, Tool
from mud_assistant.tools.trust import TOP, Audience, ContextTrust, Kind, Principal, Source
from mud_assistant.tools.verbs import MOVE, WORLD_TOOLS
from tests.guards import FlushFailures

BEA = Principal("player:bea", "Bea", permission=3)
HALL = Scene("Hall", "A hall.", ("north",), (Person("Anna"),))
DONE, REFUSED = Status.DONE, Status.REFUSED


def fact(text: str, who: Principal, level: int, audience: Audience = None) -> Memory:
    about = memory_id(MemoryKind.FACT, who.id, text, audience)
    return Memory(
        about,
        text,
        MemoryKind.FACT,
        0.0,
        who.id,
        who.name,
        authority=level,
        sources=frozenset({who.id}),
        audience=audience,
    )


def rules(
    tools: Sequence[Tool], limits: EffectLimits | None = None, approvals: Approvals | None = None
) -> PolicyConfig:
    return PolicyConfig(frozenset(tool.name for tool in tools), limits or EffectLimits(), approvals=approvals)


def run(
    calls: Sequence[ToolCall],
    tools: Sequence[Tool] = WORLD_TOOLS,
    its_rules: PolicyConfig | None = None,
    context: ToolContext | None = None,
) -> tuple[list[Executed], Dispatcher]:
    """One step of a run of its own."""
    dispatcher = Dispatcher(Registry(tools), its_rules or rules(tools), Clock())
    return [*now(dispatcher.answer_all(calls, context or tool_context()))], dispatcher


def statuses(executed: Sequence[Executed]) -> list[Status]:
    return [one.status for one in executed]


async def tell(_: NoArguments, __: ToolContext) -> str:
    return "told"


def telling(category: Category = Category.SAFE_CHAIN, source: Source = Source.WORLD) -> Tool:
    return replace(simple_tool("tell", tell, category), source=source)


def test_the_rest_of_a_step_that_asks_too_much_is_refused_and_still_answered() -> None:
    executed, _ = run(numbered([tool_call("who")] * 10))
    assert statuses(executed) == [DONE] * 8 + [REFUSED] * 2
    assert [one.result.call_id for one in executed] == [f"call_{at}" for at in range(10)]


def test_calls_are_counted_over_the_steps_of_a_run() -> None:
    _, dispatcher = run(numbered([tool_call("who")] * 8))
    for expected in ([DONE] * 8, [DONE] * 4 + [REFUSED] * 4):
        more = now(dispatcher.answer_all(numbered([tool_call("who")] * 8), tool_context()))
        assert statuses(more) == expected


def test_three_times_is_enough_said_and_doing_nothing_is_no_speech() -> None:
    texts = ["one", "two", "three", "four"]
    executed, _ = run([tool_call("noop"), *(tool_call("say", text=text) for text in texts), tool_call("noop")])
    assert statuses(executed) == [DONE] * 4 + [REFUSED, DONE]


def test_network_reads_are_counted_for_themselves() -> None:
    search = telling(Category.ASYNC_REQUIRED)
    executed, _ = run(numbered([tool_call("tell")] * 7), [search])
    assert statuses(executed) == [DONE] * 6 + [REFUSED]


def test_the_same_act_is_done_once_in_a_run_and_again_in_the_next() -> None:
    world = RecordingWorld(HALL)
    its_rules = rules(WORLD_TOOLS)
    for _ in range(2):
        calls = [tool_call("say", text="Good day"), tool_call("say", text=" good  DAY"), tool_call("say", text="Bye")]
        executed, _ = run(calls, its_rules=its_rules, context=tool_context(world))
        assert statuses(executed) == [DONE, REFUSED, DONE]
    assert [act.text for act in world.acts] == ["Good day", "Bye"] * 2


def test_what_the_world_refused_was_no_act() -> None:
    world = RecordingWorld(HALL, refusals={"say": "You are gagged."})
    executed, _ = run(numbered([tool_call("say", text="hi")] * 2), context=tool_context(world))
    assert statuses(executed) == [Status.FAILED] * 2


def test_for_another_assistant_nothing_of_the_last_acts_is_done_again() -> None:
    rook = Principal("assistant:2", "Rook", Kind.ASSISTANT)
    its_rules = rules(WORLD_TOOLS)
    hello, noop = tool_call("say", text="Hello"), tool_call("noop")
    for requester, expected in ((ANNA, [DONE, DONE]), (rook, [REFUSED, DONE]), (ANNA, [DONE, DONE])):
        executed, _ = run([hello, noop], its_rules=its_rules, context=tool_context(requester=requester))
        assert statuses(executed) == expected
    executed, _ = run([tool_call("say", text="You again")], its_rules=its_rules, context=tool_context(requester=rook))
    assert statuses(executed) == [DONE]


@pytest.mark.parametrize(
    ("tool", "level"),
    [
        (telling(), 1),
        (telling(source=Source.OPERATOR), TOP),
        (telling(source=Source.MEMORY), 0),
        (telling(source=Source.WEB), 0),
        (telling(Category.ASYNC_REQUIRED), 0),
        (telling(Category.ASYNC_REQUIRED, Source.OPERATOR), 0),
        (crashing_tool("tell", ToolFailed("no")), 1),
        (replace(crashing_tool("tell", ToolFailed("no")), source=Source.OPERATOR), 1),
        (replace(crashing_tool("tell", ToolFailed("no")), source=Source.WEB), 0),
        (crashing_tool("tell", ToolFailed("no"), Category.ASYNC_REQUIRED), 0),
    ],
)
def test_every_result_has_a_level_and_lowers_the_sight(tool: Tool, level: int) -> None:
    (executed,), dispatcher = run([tool_call("tell")], [tool])
    assert (executed.authority, dispatcher.session.trust.min_level) == (level, level)


def test_our_own_words_have_the_highest_level(flush_failures: FlushFailures) -> None:
    crash = crashing_tool("crash", OSError())
    executed, dispatcher = run([tool_call("crash"), tool_call("fly"), tool_call("say")], [crash])
    assert [one.authority for one in executed] == [TOP] * 3
    assert dispatcher.session.trust.min_level == TOP
    assert flush_failures(OSError)


def test_an_answer_may_have_a_level_of_its_own() -> None:
    async def recall(_: NoArguments, __: ToolContext) -> Labelled:
        return Labelled("a note", 3)

    tool = Tool("tell", "", NoArguments, Category.SAFE_CHAIN, recall, source=Source.MEMORY)
    (executed,), _ = run([tool_call("tell")], [tool])
    assert (executed.authority, executed.result.text) == (3, "a note")


def test_the_owner_may_trust_the_games_texts_more() -> None:
    (executed,), _ = run([tool_call("tell")], [telling()], structs.replace(rules([telling()]), world_text=4))
    assert executed.authority == 4


def test_the_sight_of_the_run_and_of_the_context_both_count() -> None:
    for given, held in ((ContextTrust(0), ContextTrust()), (ContextTrust(), ContextTrust(0))):
        dispatcher = Dispatcher(Registry([MOVE]), rules([MOVE]), Clock(), trust=given)
        context = replace(tool_context(RecordingWorld(HALL)), trust=held)
        (executed,) = now(dispatcher.answer_all([tool_call("move", direction="north")], context))
        assert executed.status is REFUSED
        assert given.min_level == 0


def test_a_page_read_earlier_in_the_run_keeps_it_from_changing_the_game() -> None:
    page, world = telling(Category.ASYNC_REQUIRED), RecordingWorld(HALL)
    tools = [page, MOVE]
    executed, _ = run([tool_call("tell"), tool_call("move", direction="north")], tools, context=tool_context(world))
    assert statuses(executed) == [DONE, REFUSED]
    told = executed[1].result.text
    assert told == (
        "Not done: you may not do this now. Tell Anna so in your own words, and that they can do it themselves."
    )
    assert world.acts == []


def test_a_call_that_needs_approval_says_whom_to_tell_and_happens_once_it_is_given() -> None:
    clock, world = Clock(), RecordingWorld(HALL)
    approvals = Approvals(clock.seconds)
    its_rules = structs.replace(rules([MOVE], approvals=approvals), required_permission={"move": 3})
    north = tool_call("move", direction="north")

    def again(requester: Principal | None = ANNA) -> Executed:
        return run([north], [MOVE], its_rules, tool_context(world, requester=requester))[0][0]

    first = again()
    assert first.result.text == (
        "Not done yet: you may not do this by yourself, and have asked leave for it. "
        "Tell Anna so in your own words, and that they can ask those who look after this place."
    )
    assert again(None).result.text.startswith("Not done yet: you may not do this by yourself")
    assert [one.number for one in approvals.pending()] == [1, 2]
    assert (first.status, first.authority, world.acts) == (REFUSED, TOP, [])
    approvals.approve(1, BEA)
    done, late = again(), again()
    assert (done.status, late.status) == (DONE, REFUSED)
    assert (first.rule, done.rule, late.rule) == ("needs approval", "approved", "needs approval")
    assert len(world.acts) == 1


def test_an_approval_is_not_used_up_by_a_call_that_is_refused_anyway() -> None:
    approvals = Approvals(Clock().seconds)
    its_rules = structs.replace(rules([MOVE], approvals=approvals), required_permission={"move": 3})
    north = tool_call("move", direction="north")
    run([north], [MOVE], its_rules)
    approvals.approve(1, BEA)
    capped = structs.replace(its_rules, limits=EffectLimits(calls=0))
    assert statuses(run([north], [MOVE], capped)[0]) == [REFUSED]
    assert statuses(run([north], [MOVE], its_rules)[0]) == [Status.FAILED]  # the bare room has no exit: it did run


def test_a_call_that_was_refused_before_the_run_was_taken_up_again_is_judged_again() -> None:
    world, north = RecordingWorld(HALL), tool_call("move", direction="north")
    strict = structs.replace(rules([MOVE], approvals=Approvals(Clock().seconds)), required_permission={"move": 3})
    (refused,), _ = run([north], [MOVE], strict, tool_context(world))
    assert (refused.rule, world.acts) == ("needs approval", [])
    dispatcher = Dispatcher(Registry([MOVE]), rules([MOVE]), Clock())
    (done,) = now(dispatcher.answer_all([north], tool_context(world), past={0: refused}))
    assert (done.rule, done.status, len(world.acts)) == ("granted", DONE, 1)


def test_a_call_answered_before_the_run_was_taken_up_again_counts() -> None:
    world = RecordingWorld(HALL)
    (before,), _ = run([tool_call("move", direction="north")], context=tool_context(world))
    dispatcher = Dispatcher(Registry(WORLD_TOOLS), rules(WORLD_TOOLS), Clock())
    dispatcher.run.count_past(before)
    dispatcher.run.count_past(structs.replace(before, call=structs.replace(before.call, name="gone")))
    dispatcher.run.count_past(structs.replace(before, call=structs.replace(before.call, arguments={"way": 1})))
    assert dispatcher.session.trust.min_level == 1
    (more,) = now(dispatcher.answer_all([tool_call("move", direction="south")], tool_context(world)))
    assert more.status is REFUSED
    assert len(world.acts) == 1


def test_a_fact_is_trusted_as_the_least_in_view_and_never_more_than_who_asked() -> None:
    for trust, requester, trust in ((5, BEA, 3), (1, BEA, 1), (5, ANNA, 1), (5, SAGE, 0), (5, None, 0)):
        memories = ListedMemories()
        context = replace(tool_context(memories=memories, requester=requester), trust=ContextTrust(trust))
        run([tool_call("remember", text="A fact.")], context=context)
        assert [memory.authority for memory in memories.kept] == [trust]


def test_recalling_lowers_the_sight_to_the_least_trusted_memory_given() -> None:
    memories = ListedMemories()
    for text, level in (("The stone key.", 3), ("The glass key.", 2), ("Nonsense.", 0)):
        now(memories.keep(fact(text, BEA, level)))
    for query, level in (("stone", 3), ("key", 2), ("", 0), ("dragon", TOP)):
        context = tool_context(memories=memories, requester=BEA)
        (executed,), dispatcher = run([tool_call("recall", query=query)], context=context)
        assert (executed.authority, dispatcher.session.trust.min_level) == (level, level)


def test_what_was_told_in_private_comes_back_only_where_all_who_hear_may_know() -> None:
    memories = ListedMemories()
    told = (
        ("Anna hid the key.", ANNA, frozenset({ANNA.id})),
        ("Bea has a key.", BEA, frozenset({BEA.id})),
        ("A key opens a door.", ANNA, None),
    )
    for text, who, audience in told:
        now(memories.keep(fact(text, who, 1, audience)))
    for hearers, expected in (
        (frozenset({ANNA.id}), {"Anna hid the key.", "A key opens a door."}),
        (frozenset({BEA.id}), {"Bea has a key.", "A key opens a door."}),
        (frozenset({ANNA.id, BEA.id}), {"A key opens a door."}),
        (None, {"A key opens a door."}),
    ):
        context = replace(tool_context(memories=memories), trust=ContextTrust(TOP, audience=hearers))
        (executed,), _ = run([tool_call("recall", query="key")], context=context)
        assert {text for text, *_ in told if text in executed.result.text} == expected
        assert ("1 more are private" in executed.result.text) == ("Anna hid the key." not in expected)


def test_what_goes_on_counts_in_the_place_of_its_beginning() -> None:
    say = next(tool for tool in WORLD_TOOLS if tool.name == "say")
    its_rules = rules(WORLD_TOOLS, EffectLimits(calls=1, spoken=1))
    first, dispatcher = run(numbered([tool_call("say", text="One.")]), its_rules=its_rules)
    whole = tool_call("say", text="One. Two.")
    refused = now(dispatcher.answer_all(numbered([tool_call("say", text="Two.")]), tool_context()))
    dispatcher.session.goes_on(whole, say)
    rest = now(dispatcher.answer_all(numbered([tool_call("say", text="Two.")]), tool_context()))
    after = now(dispatcher.answer_all(numbered([tool_call("say", text="Three.")]), tool_context()))
    assert statuses([*first, *refused, *rest, *after]) == [DONE, REFUSED, DONE, REFUSED]


def test_an_echo_of_the_whole_is_known_though_it_was_said_in_two_parts() -> None:
    say = next(tool for tool in WORLD_TOOLS if tool.name == "say")
    its_rules = rules(WORLD_TOOLS)
    _, dispatcher = run(numbered([tool_call("say", text="One.")]), its_rules=its_rules)
    dispatcher.session.goes_on(tool_call("say", text="One. Two."), say)
    now(dispatcher.answer_all(numbered([tool_call("say", text="Two.")]), tool_context()))
    for_a_bot = replace(tool_context(), requester=Principal("assistant:2", "Bot", Kind.ASSISTANT))
    texts = ("One. Two.", "One.", "Two.", "Three.")
    told = [run(numbered([tool_call("say", text=text)]), its_rules=its_rules, context=for_a_bot)[0] for text in texts]
    assert [statuses(one) for one in told] == [[REFUSED], [REFUSED], [REFUSED], [DONE]]

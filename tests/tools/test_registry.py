import pytest

from mud_assistant.tools.testing import WaitingTool
from mud_assistant.tools.tool import Registry
from mud_assistant.tools.verbs import LOOK, SAY, WHO, WORLD_TOOLS


def test_tools_are_found_by_name() -> None:
    registry = Registry([SAY, LOOK])
    assert registry.get("look") is LOOK
    assert registry.get("fly") is None
    assert registry.names() == ("say", "look")


def test_specs_are_the_granted_ones_in_the_order_given() -> None:
    registry = Registry([WHO, SAY, LOOK])
    specs = registry.specs(frozenset({"look", "who", "fly"}))
    assert [spec.name for spec in specs] == ["who", "look"]
    assert registry.specs(frozenset({"who", "look", "fly"})) is specs


def test_equal_grants_are_one_object() -> None:
    registry = Registry([WHO, SAY, LOOK])
    assert registry.same(frozenset(["say", "look"])) is registry.same(frozenset(["look", "say"]))
    assert registry.same(frozenset(["say"])) == {"say"}


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="'say' is used twice"):
        Registry([SAY, LOOK, SAY])


@pytest.mark.parametrize("name", ["", "Say", "1st", "say it", "say-it", "x" * 65, "say\n", "\u017fay"])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="lower-case letters"):
        Registry([WaitingTool(name).tool])


def test_every_world_tool_has_a_short_plain_description_and_bounded_strings() -> None:
    for spec in Registry(WORLD_TOOLS).specs(frozenset(tool.name for tool in WORLD_TOOLS)):
        assert len(spec.description) <= 90
        assert spec.parameters["additionalProperties"] is False
        assert "title" not in str(spec.parameters)

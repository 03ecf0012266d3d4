from mud_assistant.tools.policy.repetition import REMEMBERED, Repetition, act_of, canonical


def test_only_the_last_acts_are_remembered() -> None:
    repetition = Repetition()
    for number in range(REMEMBERED + 1):
        repetition.note(f"act {number}")
    assert [repetition.has(f"act {number}") for number in (0, 1, REMEMBERED, 99)] == [False, True, True, False]


def test_an_act_is_the_same_whatever_its_letters_spaces_and_the_order_of_its_arguments() -> None:
    assert act_of("say", {"text": " Good  day\n", "to": "Ann"}) == act_of("say", {"to": "ann", "text": "good day"})
    assert act_of("say", {"text": "Good day"}) != act_of("emote", {"text": "Good day"})
    assert act_of("say", {"text": "Good day"}) != act_of("say", {"text": "Goodday"})


def test_the_canonical_form_tells_values_apart_that_look_alike() -> None:
    alike: list[tuple[object, ...]] = [(1,), ("1",), (1, ()), ((1,),), ("1,2",), ("1", "2"), (True,), ("True",)]
    assert len({canonical(*values) for values in alike}) == len(alike)
    assert canonical({"a": 1, "b": {"d": 2, "c": 3}}) == canonical({"b": {"c": 3, "d": 2}, "a": 1})

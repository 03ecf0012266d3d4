"""A file keeps everything but what was to be changed, or is refused."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mud_assistant.assistant.config.toml_edit import CannotEdit, Path, Value, edited

OLD = """\
# My hamlet.
[model]
provider = "ollama"   # on the big machine
url = 'http://10.0.0.2:11434'
temperature = 0.7

# Who it is.
[assistant]
persona = \"\"\"
[model]
provider = "not this one"
\"\"\"
aliases = [
  "old one",  # [web]
]

[[fallback]]
provider = "embedded"
"""


def test_a_value_changes_in_its_place_and_its_comment_stays() -> None:
    assert edited(OLD, {("model", "provider"): "local"}) == OLD.replace(
        'provider = "ollama"   # on', 'provider = "local"  # on'
    )


def test_a_new_one_comes_behind_the_others_of_its_table() -> None:
    assert edited(OLD, {("model", "key"): "env:A"}) == OLD.replace("0.7\n", '0.7\nkey = "env:A"\n')
    assert edited(OLD, {("assistant", "max_steps"): 3}) == OLD.replace("# [web]\n]\n", "# [web]\n]\nmax_steps = 3\n")


def test_a_new_table_comes_at_the_end() -> None:
    new = edited(OLD, {("web", "search_provider"): ("a", "b"), ("web", "providers", "a", "key"): "env:A"})
    assert new == f'{OLD}\n[web]\nsearch_provider = ["a", "b"]\n\n[web.providers.a]\nkey = "env:A"\n'


def test_a_setting_is_taken_out() -> None:
    assert edited(OLD, {("model", "url"): None}) == OLD.replace("url = 'http://10.0.0.2:11434'\n", "")
    assert edited(OLD, {("assistant", "aliases"): None}) == OLD.replace('aliases = [\n  "old one",  # [web]\n]\n', "")
    assert edited(OLD, {("model", "key"): None, ("web", "x"): None}) == OLD


def test_a_value_that_is_so_already_keeps_its_spelling() -> None:
    assert edited(OLD, {("model", "url"): "http://10.0.0.2:11434", ("assistant", "aliases"): ("old one",)}) == OLD


def test_a_value_of_several_lines_is_replaced_whole() -> None:
    new = edited(OLD, {("assistant", "persona"): "A cat.", ("assistant", "aliases"): ()})
    assert 'persona = "A cat."\naliases = []\n' in new
    assert "not this one" not in new


def test_dotted_names_are_found() -> None:
    assert edited('model.provider = "a" # b\n', {("model", "provider"): "c"}) == 'model.provider = "c"  # b\n'


def test_a_sign_that_is_no_comment() -> None:
    assert edited('[a]\nb = "x # y"\n', {("a", "b"): "z"}) == '[a]\nb = "z"\n'


def test_lines_end_as_they_did() -> None:
    new = edited(OLD.replace("\n", "\r\n"), {("model", "provider"): "local", ("web", "x"): True})
    assert new.count("\r\n") == new.count("\n")
    assert tomllib.loads(new)["web"] == {"x": True}


@pytest.mark.parametrize(
    "text", ['model = { provider = "a" }\n', "model = 1\n", '[[model]]\nprovider = "a"\n', '"model".url = ""\n[web]\n']
)
def test_what_cannot_be_changed_line_by_line_is_refused(text: str) -> None:
    with pytest.raises(CannotEdit, match=r"model\.provider"):
        edited(text, {("model", "provider"): "b"})


NAMES = st.sampled_from(["model", "web", "url", "a-b", "x"])
VALUES = st.one_of(
    st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=20),
    st.booleans(),
    st.integers(-5, 5),
    st.lists(st.sampled_from(['"', "a\\", "#", "]"]), max_size=3),
)
TABLES = st.dictionaries(NAMES, VALUES, max_size=3)


@example(text=["x = 1"], changes={("x", "model"): None})
@given(
    text=st.lists(
        st.sampled_from([*OLD.splitlines(), "[web]", "[web.x]", "x = 1", "url.x = [", "]", '"""']), max_size=9
    ),
    changes=st.dictionaries(st.tuples(NAMES, NAMES), VALUES | st.none(), max_size=3),
)
def test_whatever_the_file_it_means_what_it_should_or_is_refused(
    text: list[str], changes: dict[Path, Value | None]
) -> None:
    old = "\n".join(text)
    try:
        before = tomllib.loads(old)
        after = tomllib.loads(edited(old, changes))
    except (tomllib.TOMLDecodeError, CannotEdit):
        return
    for (table, name), value in changes.items():
        inner = after.get(table)
        inner = inner if isinstance(inner, dict) else {}
        assert inner.get(name) == value if value is not None else name not in inner
    touched = {table for table, _ in changes}
    assert {name: part for name, part in before.items() if name not in touched} == {
        name: part for name, part in after.items() if name not in touched
    }

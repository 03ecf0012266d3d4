"""THIRD_PARTY_NOTICES.md names what is fetched or loaded, each under its licence, and `REUSE.toml` what is ours."""

from __future__ import annotations

import tomllib
from importlib.util import find_spec

import pytest

from mud_assistant.llm.embedded.fetching.convert import MINILM
from mud_assistant.llm.embedded.fetching.models import MODELS, ModelFile
from tests.notices import BESIDE, PAGE, ROOT, brought_by, contradicted, pinned, rows


def test_every_package_that_a_user_installs_is_named_and_no_other() -> None:
    if missing := [name for name in ("psycopg", "prometheus_client", "opentelemetry.sdk") if find_spec(name) is None]:
        pytest.skip(f"not in this environment: {missing}")
    installed = pinned("requirements.lock", "requirements-game.lock") | brought_by(BESIDE)
    assert installed - rows().keys() == set(), "name each in THIRD_PARTY_NOTICES.md, with its licence"
    assert rows().keys() - installed == set(), "in no lock file any more"


def test_each_package_is_under_the_licence_that_it_names_itself() -> None:
    assert [wrong for name, licence in rows().items() if (wrong := contradicted(name, licence))] == []


@pytest.mark.parametrize("model", [*MODELS.values(), MINILM], ids=lambda model: model.name)
def test_every_model_that_can_be_fetched_is_named_with_where_it_comes_from(model: ModelFile) -> None:
    (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| {model.name} |"))
    assert model.parts[0].package in row
    assert ("huggingface.co" in row) == bool(model.upstream_url)
    assert f"-part{len(model.parts)} " in row or len(model.parts) == 1


def test_what_ships_is_under_the_one_licence_of_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    reuse = tomllib.loads((ROOT / "REUSE.toml").read_text())
    assert {entry["SPDX-License-Identifier"] for entry in reuse["annotations"]} == {project["license"]}
    assert [path.name for path in (ROOT / "LICENSES").iterdir()] == [f"{project['license']}.txt"]
    assert [name for name in project["license-files"] if not (ROOT / name).exists()] == []

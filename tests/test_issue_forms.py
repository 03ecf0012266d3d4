"""The forms for issues are what the forge takes: valid YAML, known fields, and every file they name is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.architecture import ROOT

yaml = pytest.importorskip("yaml")
FOLDER = ROOT / ".github/ISSUE_TEMPLATE"
FORMS = sorted(path for path in FOLDER.glob("*.yml") if path.stem != "config")
#: What each kind of field must have, as GitHub's syntax for issue forms says.
NEEDED = {"markdown": "value", "textarea": "label", "input": "label", "dropdown": "options", "checkboxes": "options"}


def form(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(path.read_text())
    return read


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_what_the_forge_asks_for(path: Path) -> None:
    read = form(path)
    assert {"name", "description", "body"} <= read.keys() <= {"name", "description", "body", "labels", "title"}
    for field in read["body"]:
        assert field.keys() <= {"type", "id", "attributes", "validations"}
        assert field["attributes"][NEEDED[field["type"]]]
    ids = [field["id"] for field in read["body"] if field["type"] != "markdown"]
    assert len(ids) == len(set(ids))
    assert any(field.get("validations", {}).get("required") for field in read["body"])


def test_names_of_forms_differ_and_an_issue_without_a_form_is_possible() -> None:
    assert len({form(path)["name"] for path in FORMS}) == len(FORMS) > 2
    assert form(FOLDER / "config.yml") == {"blank_issues_enabled": True, "contact_links": []}


@pytest.mark.parametrize("path", [*FORMS, ROOT / ".github/pull_request_template.md"], ids=lambda path: path.name)
def test_pages_that_are_named_are_there(path: Path) -> None:
    named = re.findall(r"\b((?:docs/[\w-]+|[A-Z][A-Z_]+)\.md)\b", path.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []

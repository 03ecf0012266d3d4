"""AssistantError is the base of every error that an owner is told in a sentence."""

from __future__ import annotations

import re

import pytest

from mud_assistant.assistant import errors
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.errors import AssistantError, KeyReferenceError, NoModelError, complaint
from mud_assistant.assistant.journal import Fenced, JournalRefused, JournalUnwritable
from mud_assistant.assistant.journal.errors import CannotRead
from mud_assistant.assistant.surfaces.setup.writing import CannotWrite
from mud_assistant.assistant.worlds.embedded.place_file import PlaceFileError
from mud_assistant.assistant.worlds.evennia.install import InstallError

ELSEWHERE = (SettingsError, CannotRead, CannotWrite, PlaceFileError, InstallError, JournalRefused, JournalUnwritable)


@pytest.mark.parametrize("error", [*ELSEWHERE, Fenced], ids=lambda error: error.__name__)
def test_an_error_of_a_room_hangs_on_the_tree(error: type[Exception]) -> None:
    assert issubclass(error, AssistantError)


@pytest.mark.parametrize("error", [SettingsError, KeyReferenceError, InstallError])
def test_who_caught_a_value_error_still_does(error: type[Exception]) -> None:
    assert issubclass(error, ValueError)


def test_the_drawing_names_every_error_that_is_defined_beside_it() -> None:
    drawn = set(re.findall(r"[├└]── (\w+)", errors.__doc__ or ""))
    there = [kind for kind in vars(errors).values() if isinstance(kind, type) and kind.__module__ == errors.__name__]
    defined = {kind.__name__ for kind in there} - {"AssistantError"}
    assert "GameError" in defined
    assert defined <= drawn


def test_an_owner_is_told_what_cannot_be_done() -> None:
    assert complaint(NoModelError("there is none")) == "mud-assistant: there is none"
    assert complaint(JournalRefused("it is full")) == "mud-assistant: the journal cannot be used: it is full"
    assert complaint("as it is") == "mud-assistant: as it is"

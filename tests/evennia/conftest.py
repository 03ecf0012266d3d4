"""Evennia in this process: one game in memory, whose database is as it was again after each test.

Where Evennia is not installed (the core needs none) this folder is not collected, and the report says so.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.task import Clock

if TYPE_CHECKING:
    from mud_assistant.assistant.worlds.evennia.body.body import EvenniaBody
    from tests.evennia.village import Village

HAS_EVENNIA = importlib.util.find_spec("evennia") is not None
collect_ignore_glob = [] if HAS_EVENNIA else ["test_*.py"]


def _wake_evennia() -> None:
    """Set Django and Evennia up; neither starts a server, opens a port or touches a database."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.evennia.game_settings")
    here = Path.cwd()
    with warnings.catch_warnings():  # theirs are not ours to mend
        warnings.simplefilter("ignore")
        import django  # noqa: PLC0415
        import evennia  # noqa: PLC0415

        django.setup()
        evennia._init()
        importlib.import_module("evennia.server.portal.telnet")
    os.chdir(here)


if HAS_EVENNIA:
    _wake_evennia()


def pytest_report_collectionfinish() -> list[str]:
    """Why the folder is missing from a run, where it is."""
    return [] if HAS_EVENNIA else ["tests/evennia: left out, Evennia is not installed here (pip install '.[evennia]')"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let Evennia and Django warn of what they do themselves."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            for package in ("evennia", "django"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::DeprecationWarning:{package}"))


@pytest.fixture(scope="session")
def _tables() -> Iterator[None]:
    """The tables of the game, in memory: every worker process has its own."""
    from django.test import utils  # noqa: PLC0415
    from evennia.utils import logger  # noqa: PLC0415

    utils.setup_test_environment()
    # No app takes part in serialising: that is only for tests that commit, and some Djangos warn of it.
    made = utils.setup_databases(verbosity=0, interactive=False, serialized_aliases=())
    yield
    utils.teardown_databases(made, verbosity=0)
    for handle in logger._LOG_FILE_HANDLES.values():
        handle.close()
    utils.teardown_test_environment()


@pytest.fixture
def db(_tables: None) -> Iterator[None]:
    """The game's database; whatever the test does to it is undone, and no object outlives the test."""
    import evennia  # noqa: PLC0415
    from django.db import transaction  # noqa: PLC0415
    from evennia.commands import cmdhandler  # noqa: PLC0415
    from evennia.utils.idmapper.models import flush_cache  # noqa: PLC0415

    from mud_assistant.assistant.worlds.evennia.body.identity import LIVING  # noqa: PLC0415

    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    evennia.SESSION_HANDLER.clear()
    flush_cache()
    LIVING.clear()
    cmdhandler._CMDSET_MERGE_CACHE.clear()  # it knows commands by the numbers of objects, which come again


@pytest.fixture
def village(db: None) -> Village:
    """The rooms in which most tests meet."""
    from tests.evennia.village import Village  # noqa: PLC0415

    return Village()


@pytest.fixture
def clock() -> Clock:
    """The time of the bodies."""
    return Clock()


@pytest.fixture
def sage(village: Village) -> Any:
    """An assistant in the hall."""
    return village.assistant()


@pytest.fixture
def body(sage: Any, clock: Clock) -> EvenniaBody:
    """The body of that assistant."""
    from mud_assistant.assistant.worlds.evennia.body.body import EvenniaBody  # noqa: PLC0415

    return EvenniaBody(sage, clock)

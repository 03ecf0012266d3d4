"""The runs: the search for them, their list, and one run as a tree."""

from __future__ import annotations

from mud_assistant.assistant.page.http.call import Route
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.views.runs import listing, tree


def routes(desk: Desk) -> list[Route]:
    """Return the routes of the runs."""
    return [*listing.routes(desk), *tree.routes(desk)]

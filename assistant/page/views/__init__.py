"""The pages as trees of elements, made by pure functions of the values they show."""

from mud_assistant.assistant.page.http.call import Route
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.views import control, runs
from mud_assistant.assistant.page.views.assistant import assistant_routes
from mud_assistant.assistant.page.views.live import live_routes
from mud_assistant.assistant.page.views.overview import overview_routes

__all__ = ["routes"]


def routes(desk: Desk) -> list[Route]:
    """Return the routes of every page."""
    own = [*overview_routes(desk), *assistant_routes(desk), *live_routes(desk)]
    return [*own, *runs.routes(desk), *control.routes(desk)]

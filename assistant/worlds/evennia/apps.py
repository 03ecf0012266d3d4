"""The package as a Django app. It is loaded in the launcher, the Portal and the Server, so it only checks."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured

from assistant.starting import shadowed


class MudAssistantConfig(AppConfig):  # type: ignore[misc]  # Django has no types
    """The app: no models, no migrations."""

    name = "assistant.worlds.evennia"
    label = "mud_assistant"
    verbose_name = "AI characters (mud-assistant)"

    def ready(self) -> None:
        """Raise ImproperlyConfigured when a package of the game hides one of ours."""
        if in_the_way := shadowed():
            raise ImproperlyConfigured(in_the_way)

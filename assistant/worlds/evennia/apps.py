"""The package as a Django app. It is loaded in the launcher, the Portal and the Server."""

from __future__ import annotations

from django.apps import AppConfig


class MudAssistantConfig(AppConfig):  # type: ignore[misc]  # Django has no types
    """The app: no models, no migrations."""

    name = "mud_assistant.assistant.worlds.evennia"
    label = "mud_assistant"
    verbose_name = "AI characters (mud-assistant)"

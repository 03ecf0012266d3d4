"""Ties a character of the game to the assistant that lives in it: body, hearing, thinking sign, runner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.service.host import Embodiment
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.worlds.evennia import accounts, server
from mud_assistant.assistant.worlds.evennia.body.body import EvenniaBody
from mud_assistant.assistant.worlds.evennia.body.event_source import EventSource, MakeEvent
from mud_assistant.assistant.worlds.evennia.body.game_commands import without_use
from mud_assistant.assistant.worlds.evennia.body.notices import ThinkingSign, tell
from mud_assistant.assistant.worlds.evennia.characters import AssistantCharacter
from mud_assistant.assistant.worlds.evennia.stored import game_overrides, script_settings_of
from mud_assistant.tools import Kind, Principal
from mud_assistant.tools.verbs import ACCOUNT_TOOLS


class _RunnerSink(Struct, frozen=True):
    """The sink of a living assistant, which stays the same when it is restarted with other settings."""

    character: Any

    def hear(self, make: MakeEvent) -> None:
        """Hand an event to the runner of the character; after a restart that is another one."""
        runner = server.runner_of(self.character)
        if runner is not None:
            runner.hear(make)


#: The living assistants, by id.
_ATTACHED: dict[str, _RunnerSink] = {}
#: Why an assistant that should live does not, by its id.
_TROUBLES: dict[str, str] = {}

_log = Logger()


def begin(character: Any) -> AssistantRunner | None:
    """Start the assistant of this character unless it lives already, and return it.

    Returns None when there is no service, when the assistant is switched off, and when it cannot live, which is
    logged. Never raises: Evennia calls this for one script after the other, and an exception would keep the rest from
    starting.
    """
    living = server.runner_of(character)
    return living if living is not None else _start(character)


def restart(character: Any, entered: str = "") -> AssistantRunner | None:
    """Restart the assistant with its present settings and return it; what it hears meanwhile is kept.

    `entered` is the reference of a key that was given just now. Returns None as `begin` does.
    """
    return _start(character, entered)


async def end(character: Any) -> None:
    """Stop the assistant of this character and wait for it; its run is suspended, its memory kept."""
    member_id = server.id_of(character)
    _let_go(character)
    if server.is_open():
        await server.service().stop(member_id)


def end_soon(character: Any) -> None:
    """Stop the assistant without waiting, as when its character is deleted."""
    member_id = server.id_of(character)
    _let_go(character)
    if server.is_open():
        stopped = Deferred.fromCoroutine(server.service().stop(member_id))
        stopped.addErrback(lambda failure: _log.failure("an assistant was not stopped well", failure))


def trouble_of(character: Any) -> str:
    """Say in one sentence why the assistant of this character cannot live or think; empty when it can."""
    runner = server.runner_of(character)
    return runner.trouble if runner is not None else _TROUBLES.get(server.id_of(character), "")


def base() -> Mapping[str, Any]:
    """Return the game-wide settings as tables; empty while there is none running."""
    return server.service().config.settings.model_dump(exclude_unset=True) if server.is_open() else {}


def config_of(character: Any, overrides: Mapping[str, Any]) -> Config:
    """Return the settings of this character's assistant: the game's, its name, and its own. Raises SettingsError."""
    return merged(base(), {"assistant": {"name": character.key}}, game_overrides(), overrides)


def principal_for(character: Any, config: Config) -> Principal:
    """Return the principal of this character's assistant, with the permission its owner gave it."""
    settings = config.assistant
    return Principal(server.id_of(character), settings.name, Kind.ASSISTANT, settings.permission)


def _start(character: Any, entered: str = "") -> AssistantRunner | None:
    """Start the assistant and return it; None, with the reason recorded, when it cannot be started."""
    member_id = server.id_of(character)
    script = script_settings_of(character)
    _TROUBLES.pop(member_id, None)
    if script is None or script.is_off or not server.is_open():
        return None
    try:
        if not isinstance(character, AssistantCharacter):
            raise SettingsError(f"{character.key} is no character for an assistant any more: its type was changed")  # noqa: TRY301
        config = config_of(character, script.overrides)
        return _embody(character, config, entered)
    except SettingsError as error:
        _TROUBLES[member_id] = str(error)
        _log.error("{name} cannot live: {why}", name=character.key, why=str(error))
    except CancelledError:
        raise
    except Exception as error:  # noqa: BLE001  (the border to the host, which starts the other scripts after this one)
        _TROUBLES[member_id] = f"a fault of mud-assistant ({type(error).__name__}), told in the server's log"
        _log.failure("{name} cannot live", name=character.key)
    return None


def _embody(character: Any, config: Config, entered: str) -> AssistantRunner:
    """Start the assistant in its character, let the character hear, and return the runner."""
    service = server.service()
    me = principal_for(character, config)
    channel = accounts.account_channel_of(character)
    manner = config.assistant
    body = EvenniaBody(character, service.clock, channel, manner.pause_seconds, manner.speech_colour)
    tools = ACCOUNT_TOOLS if channel is not None else ()
    body.without_use = without_use(character, listens=channel is None or channel.listens)
    place = Embodiment(me, body, tools, body.wait_for_listener, tell, body.where, silence=body.silence)
    runner = service.start(place, config, entered)
    sink = _ATTACHED.get(me.id)
    if sink is None or sink.character is not character:
        sink = _ATTACHED[me.id] = _attach(character)
    sign = ThinkingSign(service.clock, body.sign, me.name)
    body.spoke = sign.spoke
    runner.observers.add(sign)
    return runner


def _attach(character: Any) -> _RunnerSink:
    """Let the character hear, and return where its events go."""
    sink = _RunnerSink(character)
    character.attach(EventSource(character, sink, server.service().clock))
    return sink


def detach_all() -> None:
    """Detach all characters; for when the service is closed."""
    for sink in tuple(_ATTACHED.values()):
        _let_go(sink.character)


def _let_go(character: Any) -> None:
    """Detach a character."""
    sink = _ATTACHED.pop(server.id_of(character), None)
    if sink is not None:
        sink.character.detach()

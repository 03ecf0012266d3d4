"""Lets an assistant speak beyond its room, by pages and on channels, through its own account."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evennia.accounts.models import AccountDB
from evennia.comms.models import ChannelDB
from evennia.utils import create
from evennia.utils.utils import make_iter
from msgspec import Struct

from mud_assistant.assistant.worlds.evennia.body.border import MAX_NAME, border, escape_for_game
from mud_assistant.assistant.worlds.evennia.body.identity import Writers, principal_of
from mud_assistant.assistant.worlds.evennia.stored import CATEGORY
from mud_assistant.tools import ToolFailed
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.text.lenient import plain
from mud_assistant.tools.trust import Audience

#: The tag with which Evennia's own `page` command marks its messages.
PAGE_TAG = ("page", "comms")
#: The most characters that are said at once; the tools allow no more.
_MAX_SAID = 2000


class AccountChannel(Struct, frozen=True):
    """The way a body pages and speaks on channels: through the account of its assistant."""

    #: Any: Evennia has no types.
    account: Any

    @property
    def listens(self) -> bool:
        """Whether the account listens to any channel."""
        return bool(channels_of(self.account))

    async def page(self, target: str, text: str, only: Audience = None) -> None:
        """Speak to one person anywhere in the game, of those in `only`. Raises ToolFailed."""
        with border(self.account.key):
            page(self.account, target, text, only)

    async def speak_on(self, channel: str, text: str) -> None:
        """Speak on a channel. Raises ToolFailed."""
        with border(self.account.key):
            speak_on(self.account, channel, text)


def all_channels() -> list[Any]:
    """Return the channels of the game, by name."""
    return sorted(ChannelDB.objects.all(), key=lambda channel: str(channel.key).casefold())


def channels_of(account: Any) -> list[Any]:
    """Return the channels that the account listens to, by name."""
    return [channel for channel in all_channels() if channel.has_connection(account)]


def page(account: Any, target: str, text: str, only: Audience = None) -> None:
    """Send a page as Evennia's own command does. Raises ToolFailed with the reason when it cannot be sent.

    `only` holds the ids of those who may read it, None for anybody.
    """
    receiver = _receiver(account, target, only)
    if account.permissions.has("page_banned") or not receiver.access(account, "msg"):
        raise ToolFailed(f"You are not allowed to page {target}.")
    words = _prepare(text)
    writers = f"id({account.id}) or perm(Admin)"
    create.create_message(
        account,
        words,
        receivers=[receiver],
        locks=f"read:id({receiver.id}) or {writers};delete:{writers};edit:{writers}",
        tags=[PAGE_TAG],
    )
    receiver.msg(f"|wAccount|n |c{account.key}|n |wpages:|n {words}")


def speak_on(account: Any, channel: str, text: str) -> None:
    """Speak on a channel the account listens to. Raises ToolFailed that lists those channels."""
    mine = [one for one in channels_of(account) if one.access(account, "send")]
    wanted = channel.strip().casefold()
    found = [one for one in mine if wanted in {one.key.casefold(), *(alias.casefold() for alias in one.aliases.all())}]
    if not found:
        names, writers = ", ".join(one_line(one.key, max_chars=MAX_NAME) for one in mine) or "none", Writers()
        levels = [level for one in mine if (level := writers.level_of(one)) is not None]
        sentence = f"You cannot speak on a channel '{one_line(channel)}'. Your channels: {names}."
        raise ToolFailed(sentence, min(levels, default=None))
    # A colon at the beginning would turn the words into a pose.
    found[0].msg(_prepare(text.lstrip(":; ")), senders=account)


def _receiver(account: Any, target: str, only: Audience) -> Any:
    """Return a connected account, by its name or its character's. Raises ToolFailed.

    Anybody can make an account or a character of any free name. So of several that a name may mean, those in `only`
    are meant, and nobody else.
    """
    there = [one for one in _connected_accounts() if one != account]
    form: Callable[[str], str] = str.casefold
    wanted = target.strip().casefold()
    if only is not None:
        there = [one for one in there if not only.isdisjoint(_ids_of(one))]
        wanted, form = plain(target), plain
    matches: tuple[Callable[[Any], bool], ...] = (
        lambda one: form(one.key) == wanted,
        lambda one: any(form(played.key) == wanted for played in _characters_of(one)),
    )
    for matching in matches:
        found = [one for one in there if matching(one)]
        if len(found) == 1:
            return found[0]
    raise ToolFailed(f"Nobody named '{one_line(target)}' is in the game.")


def _characters_of(account: Any) -> list[Any]:
    """Return the characters that the account plays, with the last one when nobody else plays it now."""
    played = list(account.get_all_puppets())
    last = getattr(account.db, "_last_puppet", None)
    return played if last is None or last in played or last.sessions.count() else [*played, last]


def _ids_of(account: Any) -> set[str]:
    """Return the ids of all principals that the account is: its own, and those of its characters."""
    ids = {principal_of(one, account).id for one in _characters_of(account)}
    mine = (tag for tag in make_iter(account.tags.get(category=CATEGORY, return_list=True)) if tag)
    return {*ids, f"account:{account.pk}", *(tag.replace("character-", "assistant:") for tag in mine)}


def _connected_accounts() -> list[Any]:
    """Return the accounts that are there: players with a connection, and other assistants."""
    import evennia  # its parts are filled in when the game starts

    players = {session.account for session in evennia.SESSION_HANDLER.get_sessions() if session.account}
    others = {one for one in AccountDB.objects.filter(db_tags__db_category=CATEGORY) if one.is_connected}
    return sorted(players | others, key=lambda one: int(one.pk))


def _prepare(text: str) -> str:
    """Return the words as they are sent: on one line, with nothing in them that is markup to the game."""
    return escape_for_game(one_line(text, max_chars=_MAX_SAID))

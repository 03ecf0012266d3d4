"""The account of an assistant, through which it is paged, hears channels and speaks there; it cannot be logged in to.

In Evennia a character hears neither pages nor channels. What the account hears goes to the assistant of the character,
as said by the principal of the sending account. Stored are a tag, which names the character, and what Evennia stores.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from evennia.accounts.accounts import AccountSessionHandler
from evennia.accounts.models import AccountDB
from evennia.comms.models import ChannelDB, Msg
from evennia.objects.models import ObjectDB
from evennia.utils import create
from evennia.utils.ansi import strip_ansi, strip_mxp
from evennia.utils.utils import class_from_module, lazy_property, make_iter
from msgspec.structs import replace
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.events.events import ChannelSaid, Event, Paged
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.worlds.evennia import server
from mud_assistant.assistant.worlds.evennia.body.far_speech import PAGE_TAG, AccountChannel
from mud_assistant.assistant.worlds.evennia.body.identity import Writers, principal_of
from mud_assistant.assistant.worlds.evennia.stored import CATEGORY
from mud_assistant.tools import Principal
from mud_assistant.tools.text.clean import one_line

#: The most characters of one message that are read, markup included.
_MAX_HEARD = 8000

_log = Logger()


class AccountTaken(AssistantError, ValueError):
    """The account cannot be made; the message says why and what to do."""


class _AlwaysThere(AccountSessionHandler):  # type: ignore[misc]  # Evennia has no types
    """The sessions of an account that has none, and yet counts as connected while its assistant lives."""

    def count(self) -> int:
        """Count at least one session while the assistant lives; otherwise `page` would call the account offline."""
        return max(len(self.get()), int(self.account.is_connected))


class AssistantAccount(class_from_module(settings.BASE_ACCOUNT_TYPECLASS)):  # type: ignore[misc]  # no types
    """The account of an assistant. It hears pages and its channels, and is of no use to any player."""

    @property
    def runner(self) -> AssistantRunner | None:
        """The running assistant, or None when it does not run."""
        character = character_of(self)
        return server.runner_of(character) if character is not None else None

    @property
    def is_connected(self) -> bool:
        """Whether the account hears anything: channels ask this before they send."""
        return self.pk is not None and self.runner is not None

    @is_connected.setter
    def is_connected(self, value: bool) -> None:
        """Ignore the value: Evennia does not decide whether the account hears."""

    @lazy_property  # type: ignore[untyped-decorator]  # Evennia has no types
    def sessions(self) -> Any:
        """Return the sessions of the account."""
        return _AlwaysThere(self)

    def check_password(self, raw_password: str) -> bool:
        """Return False: the account has no password, even if one was set."""
        return False

    def at_msg_receive(self, text: Any = None, from_obj: Any = None, **kwargs: Any) -> bool:
        """Hear a page and return False, so that nothing is sent on. The stored message tells who sent it."""
        try:
            self._hear_page(_plain(text))
        except CancelledError:
            raise
        except Exception:  # noqa: BLE001  (the border to the host: a fault here must not break the sender's command)
            _log.failure("a page to {name} was not heard", name=self.key)
        return False

    def at_pre_channel_msg(self, message: str, channel: Any, senders: Any = None, **kwargs: Any) -> str:
        """Return the bare words. If any listener returned nothing, Evennia would send the message to no listener."""
        return message

    def channel_msg(self, message: str, channel: Any, senders: Any = None, **kwargs: Any) -> None:
        """Hear what was said on a channel, except words without a sender and the assistant's own."""
        try:
            self._hear_channel(_plain(message), channel, make_iter(senders or ()))
        except CancelledError:
            raise
        except Exception:  # noqa: BLE001  (the border to the host: other listeners come after this one)
            _log.failure("a message on {channel} was not heard by {name}", channel=channel.key, name=self.key)

    def _hear_page(self, text: str) -> None:
        """Hear the newest message to this account, if it was not heard yet and is the one that came just now.

        Evennia tells the receiver neither that a text is a page nor who sent it: only the stored message does.
        """
        message = Msg.objects.filter(db_receivers_accounts=self).order_by("-pk").first()
        runner = self.runner
        if runner is None or message is None or message.pk <= (self.ndb.last_page or 0):
            return
        words = _plain(message.message)
        if not words or not text.endswith(words) or not message.tags.has(PAGE_TAG[0], category=PAGE_TAG[1]):
            return
        self.ndb.last_page = message.pk
        sender = next(iter(message.senders), None)
        if sender is None or sender == self:
            return
        who = _speaker(sender, character_of(self))
        runner.hear(lambda event_id, at: Paged(id=event_id, at=at, who=who, text=words))

    def _hear_channel(self, words: str, channel: Any, senders: list[Any]) -> None:
        runner = self.runner
        if runner is None or not words or not senders or any(one in (self, character_of(self)) for one in senders):
            return
        who = _speaker(senders[0], character_of(self))
        level = Writers().level_of(channel)  # its maker chose the name that is shown before the words
        if level is not None:
            who = replace(who, permission=min(who.permission, level))
        name, is_open = channel.key, _is_open(channel)

        def made(event_id: str, at: float) -> Event:
            return ChannelSaid(id=event_id, at=at, who=who, channel=name, text=words, is_open=is_open)

        runner.hear(made)


def account_of(character: Any) -> AssistantAccount | None:
    """Return the account of this assistant, or None when it has none."""
    if not character.pk:
        return None
    found = AccountDB.objects.filter(db_tags__db_key=_tag(character), db_tags__db_category=CATEGORY).first()
    return found if isinstance(found, AssistantAccount) else None


def account_channel_of(character: Any) -> AccountChannel | None:
    """Return the account channel by which this assistant speaks beyond its room, or None when it has none."""
    account = account_of(character)
    return AccountChannel(account) if account is not None else None


def character_of(account: AssistantAccount) -> Any:
    """Return the character whose account this is, or None when it is gone."""
    for tag in make_iter(account.tags.get(category=CATEGORY, return_list=True)):
        if tag and tag.startswith("character-"):
            return ObjectDB.objects.filter(pk=int(tag.removeprefix("character-"))).first()
    return None


def open_account(character: Any) -> AssistantAccount:
    """Return the account of this assistant. A missing one is made, and listens to the game's usual channels.

    Raises AccountTaken when there is another account of this name.
    """
    there = account_of(character)
    if there is not None:
        return there
    try:
        account: AssistantAccount = create.create_account(
            character.key,
            None,
            None,
            typeclass=AssistantAccount,
            permissions=[settings.PERMISSION_ACCOUNT_DEFAULT],
            locks="examine:perm(Admin);edit:perm(Admin);delete:perm(Admin);boot:perm(Admin);msg:all()",
            tags=[(_tag(character), CATEGORY)],
        )
    except ValueError as error:
        raise AccountTaken(
            f"there is an account named {character.key} already, and two of one name could not be told apart: "
            "rename the assistant or that account"
        ) from error
    account.set_unusable_password()
    account.is_active = False
    account.save()
    for info in settings.DEFAULT_CHANNELS:
        channel = ChannelDB.objects.get_channel(info.get("key", ""))
        if channel and channel.access(account, "listen"):
            channel.connect(account)
    return account


def rename_account(character: Any, name: str) -> None:
    """Rename the account of this assistant, if it has one. Raises AccountTaken."""
    there = account_of(character)
    if there is None or there.key == name:
        return
    if AccountDB.objects.filter(username__iexact=name).exclude(pk=there.pk).exists():
        raise AccountTaken(f"there is an account named {name} already: choose another name")
    there.key = name


def close_account(character: Any) -> bool:
    """Delete the account of the assistant. Return whether it had one."""
    account = account_of(character)
    return account is not None and bool(account.delete())


def _is_open(channel: Any) -> bool:
    """Tell whether every account may listen to the channel, by the lock that the game itself asks."""
    return channel.locks.get("listen").replace(" ", "").casefold() in {"listen:all()", "listen:true()"}


def _speaker(sender: Any, looker: Any) -> Principal:
    """Return who speaks, under the name that pages and channels show.

    A player who plays one character now is the same principal as in a room, so that they are remembered, and
    forgotten, as one person.
    """
    if isinstance(sender, AssistantAccount):
        return principal_of(character_of(sender) or sender, looker)
    played = sender.get_all_puppets() if isinstance(sender, AccountDB) else []
    who = principal_of(played[0] if len(played) == 1 else sender, looker)
    return replace(who, name=one_line(sender.key))


def _tag(character: Any) -> str:
    return f"character-{character.pk}"


def _plain(text: Any) -> str:
    """Return the words of a message, without markup, and cut to the longest length that is read."""
    if isinstance(text, tuple):
        text = text[0] if text else ""
    return str(strip_ansi(strip_mxp(str(text or "")[:_MAX_HEARD]))).strip()

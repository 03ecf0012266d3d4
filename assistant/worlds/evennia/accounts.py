"""An account of an assistant's own, through which it is paged, hears channels and answers there; nobody logs in to it.

A character of Evennia hears neither. What is heard here goes to the same assistant as what its character hears, from
the principal of the account that sent it. Stored are a tag, which names the character, and what Evennia itself keeps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.conf import settings
from evennia.accounts.accounts import AccountSessionHandler
from evennia.accounts.models import AccountDB
from evennia.comms.models import ChannelDB, Msg
from evennia.objects.models import ObjectDB
from evennia.utils import create
from evennia.utils.ansi import strip_ansi, strip_mxp
from evennia.utils.utils import class_from_module, lazy_property, make_iter
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from assistant.events import ChannelSaid, Event, Paged
from assistant.service.member import Member
from assistant.worlds.evennia import house
from assistant.worlds.evennia.far_speech import CATEGORY, PAGE_TAG, Voice
from assistant.worlds.evennia.principals import principal_of
from assistant.worlds.evennia.writers import Writers
from tools import Principal
from tools.clean import one_line

#: Characters of what is heard at once, before markup is taken out.
_MAX_HEARD = 8000

_log = Logger()


class AccountTaken(ValueError):
    """The account cannot be made; the message says why and what to do."""


class _AlwaysThere(AccountSessionHandler):  # type: ignore[misc]  # Evennia has no types
    """The connections of an account that has none, and is there all the same while its assistant lives."""

    def count(self) -> int:
        """How many there are to somebody who asks whether he is heard: `page` would call it offline otherwise."""
        return max(len(self.get()), int(self.account.is_connected))


class AssistantAccount(class_from_module(settings.BASE_ACCOUNT_TYPECLASS)):  # type: ignore[misc]  # no types
    """The account of an assistant. It hears pages and its channels, and can be used by nobody else."""

    @property
    def member(self) -> Member | None:
        """The assistant that lives now, None when none does."""
        character = character_of(self)
        return house.member_of(character) if character is not None else None

    @property
    def is_connected(self) -> bool:
        """Whether it hears: channels ask before they send."""
        return self.pk is not None and self.member is not None

    @is_connected.setter
    def is_connected(self, value: bool) -> None:
        """Nothing: whether it hears is not for Evennia to say."""

    @lazy_property  # type: ignore[untyped-decorator]  # Evennia has no types
    def sessions(self) -> Any:
        """Its connections."""
        return _AlwaysThere(self)

    def check_password(self, raw_password: str) -> bool:
        """False: it has no password, whoever gave it one."""
        return False

    def at_msg_receive(self, text: Any = None, from_obj: Any = None, **kwargs: Any) -> bool:
        """False, so that nothing is sent on. A page is heard; who sent it is what the stored message says."""
        try:
            self._hear_page(_plain(text))
        except CancelledError:
            raise
        except Exception:  # noqa: BLE001  (the border to the host: a fault here must not break the sender's command)
            _log.failure("a page to {name} was not heard", name=self.key)
        return False

    def at_pre_channel_msg(self, message: str, channel: Any, senders: Any = None, **kwargs: Any) -> str:
        """The bare words. Evennia gives nobody the message when one of the listeners returns nothing."""
        return message

    def channel_msg(self, message: str, channel: Any, senders: Any = None, **kwargs: Any) -> None:
        """What was said on a channel is heard; what has no sender, or is its own, is not."""
        try:
            self._hear_channel(_plain(message), channel, make_iter(senders or ()))
        except CancelledError:
            raise
        except Exception:  # noqa: BLE001  (the border to the host: other listeners come after this one)
            _log.failure("a message on {channel} was not heard by {name}", channel=channel.key, name=self.key)

    def _hear_page(self, text: str) -> None:
        """Hear the newest message to this account, when it was not heard yet and is what came just now.

        Evennia tells the receiver of a page neither who sent it nor that it is one: that stands in the message only.
        """
        message = Msg.objects.filter(db_receivers_accounts=self).order_by("-pk").first()
        member = self.member
        if member is None or message is None or message.pk <= (self.ndb.last_page or 0):
            return
        words = _plain(message.message)
        if not words or not text.endswith(words) or not message.tags.has(PAGE_TAG[0], category=PAGE_TAG[1]):
            return
        self.ndb.last_page = message.pk
        sender = next(iter(message.senders), None)
        if sender is None or sender == self:
            return
        who = _speaker(sender, character_of(self))
        member.hear(lambda event_id, at: Paged(id=event_id, at=at, who=who, text=words))

    def _hear_channel(self, words: str, channel: Any, senders: list[Any]) -> None:
        member = self.member
        if member is None or not words or not senders or any(one in (self, character_of(self)) for one in senders):
            return
        who = _speaker(senders[0], character_of(self))
        level = Writers().level_of(channel)  # whoever made it chose the name that stands before the words
        if level is not None:
            who = replace(who, permission=min(who.permission, level))
        name, is_open = channel.key, _is_open(channel)

        def made(event_id: str, at: float) -> Event:
            return ChannelSaid(id=event_id, at=at, who=who, channel=name, text=words, is_open=is_open)

        member.hear(made)


def account_of(character: Any) -> AssistantAccount | None:
    """The account of this assistant, None when it has none."""
    if not character.pk:
        return None
    found = AccountDB.objects.filter(db_tags__db_key=_tag(character), db_tags__db_category=CATEGORY).first()
    return found if isinstance(found, AssistantAccount) else None


def voice_of(character: Any) -> Voice | None:
    """How the assistant of this character speaks beyond its room, None when it cannot."""
    account = account_of(character)
    return Voice(account) if account is not None else None


def character_of(account: AssistantAccount) -> Any:
    """The character whose account this is, None when it is gone."""
    for tag in make_iter(account.tags.get(category=CATEGORY, return_list=True)):
        if tag and tag.startswith("character-"):
            return ObjectDB.objects.filter(pk=int(tag.removeprefix("character-"))).first()
    return None


def open_account(character: Any) -> AssistantAccount:
    """The account of this assistant, made when it had none. It listens to the game's usual channels.

    Raises AccountTaken when somebody has an account of this name.
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
    """Give the account of this assistant, if it has one, another name. Raises AccountTaken."""
    there = account_of(character)
    if there is None or there.key == name:
        return
    if AccountDB.objects.filter(username__iexact=name).exclude(pk=there.pk).exists():
        raise AccountTaken(f"there is an account named {name} already: choose another name")
    there.key = name


def close_account(character: Any) -> bool:
    """Whether the assistant had an account, which is deleted."""
    account = account_of(character)
    return account is not None and bool(account.delete())


def _is_open(channel: Any) -> bool:
    """Tell whether every account may listen to the channel, by the lock that the game itself asks."""
    return channel.locks.get("listen").replace(" ", "").casefold() in {"listen:all()", "listen:true()"}


def _speaker(sender: Any, looker: Any) -> Principal:
    """Who speaks, under the name that pages and channels show.

    Whoever plays one character is known by it as in a room, so that he is remembered, and forgotten, as one person.
    """
    if isinstance(sender, AssistantAccount):
        return principal_of(character_of(sender) or sender, looker)
    played = sender.get_all_puppets() if isinstance(sender, AccountDB) else []
    who = principal_of(played[0] if len(played) == 1 else sender, looker)
    return replace(who, name=one_line(sender.key))


def _tag(character: Any) -> str:
    return f"character-{character.pk}"


def _plain(text: Any) -> str:
    """The words of a message, without markup and cut."""
    if isinstance(text, tuple):
        text = text[0] if text else ""
    return str(strip_ansi(strip_mxp(str(text or "")[:_MAX_HEARD]))).strip()

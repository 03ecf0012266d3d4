"""IRC in the place of telnet: a channel as a room, in the words of the profile `irc`. Twisted has the protocol."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

from twisted.words.protocols import irc

from mud_assistant.assistant.worlds.telnet.wire.wire_events import Cause, Closed, HeardLine, Prompt, WireEvent

_PROMPT, _MOST_NAMES = Prompt("#"), 200
_NOT_SENT = re.compile(r"[\x00-\x1f\x7f]+")


class IrcFeed(irc.IRCClient):
    """A `Feed` for one channel. The mark before what somebody says is in no name, so that nobody can forge it."""

    def __init__(self, channel: str) -> None:
        # Any: Twisted's client has no types.
        self._own, self._client = cast("Any", self), cast("Any", super())
        self._own.realname, self._own.heartbeatInterval = "an automatic client", None
        self._channel, self._topic = channel, "A channel of IRC."
        self._heard: list[WireEvent] = [HeardLine("Who are you?"), _PROMPT]
        self._to_send, self._names, self._echoes = bytearray(), list[str](), list[str]()
        self.performLogin = self._looks = False
        self._client.connectionMade()

    def quiet(self) -> list[WireEvent]:
        """Return the question that begins the log-in: a server of IRC asks nothing."""
        heard, self._heard = self._heard, []
        return heard

    def events(self, data: bytes) -> Iterator[WireEvent]:
        """Yield what bytes of the server mean."""
        self._client.dataReceived(data)
        if self._heard:
            yield from (*self.quiet(), _PROMPT)

    def to_send(self) -> bytes:
        """Return what is to be sent, and forget it."""
        to_send, self._to_send = bytes(self._to_send), bytearray()
        return to_send

    def encode(self, line: str, _most: int) -> bytes:
        """Return the bytes of a line of the profile. Words are confirmed by the answer to the ping behind them."""
        verb, _, words = " ".join(_NOT_SENT.sub(" ", line).split()).partition(" ")
        who, _, text = words.partition(" ") if verb in {"be", "tell"} else (self._channel, "", words)
        if verb == "be":
            self._own.password = f":{text}" if text else None
            self._client.register(who)
        elif self._registered and verb == "look":
            self._looks, self._names = True, []
            self.sendLine(f"NAMES {self._channel}")
        elif self._registered:
            (self._client.describe if verb == "emote" else self._client.msg)(who, text)
            self._echoes.append(f"Done: {text}")
            self.sendLine("PING :done")
        return self.to_send()

    def sendLine(self, line: str) -> None:
        """Keep a line until it is sent."""
        self._to_send += line.encode() + b"\r\n"

    def lineReceived(self, line: bytes) -> None:
        """Read a line, whatever its encoding; one that is none of IRC is passed over."""
        with suppress(ValueError):
            self._client.lineReceived(line.decode("utf-8", "replace") or ":")

    def lineLengthExceeded(self, line: bytes) -> None:
        """Close the connection: no line of IRC is so long."""
        self._heard.append(Closed(Cause.LONG_LINE))

    def handleCommand(self, command: str, prefix: str, params: list[str]) -> None:
        """Do what a message says; most say nothing to us, and what they ask of our machine is not answered."""
        who, last = prefix.partition("!")[0], params[-1] if params else ""
        if command in {"PING", "RPL_WELCOME", "RPL_ISUPPORT"} and params:
            self._client.handleCommand(command, prefix, params)
        elif command in {"RPL_TOPIC", "TOPIC"}:
            self._topic = last
        elif command == "RPL_NAMREPLY":
            self._names = [*self._names, *(name.lstrip("~&@%+") for name in last.split())][:_MOST_NAMES]
        else:
            self._heard += map(HeardLine, self._told(command, who, params[:-1], last))

    def signedOn(self) -> None:
        """Go into the channel."""
        self._client.join(self._channel)

    def _told(self, command: str, who: str, params: list[str], last: str) -> Iterator[str]:
        """Yield the lines that tell what happened."""
        match command:
            case "PRIVMSG" if last.startswith("\x01ACTION "):
                yield f"* {who} {irc.stripFormatting(last[8:-1])}"
            case "PRIVMSG" if params and last[:1] not in {"", "\x01"}:
                mark = "<{}> {}" if params[0][:1] in "#&+!" else "*{}* {}"
                yield mark.format(who, irc.stripFormatting(last))
            case "JOIN":
                yield f"You are in {self._channel}." if who == self.nickname else f"{who} arrives."
            case "NICK" if who == self.nickname:
                self.nickname = last
            case "PART" | "QUIT" | "NICK":
                yield f"{who} leaves."
                yield from [f"{last} arrives."] * (command == "NICK")
            case "KICK" if params:
                is_us = self.nickname in params
                yield f"You were put out by {who}: {last}" if is_us else f"{params[-1]} leaves."
            case "RPL_ENDOFNAMES" if self._looks:
                self._looks = False
                here = [name for name in self._names if name != self.nickname]
                yield from (self._channel, self._topic, *[f"Here: {', '.join(here)}"] * bool(here))
            case "PONG" if self._echoes:
                yield self._echoes.pop(0)
            case _ if command.startswith("ERR_"):
                self._echoes = [""] * len(self._echoes)
                yield f"Refused: {command.removeprefix('ERR_')} {last}"

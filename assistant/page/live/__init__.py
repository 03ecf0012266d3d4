"""What happens now: the live events of all assistants, and the requests their models were sent last."""

from mud_assistant.assistant.page.live.asked import AskedRequests
from mud_assistant.assistant.page.live.hub import LiveHub, Subscriber, TooManyStreams
from mud_assistant.assistant.page.live.ring import Published

__all__ = ["AskedRequests", "LiveHub", "Published", "Subscriber", "TooManyStreams"]

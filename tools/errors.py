"""The two things a tool may tell a model that went wrong.

ToolError
├── ToolRetry    try again differently: the sentence says what to change
└── ToolFailed   the world said no: told, not retried
"""

from __future__ import annotations


class ToolError(Exception):
    """A tool call came to nothing; the message is written for the model to read."""


class ToolRetry(ToolError):
    """The call was wrong; the model may try again with the change the message names."""


class ToolFailed(ToolError):
    """The call was right and the world refused it; trying again will not help."""

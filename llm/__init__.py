"""How to speak to a chat model: messages, providers, streams, tool calls. Knows nothing of the game."""

from llm.capabilities import Capabilities, ModelRecord
from llm.client import UnifiedLLMClient
from llm.errors import (
    BadCredential,
    ContextOverflow,
    LLMDeadlineExceeded,
    LLMError,
    ModelNotFound,
    OutputUnreadable,
    ProtocolError,
    QuotaExhausted,
    RateLimited,
    Rejected,
    StreamBroken,
    ThinkingUnsupported,
    ToolsUnsupported,
    Unavailable,
)
from llm.messages import (
    Block,
    Message,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    assistant,
    system,
    tool_results,
    user,
)
from llm.options import CallOptions, ToolChoice
from llm.provider import LLMProvider
from llm.providers import PROVIDER_NAMES, UnknownProviderError, get_provider
from llm.response import FinishReason, LLMResponse, RateLimitInfo, Usage
from llm.stream import Listener, StreamEvent

__all__ = [
    "PROVIDER_NAMES",
    "BadCredential",
    "Block",
    "CallOptions",
    "Capabilities",
    "ContextOverflow",
    "FinishReason",
    "LLMDeadlineExceeded",
    "LLMError",
    "LLMProvider",
    "LLMResponse",
    "Listener",
    "Message",
    "ModelNotFound",
    "ModelRecord",
    "OutputUnreadable",
    "ProtocolError",
    "QuotaExhausted",
    "RateLimitInfo",
    "RateLimited",
    "Reasoning",
    "Rejected",
    "Role",
    "StreamBroken",
    "StreamEvent",
    "Text",
    "ThinkingUnsupported",
    "ToolCall",
    "ToolChoice",
    "ToolResult",
    "ToolSpec",
    "ToolsUnsupported",
    "Unavailable",
    "UnifiedLLMClient",
    "UnknownProviderError",
    "Usage",
    "assistant",
    "get_provider",
    "system",
    "tool_results",
    "user",
]

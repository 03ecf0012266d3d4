"""The names of OpenTelemetry's conventions for generative AI, all in one place, as they were at one commit.

They come from `open-telemetry/semantic-conventions-genai`, where all of them are in "Development" and no version is
released. Whoever changes a name here changes CONVENTIONS as well.
"""

from __future__ import annotations

#: The commit that the names follow.
CONVENTIONS = "open-telemetry/semantic-conventions-genai@004902b8cb70aa5ae6ca4ae07132b7daabcd3e10"
#: The name by which a collector knows what made the spans and metrics.
SCOPE = "mud-assistant"

# Operations, which begin the names of spans: `invoke_agent NAME`, `chat MODEL`, `execute_tool NAME`.
INVOKE_AGENT = "invoke_agent"
CHAT = "chat"
EXECUTE_TOOL = "execute_tool"

# Attributes of spans and metrics.
OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
AGENT_ID = "gen_ai.agent.id"
AGENT_NAME = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_STREAM = "gen_ai.request.stream"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105  (the name of an attribute)
ERROR_TYPE = "error.type"

# Attributes with words of players and models, sent only where the owner wants it.
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"

# Ours, where the conventions have none.
RUN_ID = "mud_assistant.run.id"
OUTCOME = "mud_assistant.run.outcome"
COST = "mud_assistant.usage.cost"
TOOL_STATUS = "mud_assistant.tool.status"

# Metrics: all are histograms, with the bounds that the conventions give.
TOKEN_USAGE = "gen_ai.client.token.usage"  # noqa: S105  (the name of a metric)
CHAT_SECONDS = "gen_ai.client.operation.duration"
FIRST_CHUNK_SECONDS = "gen_ai.client.operation.time_to_first_chunk"
AGENT_SECONDS = "gen_ai.invoke_agent.duration"
TOOL_SECONDS = "gen_ai.execute_tool.duration"
TOKEN_BOUNDS = [4**power for power in range(14)]
SECONDS_BOUNDS = [0.01 * 2**power for power in range(14)]

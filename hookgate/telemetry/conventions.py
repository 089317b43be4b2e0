"""What spans and their attributes are called: OpenTelemetry's conventions for generative AI (names that stand since
1.37), and hookgate's own for what these do not know. The only place that has them."""

from __future__ import annotations

SERVICE_NAME, SERVICE_VERSION = "service.name", "service.version"
ERROR_TYPE = "error.type"

OPERATION = "gen_ai.operation.name"
INVOKE_AGENT, CHAT, EXECUTE_TOOL = "invoke_agent", "chat", "execute_tool"
PROVIDER = "gen_ai.provider.name"
AGENT_NAME = "gen_ai.agent.name"
CONVERSATION_ID = "gen_ai.conversation.id"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_MAX_TOKENS, REQUEST_TEMPERATURE = "gen_ai.request.max_tokens", "gen_ai.request.temperature"
INPUT_TOKENS, OUTPUT_TOKENS = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
TOOL_NAME, TOOL_CALL_ID = "gen_ai.tool.name", "gen_ai.tool.call.id"
# Content: only where it is asked for.
INPUT_MESSAGES, OUTPUT_MESSAGES = "gen_ai.input.messages", "gen_ai.output.messages"
TOOL_ARGUMENTS, TOOL_RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"

HOOK, APPROVAL, RETRY = "hook", "approval", "hookgate.retry"
CHANNEL = "hookgate.channel"
TURN_STATUS, TURN_STEPS = "hookgate.turn.status", "hookgate.turn.steps"
HOOK_NAME, HOOK_STAGE, HOOK_ACTION = "hookgate.hook.name", "hookgate.hook.stage", "hookgate.hook.action"
APPROVED, APPROVED_BY, APPROVAL_ID = "hookgate.approval.approved", "hookgate.approval.by", "hookgate.approval.id"
RETRY_REASON, RETRY_WAIT_S = "hookgate.retry.reason", "hookgate.retry.wait_s"

FEW_VALUES = frozenset(
    {
        *(OPERATION, PROVIDER, AGENT_NAME, REQUEST_MODEL, TOOL_NAME, CHANNEL),
        *(HOOK_NAME, HOOK_STAGE, HOOK_ACTION, TURN_STATUS, TURN_STEPS),
    }
)
"""Attributes whose values are names of the configuration, or of what hookgate knows."""

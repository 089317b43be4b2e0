"""What a tool says of its failure."""

from __future__ import annotations

from hookgate.protocol.values import ToolResult


def reason(result: ToolResult) -> str:
    """The failure's bare text; what the model reads must hold it."""
    assert result.is_error
    assert result.error is not None
    assert result.error.reason in result.for_llm
    return result.error.reason

"""What Anthropic's models thought before they called tools: kept for the request that brings the results. No I/O."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from hookgate.protocol.values import LLMReply, Message

REMEMBERED = 256
"""Replies; enough for every turn that runs at the same time."""

Block = dict[str, object]


class Thoughts:
    """The signed thinking of recent replies that called tools.

    The API wants it back unchanged with the tools' results, and a Message has no room for signatures. After a
    restart it is gone, as it is where an endpoint gives one id to calls of two replies; then the step goes without
    thinking.
    """

    def __init__(self) -> None:
        self._blocks: OrderedDict[str, list[Block]] = OrderedDict()

    def keep(self, reply: LLMReply, blocks: list[Block]) -> None:
        if not (reply.tool_calls and blocks):
            return
        # An id that another conversation has too: what was thought in one must never be sent in the other.
        key = reply.tool_calls[0].id
        self._blocks[key] = [] if key in self._blocks else blocks
        if len(self._blocks) > REMEMBERED:
            self._blocks.popitem(last=False)

    def before(self, message: Message) -> list[Block]:
        return self._blocks.get(message.tool_calls[0].id, []) if message.tool_calls else []

    def missing(self, messages: Sequence[Message]) -> bool:
        """The running turn called tools, and what the model thought then is not known."""
        for message in reversed(messages):
            match message.role:
                case "assistant":
                    return bool(message.tool_calls) and not self.before(message)
                case "user":
                    return False
                case _:
                    pass
        return False

"""The shell policy as a guard of one tool's argument: the tool `bash`, the argument `command`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import trio

from hookgate.guards.remembered import called
from hookgate.protocol.hook.answers import CONTINUE, Answer, Deny
from hookgate.protocol.hook.stages import Question

if TYPE_CHECKING:
    from hookgate.guards.shell.policy import Profile

TOOL = "bash"
_AT_ONCE_CHARS = 1024
"""A longer line is judged in a thread."""


class ShellGuard:
    def __init__(self, profile: Profile) -> None:
        self._profile: Profile = profile

    async def before_tool(self, question: Question) -> Answer:
        call = called(question)
        line = call.arguments.get("command")
        if call.name != TOOL or not isinstance(line, str):
            return CONTINUE
        from hookgate.guards.shell.policy import judge

        if len(line) > _AT_ONCE_CHARS:
            refusal = await trio.to_thread.run_sync(partial(judge, line, self._profile), abandon_on_cancel=True)
        else:
            refusal = judge(line, self._profile)
        if refusal is None:
            return CONTINUE
        return Deny(f"shell policy, rule {refusal.rule}: {refusal.reason}.")

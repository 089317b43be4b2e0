"""What the terminal offers to whoever is asked, and what it makes of what they type."""

from __future__ import annotations

from dataclasses import replace

import pytest
import trio

from hookgate.channels.terminal import Terminal
from hookgate.protocol.approval import ApprovalRequest, Grant
from hookgate.protocol.values import Chat, ToolCall

REQUEST = ApprovalRequest(
    "A1", Chat("cli", "terminal"), ToolCall("1", "new_tool", {}), "rule:dynamic", "Run new_tool?", "", (), 60, "d"
)
ONCE = replace(REQUEST, once=True)
LASTING = replace(ONCE, always="probe comes back\nas it is")


@pytest.mark.parametrize(
    ("request_", "offers", "typed", "grant"),
    [
        (REQUEST, "[y]es once, [s]ession, [n]o", ["a", "s"], "session"),
        (ONCE, "[y]es once, [n]o", ["s", "always", "y"], "once"),
        (LASTING, "[y]es once, [a]lways, [n]o", ["session", "a"], "always"),
        (LASTING, "[y]es once, [a]lways, [n]o", ["ALWAYS"], "always"),
    ],
)
async def test_only_the_answers_that_are_offered_count(
    request_: ApprovalRequest, offers: str, typed: list[str], grant: Grant
) -> None:
    written: list[str] = []
    prompts: list[str] = []

    async def ask(prompt: str) -> str:
        await trio.lowlevel.checkpoint()
        prompts.append(prompt)
        return typed.pop(0)

    decision = await Terminal(written.append, ask).approve(request_)
    assert (decision.approved, decision.grant, typed) == (True, grant, [])
    assert set(prompts) == {f"  allow? {offers}: "}
    shown = "".join(written)
    assert ("  session: every new_tool call" in shown) == ("[s]ession" in offers)
    assert ("  always: probe comes back\\nas it is\n" in shown) == ("[a]lways" in offers)

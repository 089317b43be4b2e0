"""The slash commands that every chat has: stop, new, compact, help. Each is a row of the table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import trio

from hookgate.loop.commands.table import Command, Invocation, Outcome
from hookgate.loop.sessions.jobs import RENEWED, STOPPED, WITHDRAWN, Compaction
from hookgate.protocol.chat import LEFT, Outbound

if TYPE_CHECKING:
    from hookgate.loop.gateway import Gateway


def rows(gateway: Gateway) -> tuple[Command, ...]:
    return (
        Command("stop", "end what runs here", partial(_stopped, gateway), effect="stop"),
        Command("new", "start a new conversation", partial(renew, gateway), effect="new"),
        Command("compact", "sum up the older part of the conversation", _compacted, waits=True),
        Command("help", "this text", partial(_helped, gateway)),
    )


async def _stopped(gateway: Gateway, invocation: Invocation) -> Outcome:
    why = WITHDRAWN if invocation.inbound.message_id.startswith(LEFT) else STOPPED
    # The turn itself says that it stopped.
    return "" if gateway.stop(invocation.session, why) else "Nothing is running here."


async def renew(gateway: Gateway, invocation: Invocation) -> str:
    """A new conversation begins: what runs ends, what waits is dropped."""
    accepted, key = invocation.accepted, invocation.session
    assert accepted is not None  # noqa: S101 - what is invoked has been stored
    gateway.agent_of(invocation.inbound.chat).approvals.forget(key)
    gateway.commands.forget(key)
    session = gateway.sessions.get(key)
    dropped = session.renew(accepted.conversation) if session else 0
    for message in accepted.meant:
        await gateway.journal.intake.settle(message, "dropped", why=RENEWED)
    return "A new conversation." + (f" Waiting messages dropped: {dropped}." if dropped else "")


async def _compacted(invocation: Invocation) -> Outcome:
    await trio.lowlevel.checkpoint()
    return Compaction(invocation.inbound.chat)


async def _helped(gateway: Gateway, invocation: Invocation) -> Outcome:
    """What works in that chat."""
    chat = invocation.inbound.chat
    await trio.lowlevel.checkpoint()
    listed = (": ".join(it.row) for it in gateway.commands.listed(chat))
    return Outbound(chat, "\n".join(listed), kind="output")

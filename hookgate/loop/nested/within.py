"""Where a turn stands that a call has begun, which calls make calls at all, and how what they begin is named."""

from __future__ import annotations

from collections.abc import Callable

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.values import Claim, Conversation
from hookgate.protocol.values import ToolSpec
from hookgate.protocol.zot.names import EXTENSION
from hookgate.tools.names import DELEGATE


@dataclass(frozen=True, slots=True)
class Within:
    """`parent`: the turn whose call has begun it. `agents`: those that wait for it, the last one for it alone.
    `claim`: of the message that all this answers. `writer`: as in a batch. `tell` hears what is done."""

    parent: str
    agents: tuple[str, ...]
    claim: Claim
    writer: str = ""
    tell: Callable[[str], None] = lambda _text: None


def delegates(spec: ToolSpec) -> bool:
    """Whether its calls begin turns of other agents, which run side by side."""
    return spec.name == DELEGATE and spec.provider == "builtin"


def makes_calls(spec: ToolSpec) -> bool:
    return spec.provider.startswith(EXTENSION) or delegates(spec)


def conversation_of(claim: Claim, call_id: str, agent: str) -> Conversation:
    """The one that this call begins with this agent: the same whenever it is asked for, and no other call's."""
    its = claim.conversation
    path = its.agent.partition("+")[2] or claim.message
    return Conversation(its.session, f"{agent}+{path}.{call_id.replace('/', '-')}", its.generation)


def task_agent(conversation: Conversation) -> str:
    """Who works on the task that this conversation is for; empty: it is for none."""
    agent, is_task, _ = conversation.agent.partition("+")
    return agent if is_task else ""

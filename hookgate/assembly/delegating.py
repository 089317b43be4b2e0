"""Which agents of a configuration may hand tasks to which, as the tool that they have for it. Runs none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hookgate.loop.nested.limits import TaskLimits
from hookgate.protocol.hook.match import Globs
from hookgate.sections import Config
from hookgate.sections.section import NONE
from hookgate.tools.names import DELEGATE

if TYPE_CHECKING:
    from hookgate.loop.agent import Agent
    from hookgate.sections.agent import AgentSection
    from hookgate.tools.registry import Registry
    from hookgate.tools.select import Selection


def is_offered(config: Config) -> bool:
    """Whether anybody hands tasks on."""
    any_does = any(it.delegates_to for it in (config.agent, *config.agents.values()))
    return any_does and Globs(config.tools.enabled).covers(DELEGATE)


def selection_of(config: Config, section: AgentSection, tools: tuple[str, ...], usual: Selection) -> Selection:
    """What an agent's requests ship: of `tools`, and whom it may hand tasks to."""
    if not is_offered(config):
        return usual.narrowed(tools) if tools else usual
    if not section.delegates_to:
        return usual.narrowed((*tools, f"!{DELEGATE}"))
    from hookgate.loop.nested.delegate import parameters_for

    purposes = {name: it.description for name, it in config.agents.items()}
    schema = parameters_for({name: purposes.get(name, "") for name in section.delegates_to})
    own = () if tools == NONE else tools
    return usual.narrowed((*own, DELEGATE) if tools else (), {DELEGATE: schema})


def offer(config: Config, registry: Registry, agent: Callable[[str], Agent | None]) -> None:
    """The tool is there while somebody may use it, within what this configuration allows."""
    if not is_offered(config):
        registry.unregister(DELEGATE, "builtin")
        return
    from hookgate.loop.nested.delegate import Delegate

    its = config.tools.delegate
    limits = TaskLimits(its.depth, its.per_turn, its.at_once, its.timeout_ms / 1000)
    registry.register(Delegate(agent, limits), reserved=True, checked=True)

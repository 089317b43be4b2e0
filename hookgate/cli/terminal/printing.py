"""What a chat tells a person of what runs: the first line, the tools, the hooks."""

from __future__ import annotations

from collections.abc import Iterator

from hookgate.assembly.app import Runtime
from hookgate.assembly.extensions.extensions import is_extension
from hookgate.assembly.models import unknown_of
from hookgate.channels.printable import printable
from hookgate.cli.printing import aligned, counted, width_shown
from hookgate.hooks.children.supervise import SupervisedHook
from hookgate.operations.extensions import absent_extensions, loaded_extensions, starting_extensions


def welcome(runtime: Runtime) -> str:
    hooks = [hook for hook in runtime.mounts.hooks if not is_extension(hook.name)]
    running = ", ".join([counted(len(hooks), "hook"), *_extensions(runtime)])
    lines = [f"hookgate: {runtime.agent.model}; {running}; /help for help, Ctrl-D to leave"]
    lines.extend(f"! hook {hook.name} is {hook.state}: {hook.reason}" for hook in hooks if not hook.pid)
    lines.extend(f"! {note}" for note in (unknown_of(runtime.settings.config, runtime.agent.model),) if note)
    return "\n".join(lines)


def _extensions(runtime: Runtime) -> Iterator[str]:
    loaded, starting = len(loaded_extensions(runtime)), len(starting_extensions(runtime))
    if loaded:
        yield counted(loaded, "extension")
    if starting:
        yield f"{starting if loaded else counted(starting, 'extension')} still starting"


def tools(runtime: Runtime) -> str:
    own = [(spec.name, spec.provider, spec.description) for spec in runtime.agent.registry.snapshot().specs]
    declared = [(s.name, f"hook:{m.name}", s.description) for m in runtime.gate.mounts for s in m.hook.declared.tools]
    rows = [(name, provider, text.partition(". ")[0]) for name, provider, text in [*own, *declared]]
    return "\n".join(aligned(rows, width_shown(), ("tool", "from", "what for"))) or "no tools"


def connections(runtime: Runtime) -> str:
    roster = runtime.more.roster
    if roster is None:
        return "no MCP servers"
    from hookgate.tools.mcp.overview import line, overview

    return "\n".join(f"  {line(row, person=True)}" for row in overview(roster)) or "no MCP servers"


PROMPT, GOES_ON = "> ", "  "
"""Before the first line of a message, and before each of the others."""


def prompt_text(runtime: Runtime) -> str:
    """It names the hooks that fail, since what they should judge may be let through."""
    match [mount.name for mount in runtime.gate.mounts if runtime.gate.stats[mount.name].failing]:
        case []:
            return PROMPT
        case [one]:
            return printable(f"[{one} failing] {PROMPT}")
        case several:
            return f"[{len(several)} hooks failing] {PROMPT}"


def hooks(runtime: Runtime) -> str:
    rows = aligned(
        (_hook(runtime, hook) for hook in runtime.mounts.hooks), width_shown(), ("hook", "state", "reason")
    )
    absent = [f"  {line}" for line in absent_extensions(runtime)]
    return "\n".join([*rows, *absent]) or "no hooks"


def _hook(runtime: Runtime, hook: SupervisedHook) -> tuple[str, str, str]:
    failing = runtime.gate.stats[hook.name].failing
    if failing and hook.state == "up":
        return hook.name, "failing", failing
    return hook.name, hook.state, hook.reason

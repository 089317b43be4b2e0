"""The tools `new_tool` and `unregister_tool`: what the model reads of them, and the workshop that does the work."""

from __future__ import annotations

from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.protocol.values.effects import RegistryEffect
from hookgate.tools import arguments
from hookgate.tools.dynamic.draft import MAX_BODY_BYTES, NAME_PATTERN, NEW_TOOL, TYPES, read_draft
from hookgate.tools.dynamic.identity import CALL_TIMEOUT_S
from hookgate.tools.dynamic.workshop import UNREGISTER_TOOL, Workshop
from hookgate.tools.schema.objects import takes

_NAME = {"type": "string", "pattern": NAME_PATTERN, "description": "2 to 64 of a-z, 0-9 and _, a letter first."}
_ARGUMENT = takes(
    "name",
    name={"type": "string"},
    type={"type": "string", "enum": list(TYPES)},
    description={"type": "string"},
    required={"type": "boolean"},
    default={},
)

NEW_TOOL_SPEC = ToolSpec(
    name=NEW_TOOL,
    description=(
        "Add a tool, written in Python. A person is shown the code and must agree. It can be called from your next "
        "step on, and removed with unregister_tool. It runs in a process of its own, for at most "
        f"{CALL_TIMEOUT_S:g} seconds a call, without network and without writing files where the machine can keep it "
        "from that; do not rely on anything being kept between calls."
    ),
    parameters=takes(
        "name",
        "description",
        "body",
        name=_NAME,
        description={"type": "string", "minLength": 1, "description": "What it does and when to use it."},
        body={
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_BODY_BYTES,
            "description": (
                "The body of `async def run(args)`: args is a dict, what it returns is the result. Import what "
                "you use from the standard library. Print only to debug."
            ),
        },
        args={
            "type": ["object", "array"],
            "items": _ARGUMENT,
            "description": "The arguments: a JSON Schema of type object, or a list of them. None if left out.",
        },
        returns={
            "type": "string",
            "enum": ["text", "json"],
            "description": "Whether it returns text (the default) or a JSON value.",
        },
        requires={
            "type": "array",
            "items": {"type": "string"},
            "description": "Installed packages that it imports; only what the operator allows.",
        },
        replace={"type": "boolean", "description": "Put it in the place of a tool of this name."},
    ),
    # It touches no file of the workspace, so nobody has to wait for it.
    access="none",
)
UNREGISTER_TOOL_SPEC = ToolSpec(
    name=UNREGISTER_TOOL,
    description="Remove a tool that was added with new_tool. Its code stays on disk.",
    parameters=takes("name", name=_NAME),
    access="none",
)


class NewTool:
    def __init__(self, workshop: Workshop) -> None:
        self.spec = NEW_TOOL_SPEC
        self._workshop = workshop

    async def execute(self, call: ToolCall) -> ToolResult:
        wanted = read_draft(call)
        made = await self._workshop.make(wanted, replace_it=arguments.flag(call, "replace"))
        if made.unchanged:
            return ToolResult(f"{made.name} is there already, exactly like this.")
        did = "Replaced" if made.replaced else "Added"
        gone = (made.name,) if made.replaced else ()
        effect = RegistryEffect(added=(made.name,), removed=gone)
        return ToolResult(f"{did} the tool {made.name}. You can call it from your next step on.", effects=(effect,))


class UnregisterTool:
    def __init__(self, workshop: Workshop) -> None:
        self.spec = UNREGISTER_TOOL_SPEC
        self._workshop = workshop

    async def execute(self, call: ToolCall) -> ToolResult:
        name = arguments.required(call, "name")
        await self._workshop.remove(name, "model")
        return ToolResult(f"Removed the tool {name}.", effects=(RegistryEffect(removed=(name,)),))


def lifecycle_tools(workshop: Workshop) -> tuple[Tool, ...]:
    """To be registered as reserved: no other provider may take these names."""
    return (NewTool(workshop), UnregisterTool(workshop))

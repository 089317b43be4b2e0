"""A program that serves the control methods about tools: `tools_gateway.py FOLDER`, until its stdin ends.

Says `up` once it listens; every description that it takes over is a line.
"""

from __future__ import annotations

import sys
from pathlib import Path

import trio

from hookgate.assembly.hooks import approval_rules
from hookgate.cli.tools.started import open_without_model
from hookgate.control.serve import open_control
from hookgate.operations.tool_methods import tool_methods
from hookgate.store import StoredDescriptions, open_catalog


async def main(folder: Path) -> None:
    async with open_without_model(folder / "hookgate.toml") as runtime, open_catalog(folder / "store.db") as catalog:
        for name in ("bash", "edit", "read", "write"):
            runtime.agent.registry.unregister(name, "builtin")
        descriptions = StoredDescriptions(catalog)
        descriptions.subscribe(lambda revision: say(f"{revision} {descriptions.get('ls')}"))
        rules = approval_rules(runtime.settings.config)
        async with open_control(folder / "c.sock", tool_methods(runtime, catalog, descriptions, lambda: rules)):
            say("up")
            await trio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    trio.run(main, Path(sys.argv[1]))

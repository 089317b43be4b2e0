"""A gateway whose tools can be asked about: `tools_gateway.py FOLDER`, until its stdin ends.

Says `up` once it listens; every description that it takes over is a line.
"""

from __future__ import annotations

import sys
from pathlib import Path

import trio

from hookgate.cli.tools.started import open_without_model
from hookgate.control.gateway import gateway_methods
from hookgate.control.methods import Methods
from hookgate.control.serve import open_control
from hookgate.store import open_store


async def main(folder: Path) -> None:
    # A gateway that finds no store keeps none open.
    async with open_store(folder / "store.db"):
        pass
    async with open_without_model(folder / "hookgate.toml") as runtime:
        for name in ("bash", "edit", "read", "write"):
            runtime.agent.registry.unregister(name, "builtin")
        descriptions = runtime.tools.descriptions
        descriptions.subscribe(lambda revision: say(f"{revision} {descriptions.get('ls')}"))

        async def methods() -> Methods:
            await trio.lowlevel.checkpoint()
            return gateway_methods(runtime)

        async with open_control(folder / "c.sock", methods):
            say("up")
            await trio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    trio.run(main, Path(sys.argv[1]))

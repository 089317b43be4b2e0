"""A program that writes to a store: `writer.py FILE COUNT NAME`; says every row that is safe, a line each.

With a COUNT of 0 it writes until it is killed.
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

import trio

from hookgate.protocol.catalog import ToolRow
from hookgate.store import open_store


async def main(file: Path, limit: int, prefix: str) -> None:
    async with open_store(file) as store:
        for number in range(limit) if limit else count():
            row = ToolRow(f"{prefix}{number}", "process", {"x": "y" * 500}, "/tool.py", "00", "operator")
            await store.put_tool(row)
            await store.change_descriptions({row.name: f"text {number}"}, prefix)
            sys.stdout.write(f"{row.name}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    trio.run(main, Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])

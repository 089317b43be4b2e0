"""What a person reads before they say yes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hookgate.protocol.values import ToolCall
from hookgate.tools.dynamic.asking import approval_text
from tests.tools.dynamic.shops import MemoryCatalog, Shop, open_shop


def asked(shop: Shop, name: str, /, **arguments: Any) -> list[str]:
    return approval_text(shop.workshop, ToolCall("1", name, arguments)).splitlines()


async def test_everything_that_will_run_is_shown_with_its_digest_and_its_walls(tmp_path: Path) -> None:
    wish = {
        "name": "add",
        "description": "Adds one.",
        "body": "n = args['n']\nreturn n + 1",
        "args": [{"name": "n", "type": "integer"}],
    }
    catalog = MemoryCatalog()
    async with open_shop(tmp_path, catalog) as shop:
        lines = asked(shop, "new_tool", **wish)
        assert lines[0] == "A tool add that returns text: Adds one."
        assert lines[-3:] == ["Its code:", "n = args['n']", "return n + 1"]
        assert any('"n":{"type":"integer"}' in line for line in lines)
        assert "Requires packages: none" in lines
        await shop.call("new_tool", **wish)
        (row,) = catalog.tools()
        assert f"SHA-256 of program and spec: {row.sha256}" in lines
        assert "It is the tool that was approved before, unchanged." in asked(shop, "new_tool", **wish)


async def test_without_walls_the_person_is_told(tmp_path: Path) -> None:
    async with open_shop(tmp_path, mode="off") as shop:
        lines = asked(shop, "new_tool", name="add", description="d", body="return 1")
        assert "There is no sandbox: its code has all rights of hookgate, network and files included." in lines


async def test_a_replacement_shows_the_difference(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop:
        await shop.made("add", "n = 1\nreturn n")
        lines = asked(shop, "new_tool", name="add", description="d", body="n = 1\nreturn n + 1", replace=True)
        assert lines[lines.index("It replaces another; the difference of their code:") :] == [
            "It replaces another; the difference of their code:",
            "--- before",
            "+++ after",
            "@@ -1,2 +1,2 @@",
            " n = 1",
            "-return n",
            "+return n + 1",
            "Its code:",
            "n = 1",
            "return n + 1",
        ]


async def test_a_wish_that_will_be_refused_is_shown_as_that(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop:
        assert asked(shop, "new_tool", name="add", description="d", body="return +") == [
            "It will be refused: body, line 1: invalid syntax"
        ]
        assert asked(shop, "new_tool") == [
            "It will be refused: name: '' must be 2 to 64 of a-z, 0-9 and _, and begin with a letter"
        ]
        assert asked(shop, "unregister_tool", name="add") == ["It will be refused: there is no such tool."]
        await shop.made("add", "return 1")
        (line,) = asked(shop, "unregister_tool", name="add")
        assert line.startswith("Removes the tool add (model's)")
        assert asked(shop, "bash", command="ls") == []

"""The tools that connect, disconnect and list, with the real catalog behind them, over restarts."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
from benches import ENVIRONMENT, ODD, Bench, odd, opened, pids

from hookgate.protocol.catalog import Catalog, ServerRow, StoreFailed
from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.protocol.values.effects import RegistryEffect
from hookgate.store import open_store
from hookgate.tools.dispatch import execute
from hookgate.tools.errors import ToolError
from hookgate.tools.mcp.connect_request import approval_text, read_request
from hookgate.tools.mcp.manage import McpConnect, McpDisconnect, McpList
from hookgate.tools.mcp.review import review
from hookgate.tools.mcp.roster import Roster, ServerSurroundings
from tests.processes import gone

FILE = "hookgate.db"


class Desk:
    """A bench, a roster, and the three tools."""

    def __init__(self, bench: Bench, catalog: Catalog | None, folder: Path, configured: frozenset[str]) -> None:
        secrets = {"TOKEN": "s3cret"}
        self.bench = bench
        self.roster = Roster(
            bench.connections, catalog, ServerSurroundings(folder, ENVIRONMENT, secrets.get), configured
        )
        self._tools = {
            it.spec.name: it for it in (McpConnect(self.roster), McpDisconnect(self.roster), McpList(self.roster))
        }

    async def ask(self, tool: str, **arguments: Any) -> ToolResult:
        with trio.fail_after(30):
            return await execute(self._tools[tool], ToolCall("1", tool, arguments))

    async def connect(self, *more: object, name: str = "odd", **given: Any) -> ToolResult:
        arguments = {"command": sys.executable, "args": [str(ODD), *map(str, more or ("good",))], **given}
        return await self.ask("mcp_connect", name=name, transport="stdio", **arguments)


@asynccontextmanager
async def desk(folder: Path, *specs: Any, stored: bool = True) -> AsyncGenerator[Desk]:
    configured = frozenset(spec.name for spec in specs)
    async with opened(*specs) as bench:
        if not stored:
            yield Desk(bench, None, folder, configured)
            return
        async with open_store(folder / FILE) as store:
            yield Desk(bench, store, folder, configured)


async def test_a_model_connects_lists_and_disconnects(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with desk(tmp_path) as ours:
        connected = await ours.connect("good", log)
        assert connected.for_llm.startswith("Connected to odd: 14 tools, from the next step on.\nodd__")
        effect = connected.effects[0]
        assert isinstance(effect, RegistryEffect)
        assert "odd__echo" in effect.added
        listed = await ours.ask("mcp_list")
        assert listed.for_llm == "MCP connections: 1\nodd  up  stdio  14 tools  by the model"
        ended = await ours.ask("mcp_disconnect", name="odd")
        assert (ended.for_llm, len(ended.effects)) == ("Disconnected odd.", 1)
        assert (await ours.ask("mcp_list")).for_llm == "MCP connections: 0\n(empty)"
        assert ours.bench.names == []
        await gone(*pids(log))


async def test_what_a_model_connected_waits_for_a_person_after_a_restart(tmp_path: Path) -> None:
    async with desk(tmp_path) as ours:
        await ours.connect()
    async with desk(tmp_path) as ours:
        waiting = ours.roster.restore()
        assert [(kept.row.name, kept.state) for kept in waiting] == [("odd", "needs_approval")]
        assert ours.bench.connections.statuses() == ()
        listed = await ours.ask("mcp_list")
        assert listed.for_llm == "MCP connections: 1\nodd  needs_approval  stdio  0 tools  by the model"
        # The same call again, which a person approves, is one way to have it back.
        assert not (await ours.connect()).is_error
        assert "odd__echo" in ours.bench.names


async def test_what_a_person_approved_for_good_is_there_after_a_restart(tmp_path: Path) -> None:
    async with desk(tmp_path) as ours:
        await ours.connect()
        await ours.roster.approve(ours.roster.shown("odd"), "ann")
    async with desk(tmp_path) as ours:
        assert ours.roster.restore() == ()
        await ours.bench.up()
        assert "odd__echo" in ours.bench.names


async def test_a_person_can_approve_what_waits_after_a_restart(tmp_path: Path) -> None:
    async with desk(tmp_path) as ours:
        await ours.connect()
    async with desk(tmp_path) as ours:
        status = await ours.roster.approve(ours.roster.shown("odd"), "ann")
        assert (status.state, len(status.tools)) == ("up", 14)
        kept = ours.roster.kept()[0]
        assert (kept.state, kept.row.approved_by, len(kept.row.tool_hashes)) == ("ok", "ann", 14)


async def test_a_tool_that_changed_since_it_was_approved_waits_after_a_restart(tmp_path: Path) -> None:
    async with desk(tmp_path) as ours:
        await ours.connect()
        await ours.roster.approve(ours.roster.shown("odd"), "ann")
    async with open_store(tmp_path / FILE) as store:
        row = store.servers(str(tmp_path))[0]
        await store.put_server(replace(row, tool_hashes={**row.tool_hashes, "echo": "0" * 64}))
    async with desk(tmp_path) as ours:
        ours.roster.restore()
        status = await ours.bench.up()
        assert (status.waiting, "odd__echo" in ours.bench.names) == (("echo",), False)


@pytest.mark.parametrize(
    ("changed", "state"),
    [
        ({"enabled": False}, "disabled"),
        ({"approved_by": None}, "needs_approval"),
        ({"params": {"command": ["/no/such/program"]}}, "missing"),
        ({"params": {}}, "missing"),
        ({"params": {"command": [sys.executable], "env": {"A": "secret:GONE"}}}, "missing"),
        ({"name": "taken"}, "shadowed"),
        ({}, "ok"),
    ],
)
async def test_a_row_starts_only_when_nothing_speaks_against_it(
    changed: dict[str, Any], state: str, tmp_path: Path
) -> None:
    row = ServerRow(
        "odd",
        "stdio",
        {"command": [sys.executable, str(ODD)]},
        "model",
        str(tmp_path),
        approved_by="ann",
        approved_at=1.0,
    )
    async with open_store(tmp_path / FILE) as store:
        await store.put_server(replace(row, **changed))
    async with desk(tmp_path, odd("good", name="taken")) as ours:
        assert [kept.state for kept in ours.roster.kept()] == [state]
        assert len(ours.roster.restore()) == (state != "ok")


async def test_an_operators_connections_are_not_the_models_to_end(tmp_path: Path) -> None:
    async with desk(tmp_path, odd()) as ours:
        result = await ours.ask("mcp_disconnect", name="odd")
        assert result.error is not None
        assert (result.error.kind, "odd__echo" in ours.bench.names) == ("permission", True)
        again = await ours.connect()
        assert again.error is not None
        assert "already" in again.error.reason


async def test_an_operators_row_cannot_be_replaced(tmp_path: Path) -> None:
    async with open_store(tmp_path / FILE) as store:
        row = ServerRow("odd", "stdio", {"command": ["/x"]}, "operator", str(tmp_path))
        await store.put_server(row)
    async with desk(tmp_path) as ours:
        for result in (await ours.connect(), await ours.ask("mcp_disconnect", name="odd")):
            assert result.error is not None
            assert result.error.kind == "permission"


async def test_a_connection_that_cannot_be_kept_is_not_made(tmp_path: Path) -> None:
    class Full:
        def servers(self, workspace: str = "") -> tuple[ServerRow, ...]:
            return ()

        async def put_server(self, row: ServerRow, seen: object = None) -> ServerRow:
            await trio.lowlevel.checkpoint()
            raise StoreFailed("the disk is full")

    log = tmp_path / "log"
    async with opened() as bench:
        ours = Desk(bench, Full(), tmp_path, frozenset())  # type: ignore[arg-type]
        result = await ours.connect("good", log)
        assert "cannot be kept: the disk is full" in result.for_llm
        assert (bench.names, bench.connections.statuses()) == ([], ())
        await gone(*pids(log))


async def test_a_failed_connect_leaves_no_row(tmp_path: Path) -> None:
    async with desk(tmp_path) as ours:
        assert "status 3" in (await ours.connect("dies")).for_llm
        assert ours.roster.kept() == ()


async def test_without_a_catalog_a_connection_lasts_as_long_as_the_run(tmp_path: Path) -> None:
    async with desk(tmp_path, stored=False) as ours:
        assert not (await ours.connect()).is_error
        assert not (await ours.ask("mcp_disconnect", name="odd")).is_error


async def test_a_secret_is_kept_by_name_and_given_to_the_program(tmp_path: Path) -> None:
    async with desk(tmp_path) as ours:
        await ours.connect(env={"API_TOKEN": "secret:TOKEN", "MODE": "x"})
        assert '"API_TOKEN": "s3cret"' in (await ours.bench.call("odd__environment")).for_llm
        assert ours.roster.kept()[0].row.params["env"] == {"API_TOKEN": "secret:TOKEN", "MODE": "x"}
        refused = await ours.connect(name="other", env={"A": "secret:PATH"})
        assert "secret:PATH is no secret that may be used here" in refused.for_llm


STDIO = {"name": "srv", "transport": "stdio", "command": "/usr/bin/server"}
HTTP = {"name": "srv", "transport": "http", "base_url": "https://example.com/mcp"}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({**STDIO, "base_url": "https://x"}, "base_url does not belong to the transport stdio"),
        ({**HTTP, "env": {}}, "env does not belong to the transport http"),
        ({"name": "srv", "transport": "stdio"}, "command is required"),
        ({"name": "srv", "transport": "http"}, "base_url is required"),
        ({**STDIO, "command": "server"}, "absolute path"),
        ({**STDIO, "command": "/bin/sh", "args": ["-c", "x"]}, "is a shell"),
        ({**STDIO, "command": "/bin/rbash", "args": ["-c", "x"]}, "is a shell"),
        ({**STDIO, "command": "/usr/bin/zsh-5.9", "args": ["-c", "x"]}, "is a shell"),
        ({**STDIO, "command": "/usr/bin/env", "args": ["A=1", "bash"]}, "is a shell"),
        ({**STDIO, "command": "/usr/bin/env", "args": ["-S", "bash -c x"]}, "is a shell"),
        ({**STDIO, "command": "/usr/bin/timeout", "args": ["5", "/bin/sh"]}, "is a shell"),
        ({**STDIO, "env": {"A-B": "1"}}, "no name of a variable"),
        ({**STDIO, "env": {"A": "secret:"}}, "names no secret"),
        ({**STDIO, "args": ["a\0b"]}, "NUL"),
        ({**HTTP, "base_url": "ftp://example.com"}, "must read http"),
        ({**HTTP, "base_url": "https://user@example.com"}, "user name or password"),
        ({**HTTP, "auth_token": "sk-12345"}, "never the token itself"),
    ],
)
async def test_what_no_approval_could_make_right_is_refused_before_it_is_asked(
    arguments: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ToolError, match=reason) as caught:
        read_request(arguments)
    assert caught.value.kind == "validation"
    async with desk(tmp_path, stored=False) as ours:
        tool = McpConnect(ours.roster)
        settled = tool.decode(ToolCall("1", "mcp_connect", arguments))
        assert isinstance(settled, ToolResult)
        assert reason in settled.for_llm
        assert "will be refused" in approval_text(ToolCall("1", "mcp_connect", arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        {"transport": "stdio", "command": "/x"},
        {"name": "Srv", "transport": "stdio", "command": "/x"},
        {"name": "srv", "transport": "sse", "base_url": "https://x"},
        {**STDIO, "shell": True},
        {**STDIO, "args": "one"},
        {**STDIO, "env": {"A": 1}},
    ],
)
async def test_arguments_that_do_not_fit_the_schema_are_refused(arguments: dict[str, Any], tmp_path: Path) -> None:
    async with desk(tmp_path, stored=False) as ours:
        result = await ours.ask("mcp_connect", **arguments)
        assert result.error is not None
        assert result.error.kind == "validation"


def test_the_approval_shows_the_whole_command_and_what_it_means() -> None:
    def text(**arguments: Any) -> str:
        return approval_text(ToolCall("1", "mcp_connect", {**STDIO, **arguments}))

    shown = text(command="/usr/bin/npx", args=["-y", "some server", "\x1b[2Jx"], env={"KEY": "secret:TOKEN"})
    assert "  /usr/bin/npx -y 'some server' '\\x1b[2Jx'\n  KEY=secret:TOKEN\n" in shown
    assert "downloads and runs code" in shown
    assert "downloads and runs code" in text(command="/usr/bin/env", args=["A=1", "uvx", "thing"])
    assert "the program is in its arguments" in text(command="/usr/bin/python3", args=["-c", "import os"])
    assert "outside the sandbox" in text()


def test_the_approval_of_a_url_shows_where_and_with_what() -> None:
    shown = approval_text(ToolCall("1", "mcp_connect", {**HTTP, "auth_token": "secret:TOKEN"}))
    assert "the MCP server srv at https://example.com/mcp, with the token secret:TOKEN." in shown
    assert "Ends the MCP connection srv" in approval_text(ToolCall("1", "mcp_disconnect", {"name": "srv"}))


async def test_what_a_person_approves_is_what_they_were_shown(tmp_path: Path) -> None:
    async with desk(tmp_path) as ours:
        await ours.connect()
        await ours.roster.approve(ours.roster.shown("odd"), "ann")
        before = ours.roster.shown("odd")
        assert review(ours.roster, "odd").splitlines()[-1].startswith("Approved before, and unchanged: ")
        await ours.bench.call("odd__grow")
        await ours.bench.until(lambda: ours.bench.status().waiting != ())
        text = review(ours.roster, "odd")
        assert "Tool echo (changed): Now it does something else." in text
        assert "description before: " in text
        assert "Tool late (new): Came later." in text
        with pytest.raises(ToolError, match="is not what was shown"):
            await ours.roster.approve(before, "ann")
        assert "odd__late" not in ours.bench.names
        await ours.roster.approve(ours.roster.shown("odd"), "ann")
        assert "odd__late" in ours.bench.names


async def test_a_connection_that_another_process_changed_is_not_approved(tmp_path: Path) -> None:
    async with desk(tmp_path) as ours:
        await ours.connect()
        shown = ours.roster.shown("odd")
        async with open_store(tmp_path / FILE) as other:
            (row,) = other.servers(str(tmp_path))
            theirs = await other.put_server(replace(row, params={"command": [sys.executable, "/other.py"]}))
        with pytest.raises(ToolError, match="another hookgate has changed odd") as caught:
            await ours.roster.approve(shown, "ann")
        assert caught.value.kind == "stale"
        assert [kept.row for kept in ours.roster.kept()] == [theirs]
        with pytest.raises(ToolError, match="is not the one that is kept"):
            ours.roster.shown("odd")


async def test_a_connection_that_starts_with_its_approval_takes_no_tool_that_was_not_shown(tmp_path: Path) -> None:
    async with desk(tmp_path) as ours:
        await ours.connect()
    async with open_store(tmp_path / FILE) as store:
        (row,) = store.servers(str(tmp_path))
        await store.put_server(replace(row, tool_hashes={**row.tool_hashes, "echo": "0" * 64}))
    async with desk(tmp_path) as ours:
        status = await ours.roster.approve(ours.roster.shown("odd"), "ann")
        assert (status.waiting, "odd__echo" in ours.bench.names) == (("echo",), False)
        assert "Tool echo (changed since it was approved" in review(ours.roster, "odd")

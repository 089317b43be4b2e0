"""Commands that look: what would be started, what runs, which of several gateways is asked, what is odd."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Protocol

import pytest
import trio

from hookgate import config as configuration
from hookgate.assembly.scripts import read_script
from hookgate.cli.config.check import check_config
from hookgate.cli.control import call_gateway
from hookgate.cli.hooks.explain import explain
from hookgate.cli.hooks.listing import list_hooks
from hookgate.config import ConfigError, parse
from hookgate.control.client import ControlFailed, NothingRunning, call, socket_path
from hookgate.control.methods import Method
from hookgate.protocol.values import Json
from hookgate.tools.mcp.transport import sdk
from tests.cli.program import PROMPT, Screen, configured, hook, open_pipes, run
from tests.cli.zot.zot_folders import extension, installed, project
from tests.control.methods import open_control
from tests.machine import Without, with_and_without

NOWHERE = "http://127.0.0.1:9/v1"
GUARDS = ["guard:loop", "guard:fan_out", "guard:read_before_write"]
INTERCEPTS = {"type": "subscribe", "intercept": ["tool_call"]}


def gate(folder: Path) -> Path:
    """Two hooks, one of them off, and three extensions, one of them a stranger."""
    sections = hook(folder, "guard", 'intercept = ["before_tool"]\npriority = -5')
    sections += hook(folder, "redact", 'intercept = ["after_tool"]\nmode = "off"')
    extension(installed(folder), "b", INTERCEPTS)
    extension(installed(folder), "a")
    extension(project(folder), "stranger")
    return configured(folder, NOWHERE, f"{sections}[zot.extensions.a]\nmatch = {{ tools = ['read'] }}\n")


# --- what would be started ----------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where somebody is at home and works."""
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "ZOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return gate(tmp_path)


@pytest.mark.usefixtures("here")
def test_guards_processes_and_extensions_are_listed_as_they_are_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert list_hooks(None, None, as_json=True) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == [*GUARDS, "guard", "zot:a", "zot:b", "redact", "zot:stranger"]
    assert [row["state"] for row in rows] == [*["built in"] * 3, *["not started"] * 3, "out", "out"]
    assert rows[0]["stages"] == ["before_llm", "before_tool", "after_tool"]
    assert [row["stages"] for row in rows[3:6]] == [["before_tool"], None, None]
    assert [row["reason"] for row in rows[6:]] == ["its mode is off", "it is not trusted"]
    assert list_hooks(None, None, as_json=False) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "No hookgate of this configuration is running; this is what it would start."
    assert [line.split("enforce")[1].split() for line in lines if "zot:b" in line] == [
        ["known", "when", "running", "-"]
    ]


def test_explain_says_who_is_asked_to_run_a_tool_that_nobody_has_said_to_have(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = {
        "weather": 'match = { tools = ["bash"] }',
        "elsewhere": 'match = { tools = ["bash"], channels = ["web"] }',
        "audits": 'match = { tools = ["bash"] }\nmode = "audit"',
    }
    begin = '[hooks.processes.{}]\ncommand = ["nobody"]\nintercept = ["before_tool"]\n{}\n'
    configured(here, NOWHERE, "".join(begin.format(*it) for it in keys.items()))
    call = {"channel": "cli", "chat": "terminal", "chat_type": "direct", "sender": "user", "thread": ""}
    for tool, owners in (("weather", ["weather"]), ("read", [])):
        assert explain(None, {**call, "model": "", "agent": "", "tool": tool}, as_json=True) == 0
        asked = json.loads(capsys.readouterr().out)["stages"]["before_tool"]
        assert [
            it["name"] for it in asked if "if it brings this tool it is asked last" in str(it["why_not"])
        ] == owners


@pytest.mark.usefixtures("here")
def test_explain_shows_guards_and_extensions_and_why_they_are_in_or_out(capsys: pytest.CaptureFixture[str]) -> None:
    call = {
        "channel": "cli",
        "chat": "terminal",
        "chat_type": "direct",
        "sender": "user",
        "thread": "",
        "model": "",
        "agent": "",
    }
    assert explain(None, {**call, "tool": "bash"}, as_json=False) == 0
    shown = capsys.readouterr().out
    stage, *lines = shown.partition("approve_tool:")[0].splitlines()
    assert stage == "before_tool:"
    links = [line.split(maxsplit=2) for line in lines]
    assert [name for _priority, name, _verdict in links] == [*GUARDS, "guard", "zot:a", "zot:b"]
    verdicts = {name: verdict for _priority, name, verdict in links}
    assert verdicts["guard:fan_out"].startswith("out: tools = ")
    assert verdicts["guard:loop"] == "in, on failure deny"
    assert verdicts["guard"] == "in, timeout 5 s, on failure continue"
    assert verdicts["zot:a"].startswith("out: tools = ")
    assert verdicts["zot:b"].endswith("whether it intercepts this is known when it runs")
    assert "is no built-in tool" not in shown
    assert explain(None, {**call, "tool": "bsh"}, as_json=False) == 0
    assert capsys.readouterr().out.endswith("\ntool bsh: is no built-in tool (did you mean 'bash'?)\n")
    assert explain(None, {**call, "tool": "bash"}, as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert [it["name"] for it in told["stages"]["before_tool"]] == [name for _priority, name, _verdict in links]
    standing = {it["name"]: it for it in told["stages"]["before_tool"]}
    assert standing["guard"] == {
        "name": "guard",
        "priority": standing["guard"]["priority"],
        "why_not": None,
        "audit": False,
        "timeout_s": 5.0,
        "on_failure": "continue",
        "known_later": False,
    }
    assert standing["zot:a"]["why_not"].startswith("tools = ")
    assert told["out"]["redact"] == "its mode is off"
    assert explain(None, {**call, "tool": ""}, as_json=False) == 0
    stages = [line for line in capsys.readouterr().out.splitlines() if line.endswith(":")]
    assert stages == ["on_message:", "before_llm:", "after_llm:", "before_send:"]
    assert "redact: out, its mode is off\nzot:stranger: out, it is not trusted\n" in shown


# --- what runs ----------------------------------------------------------------------------------------------


@pytest.fixture
def folder() -> Generator[Path]:
    """Short: a socket's path may have 107 bytes at most."""
    path = Path(tempfile.mkdtemp(prefix="hg-"))
    yield path
    shutil.rmtree(path)


def served(folder: Path) -> Path:
    file = folder / "hookgate.toml"
    file.write_text(file.read_text().replace("enabled = false", "enabled = true", 1))
    return folder


@asynccontextmanager
async def open_chat(folder: Path, home: Path) -> AsyncGenerator[Screen]:
    async with open_pipes(folder, "chat", home=home) as screen:
        await screen.sees(PROMPT)
        yield screen
        await screen.type("/quit\n")
        assert await screen.ends() == 0


async def test_a_running_gateway_lists_its_guards_and_what_its_extensions_intercept(folder: Path) -> None:
    async with open_chat(served(gate(folder)), folder):
        rows = json.loads((await run(folder, "hooks", "list", "--json")).stdout)
    assert [row["name"] for row in rows] == [*GUARDS, "guard", "zot:a", "zot:b"]
    assert [row["stages"] for row in rows[3:]] == [["before_tool"], [], ["before_tool"]]
    assert [(row["state"], row.get("calls")) for row in rows] == [*[("built in", 0)] * 3, *[("up", 0)] * 3]


async def test_of_several_gateways_that_of_this_configuration_is_asked_and_another_is_named(folder: Path) -> None:
    mine, newer, elsewhere = (folder / name for name in ("mine", "newer", "elsewhere"))
    for it in (mine, newer, elsewhere):
        it.mkdir()
        configured(it, NOWHERE, '[tools]\nenabled = ["ls"]\n' if it is mine else "")
    async with AsyncExitStack() as stack:
        for it in (mine, newer):
            await stack.enter_async_context(open_chat(served(it), folder))
        found = await run(mine, "tools", "list", home=folder)
        lines = found.stdout.decode().splitlines()
        assert ([line.split()[0] for line in lines[2:]], found.stderr) == (["ls"], b"")
        assert lines[0].startswith("The hookgate at ")
        assert "which works in" not in lines[0]
        below = await run(elsewhere, "hooks", "list", "--config", "../mine/hookgate.toml", "--json", home=folder)
        assert below.stderr == b""
        # Where a configuration says what would run here, what another one runs is no answer.
        for words in (("hooks", "list"), ("tools", "list"), ("mcp", "list"), ("channels",)):
            own = await run(elsewhere, *words, home=folder)
            assert own.stdout.startswith(b"No hookgate of this configuration is running; this is what "), own.stderr
        (elsewhere / "hookgate.toml").unlink()
        strange = await run(elsewhere, "hooks", "list", "--json", home=folder)
        assert strange.stderr.decode().endswith(f", which works in {newer} with {newer}/hookgate.toml is asked\n")
        for words in (("hooks",), ("tools",), ("mcp",), ("channels",), ("approvals",), ("status",)):
            shown = await run(elsewhere, *words, home=folder)
            title = b"No hookgate of this configuration file or workspace is running; the one at "
            assert (shown.stdout.startswith(title), shown.stderr) == (True, b"")


async def test_a_change_is_asked_of_no_other_gateway_than_was_meant_and_the_refusal_lists_what_runs(
    folder: Path,
) -> None:
    mine, elsewhere = (folder / name for name in ("mine", "elsewhere"))
    for it in (mine, elsewhere):
        it.mkdir()
        configured(it, NOWHERE)
    stop, session = ("control", "sessions.stop"), '{"session": "cli:terminal"}'
    async with open_chat(served(mine), folder):
        for call in (("control", "hooks.reload"), ("control", "no.such"), (*stop, session)):
            refused = await run(elsewhere, *call, home=folder)
            assert (refused.returncode, refused.stdout) == (1, b"")
            first, *listed = refused.stderr.decode().splitlines()
            assert first.startswith(f"hookgate: no hookgate runs with {elsewhere}/hookgate.toml or in {elsewhere}, ")
            (line,) = listed
            assert re.fullmatch(rf".+ \(pid \d+\), which works in {mine} with {mine}/hookgate\.toml", line)
        unconfigured = await run(folder, "control", "hooks.reload", home=folder)
        assert unconfigured.stderr.decode().startswith(f"hookgate: no hookgate runs in {folder}, ")
        looked = await run(elsewhere, "control", "sessions.list", home=folder)
        assert (looked.stdout, looked.stderr.startswith(b"note: no hookgate of this ")) == (b"[]\n", True)
        socket = listed[0].split()[0]
        for here in (("--config", "../mine/hookgate.toml"), ("--control", socket)):
            reloaded = await run(elsewhere, "control", "hooks.reload", *here, home=folder)
            assert (reloaded.returncode, reloaded.stderr) == (0, b"")
        answered = await run(mine, *stop, '{"session": {}}', home=folder)
        said = b"hookgate: Invalid params: session: must be a valid string\n"
        assert (answered.returncode, answered.stderr) == (1, said)
        unknown = await run(mine, "control", "nonsense", home=folder)
        there = b"hookgate: Method not found: nonsense; there is approvals.decide, approvals.grants, "
        assert (unknown.returncode, unknown.stderr.startswith(there)) == (1, True), unknown.stderr


async def test_a_gateway_that_does_not_say_whose_it_is_is_only_looked_at(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def stop(session: str) -> bool:
        asked.append(session)
        return True

    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.chdir(folder)
    path = socket_path(configuration.runtime_directory())
    async with open_control(path, {"sessions.stop": Method(stop, changes=True)}):
        with pytest.raises(NothingRunning, match=f"{path}, which does not say whose it is$"):
            await trio.to_thread.run_sync(call_gateway, "sessions.stop", '{"session": "a"}', None, None)
        assert await trio.to_thread.run_sync(call_gateway, "sessions.stop", '{"session": "b"}', None, path) == 0
    assert asked == ["b"]


async def test_every_method_says_what_it_is_given_that_is_of_another_type(folder: Path) -> None:
    configured(folder, NOWHERE)
    async with open_chat(served(folder), folder):
        about = json.loads((await run(folder, "control", "gateway.about")).stdout)
        methods = about["methods"]
        takes = {"hooks.restart": "name", "mcp.approve": "name", "mcp.forget": "name", "mcp.show": "name"}
        takes |= {"approvals.decide": "request", "approvals.revoke": "grant", "sessions.stop": "session"}
        takes |= {"sessions.show": "conversation", "sessions.forget": "session"}
        takes |= {"letters.retry": "letter", "letters.drop": "letter"}
        whole: dict[str, dict[str, Json]] = {
            "mcp.approve": {"name": [], "row": "", "tools": {}},
            "approvals.decide": {"request": [], "approved": True},
        }
        assert {name for name, it in methods.items() if it["changes"]} == {
            *("approvals.decide", "approvals.revoke", "hooks.reload", "hooks.restart"),
            *(
                "mcp.approve",
                "mcp.forget",
                "tools.refresh",
                "sessions.stop",
                "sessions.forget",
                "letters.retry",
                "letters.drop",
            ),
        }
        (path,) = (folder / "hookgate").glob("*.sock")
        for method in methods:
            given = whole.get(method, {takes.get(method, "no_such"): []})
            with pytest.raises(ControlFailed) as failed:
                await trio.to_thread.run_sync(call, path, method, given)
            assert failed.value.code == -32602, method
            assert takes.get(method, "no_such") in failed.value.message


# --- config check -------------------------------------------------------------------------------------------

LIES = "hookgate.toml lies in the workspace, where bash may change it: "


class Checked(Protocol):
    def __call__(self, more: str, *, below: str = "work") -> list[str]: ...


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Checked:
    """What `config check` notes of a file that says this besides, in a workspace `below` the file's own folder."""
    (tmp_path / "work").mkdir()

    def check(more: str, *, below: str = "work") -> list[str]:
        monkeypatch.chdir(tmp_path / below)
        assert check_config(configured(tmp_path, NOWHERE, more) / "hookgate.toml") == 0
        *notes, fine = capsys.readouterr().out.splitlines()
        assert "fine" in fine
        return [note.removeprefix("note: ") for note in notes]

    return check


@with_and_without("bwrap")
def test_a_section_about_an_extension_that_is_not_there_is_a_note(checked: Checked, tmp_path: Path) -> None:
    extension(tmp_path / "work/.zot/extensions", "weather")
    section = "[zot.extensions.{}]\nenabled = true\n"
    assert checked(section.format("weather")) == []
    why = "there is no such extension (did you mean 'weather'?); does --ext name its folder?"
    assert checked(section.format("wether")) == [f"zot.extensions.wether: {why}"]
    assert checked(f"[zot]\nenabled = false\n{section.format('wether')}") == []


@with_and_without("bwrap")
def test_names_that_match_nothing_known_are_notes(checked: Checked) -> None:
    assert checked(
        '[[tools.preferences]]\ntools = ["web_*", "docs__find", "reed", "provider:mcp:*", "provider:hook:no"]\n'
        '[tools]\npinned = ["ba*", "raed", "d*__x"]\n[tools.aliases.weather]\nplace = "city"\n'
        '[mcp.servers.docs]\ncommand = ["/bin/sh"]\n[[approvals]]\ntools = ["docs__*", "!ls"]\n'
    ) == [
        "tools.preferences.0.tools: 'reed' covers no built-in tool (did you mean 'read'?)",
        "tools.preferences.0.tools: 'provider:hook:no' covers no provider of tools",
        "tools.pinned: 'raed' covers no built-in tool (did you mean 'read'?)",
        "tools.aliases: 'weather' covers no built-in tool; is it a tool that a hook adds?",
    ]


@with_and_without("bwrap")
def test_a_match_may_name_every_agent_that_there_is(checked: Checked) -> None:
    [noted] = checked('[agents.ops]\n[[approvals]]\ntools = ["ls"]\nagents = ["ops", "main", "opps"]\n')
    assert noted == "approvals.0.agents: 'opps' covers no agent (did you mean 'ops'?)"


@pytest.mark.parametrize(
    ("section", "noted"),
    [
        ('intercept = ["before_tool"]', True),
        ('intercept = ["before_tool"]\non_failure = { after_tool = "deny" }', True),
        ('intercept = ["before_tool"]\non_failure = "continue"', False),
        ('intercept = ["before_tool"]\non_failure = { before_tool = "abort" }', False),
        ('intercept = ["before_tool"]\nmode = "audit"', False),
        ('intercept = ["before_llm", "approve_tool"]', False),
    ],
)
def test_a_hook_that_lets_calls_through_when_it_fails_is_a_note(
    checked: Checked, tmp_path: Path, section: str, noted: bool
) -> None:
    note = 'guard: lets calls through when it fails; `on_failure = "deny"` refuses them'
    assert (note in checked(hook(tmp_path, "guard", section))) is noted


@pytest.mark.parametrize(
    ("more", "mistake"),
    [
        (
            '[[tools.preferences]]\ntools = ["r*"]\noverrides = { nope = 1 }\n',
            "tools: 'nope' is no argument of the tool read",
        ),
        ('[tools.aliases.read]\nfile = "nope"\n', "tools: 'nope' is no argument of the tool read"),
        (
            '[mcp.servers.docs]\ntransport = "http"\nurl = "https://x"\ntoken_env = "NOT_SET"\n',
            "mcp.servers.docs.token_env: NOT_SET is not set: `export NOT_SET=...`",
        ),
        (
            '[mcp.servers.docs]\ncommand = ["no-such-program"]\n',
            "mcp.servers.docs.command: 'no-such-program' cannot be found",
        ),
        (
            '[mcp.servers.docs]\ncommand = ["/bin/sh", "gone.sh"]\n',
            "mcp.servers.docs.command: 'gone.sh' is not there",
        ),
        (
            '[mcp.servers.docs]\ntransport = "http"\nurl = "docs.test/mcp"\n',
            "mcp.servers.docs.url: the URL must read http://HOST... or https://HOST...",
        ),
        (
            '[mcp.servers.docs]\ntransport = "http"\nurl = "http://127.0.0.1:9/mcp"\n',
            "mcp.servers.docs.url: 127.0.0.1 is not on the public internet (rule public_addresses); "
            "an operator may allow it: allow_private",
        ),
        ('[skills]\nfolders = ["/nowhere/at/all"]\n', "skills.folders: /nowhere/at/all is not a folder"),
        (
            '[providers.t]\nkind = "scripted"\nscript = "/nowhere/s.json"\n',
            "providers.t.script: /nowhere/s.json: No such file or directory",
        ),
    ],
)
def test_what_would_keep_the_gateway_from_starting_is_a_mistake(checked: Checked, more: str, mistake: str) -> None:
    with pytest.raises(ConfigError) as raised:
        checked(more)
    assert str(raised.value) == mistake


@with_and_without("bwrap")
def test_mcp_servers_without_the_extra_are_a_mistake(checked: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "installed", lambda: False)
    with pytest.raises(ConfigError, match=r"mcp.servers.docs: MCP servers need an extra that is not installed"):
        checked('[mcp.servers.docs]\ncommand = ["/bin/sh"]\n')
    assert checked('[mcp.servers.docs]\ncommand = ["x"]\nenabled = false\n') == []


def test_a_note_says_that_bash_may_change_the_file_only_where_it_may(checked: Checked) -> None:
    off = '[tools]\nsandbox = "off"\n'
    assert checked(off, below=".") == [f"{LIES}the sandbox is off; agent.workspace can name another folder"]
    assert checked(off) == []
    assert checked(f'{off}enabled = ["read"]\n', below=".") == []


def test_without_bubblewrap_nothing_keeps_bash_from_the_file(checked: Checked, without: Without) -> None:
    without("bwrap")
    (note,) = checked("", below=".")
    assert note.startswith(f"{LIES}without bubblewrap nothing keeps it from that; ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[approvals]\ntools = ["bash"]\n', "approvals: there may be several: write it [[approvals]]"),
        (
            '[mcp.servers.My-Docs]\ncommand = ["x"]\n',
            "mcp.servers.My-Docs: a name has 2 to 64 of a-z, 0-9 and _, and begins with a letter",
        ),
        ('[tools]\nsandbox = "on"\n', "tools.sandbox: must be 'auto', 'required' or 'off'"),
    ],
)
def test_what_does_not_fit_is_said_in_plain_words(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse(text, Path("it"))
    assert str(raised.value).startswith(f"it: {said} (at line ")


def test_a_mistake_in_a_script_is_said_with_its_place_and_what_was_meant(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"steps": [{"calls": [{"name": "ls", "argumnts": {}}]}]}')
    with pytest.raises(ConfigError) as raised:
        read_script(script)
    said = "steps.0.calls.0.argumnts: unknown key (did you mean 'arguments'?)"
    assert str(raised.value) == f"{script}: {said}"


def test_every_mistake_is_printed_and_none_is_counted_besides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "hookgate.toml"
    file.write_text("[tools]\nsandbx = 1\nmax_tols = 1\n")
    with pytest.raises(ConfigError) as raised:
        check_config(file)
    lines = [str(raised.value), capsys.readouterr().err]
    assert ["max_tools" in line or "sandbox" in line for line in lines] == [True, True]
    assert "more)" not in "".join(lines)

"""docs/tools.md keeps its word: commands print what it shows, blocks are taken, tables and numbers are the code's."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import click
import pytest
import trio
from pydantic import BaseModel

from hookgate.channels.approving import asking
from hookgate.cli.main import hookgate
from hookgate.config import parse
from hookgate.guards.shell import tree
from hookgate.guards.shell.policy import judge
from hookgate.processes import once
from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.catalog import RowState
from hookgate.protocol.chat import Chat
from hookgate.protocol.codec import encode
from hookgate.protocol.values import TOOL_TIMEOUT_S, ToolCall, ToolSpec
from hookgate.protocol.values.effects import effect_members, read_effects
from hookgate.redaction import Redactor
from hookgate.redaction.values import MIN_CHARS
from hookgate.sections import Config
from hookgate.sections.approvals import ApprovalSection
from hookgate.sections.guards import GuardsSection
from hookgate.sections.tools import McpDefaults, McpSection
from hookgate.tools import lease, memo, text
from hookgate.tools.builtin import Parts, bash, bash_output, builtin_tools, edit, glob, grep, read
from hookgate.tools.dynamic import draft, identity, made
from hookgate.tools.dynamic.cell import folder
from hookgate.tools.extract import Mode, extract_calls
from hookgate.tools.failures import HINTS
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.mcp import connections, listing, notices, results
from hookgate.tools.repair import bounds, decode_arguments
from hookgate.tools.schema import check as schema
from hookgate.tools.schema import spec as schema_spec
from hookgate.tools.shell import background
from hookgate.tools.shell.sandbox import Sandbox
from hookgate.tools.web import fetch
from tests.docs.page import Part, anchor, codes, read_page
from tests.machine import with_and_without
from tests.preloaded import put_hookgate

ROOT = Path(__file__).parents[2]
PAGE = read_page(ROOT / "docs" / "tools.md")
DEADLINE_S = 60.0
PIPES: dict[str, Any] = {"check": False, "capture_stdout": True, "stderr": subprocess.STDOUT}
KNOWN = {
    *("builtin", "file", "console", "kinds", "effect", "repair", "extract", "usual", "toml", "guards", "shell"),
    *(
        "redaction",
        "python",
        "printed",
        "question",
        "states",
        "servers",
        "commands",
        "limits",
        "approvals",
        "asking",
        "mcp-commands",
    ),
}


def test_every_block_says_what_it_is() -> None:
    blocks = [part for part in PAGE.parts if part.language != "table"]
    assert len(blocks) > 30
    assert [f"line {part.line}: {part.mark!r}" for part in blocks if part.kind not in KNOWN] == []


def test_every_link_leads_somewhere() -> None:
    assert set(PAGE.links) <= {anchor(heading) for heading in PAGE.headings}
    files = re.findall(r"\]\(([^)#]+)[)#]", PAGE.text)
    assert files
    assert [name for name in files if not (ROOT / "docs" / name).exists()] == []


# --- what is shown of the program -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """A command, and the lines that the page shows of what it prints; a line `...` stands for any."""

    command: str
    shown: str

    @property
    def pattern(self) -> str:
        quoted = re.escape(self.shown).replace(re.escape("..."), r"[\s\S]*")
        # A command takes the time it takes.
        return re.sub(r"(Took|after)\\ 0\\\.\d", r"\1\\ \\d+\\.\\d", quoted)


def said(part: Part) -> Iterator[Said]:
    """A line that begins with `$ hookgate` or another command of the shell; the `$` of a result has none of them."""
    starts = [n for n, line in enumerate(part.lines) if re.match(r"\$ (hookgate|printf|echo '|touch|chmod) ?", line)]
    for start, end in zip(starts, [*starts[1:], len(part.lines)], strict=True):
        yield Said(part.lines[start][2:], "\n".join(part.lines[start + 1 : end]))


WALKS = list(dict.fromkeys(part.mark.split()[1] for part in PAGE.marked("console")))


@pytest.fixture(scope="module")
def shims(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `hookgate` and `python3` as they are here."""
    folder = tmp_path_factory.mktemp("bin")
    put_hookgate(folder)
    (folder / "python3").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    (folder / "python3").chmod(0o755)
    return folder


def written(folder: Path, walk: str) -> Path:
    """The page's files of this walk."""
    for part in PAGE.marked("file"):
        _, of, name = part.mark.split()
        if of == walk:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(part.text)
    return folder


@with_and_without("bwrap")
async def test_the_first_commands_print_what_the_page_shows(tmp_path: Path, shims: Path) -> None:
    await walked("first", tmp_path, shims)


@pytest.mark.parametrize("walk", [walk for walk in WALKS if walk != "first"])
async def test_the_commands_print_what_the_page_shows(walk: str, tmp_path: Path, shims: Path) -> None:
    await walked(walk, tmp_path, shims)


async def walked(walk: str, tmp_path: Path, shims: Path) -> None:
    state = tmp_path / "state"
    folder = written(tmp_path / "here", walk)
    path = f"{shims}:{os.environ['PATH']}"
    env = {"PATH": path, "HOME": str(state), "XDG_STATE_HOME": str(state), "XDG_RUNTIME_DIR": str(state)}
    state.mkdir(mode=0o700)
    for part in PAGE.marked("console"):
        if part.mark.split()[1] != walk:
            continue
        for it in said(part):
            with trio.fail_after(DEADLINE_S):
                ended = await trio.run_process(["bash", "-c", it.command], cwd=folder, env=env, **PIPES)
            printed = "\n".join(_unlogged(ended.stdout.decode()))
            assert re.fullmatch(it.pattern.rstrip(), printed.rstrip()), f"$ {it.command}\n{printed}"


def _unlogged(printed: str) -> list[str]:
    """Log lines begin with their time."""
    return [line for line in printed.splitlines() if not re.match(r"\d{4}-\d\d-\d\d[ T]\d\d:", line)]


async def test_the_question_is_what_a_person_reads(tmp_path: Path) -> None:
    from hookgate.assembly.tools.dynamic import open_dynamic
    from hookgate.store import open_store
    from hookgate.tools.dynamic.asking import approval_text
    from hookgate.tools.dynamic.cell.cell import walls_note
    from hookgate.tools.registry import Registry

    part = PAGE.one("question")
    _, walk, name = part.mark.split()
    wish = json.loads((written(tmp_path, walk) / name).read_text())
    config = parse(f'[dynamic]\nenabled = true\nfolder = "{tmp_path}/made"', tmp_path / "hookgate.toml")
    with trio.fail_after(DEADLINE_S):
        async with (
            open_store(tmp_path / "store.db") as store,
            open_dynamic(config, Registry(), store) as workshop,
        ):
            asked = approval_text(workshop, ToolCall("1", "new_tool", wish))
            # Not every machine has the same walls.
            asked = asked.replace(walls_note(workshop.place.sandbox), part.lines[1])
    assert re.fullmatch(Said("", part.text.rstrip()).pattern, asked)


async def test_the_python_example_prints_what_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(PAGE.one("python").text)
    with trio.fail_after(DEADLINE_S):
        ended = await trio.run_process([sys.executable, "-P", "example.py"], cwd=tmp_path, capture_stdout=True)
    assert ended.stdout.decode() == PAGE.one("printed").text


@pytest.mark.parametrize(("name", "table"), [("tools", "commands"), ("mcp", "mcp-commands")])
def test_the_command_table_has_every_command_and_its_options(name: str, table: str) -> None:
    group: Any = hookgate.get_command(click.Context(hookgate), name)
    shown = {codes(row[0])[0].split()[2]: row[0] + row[1] for row in PAGE.one(table).rows}
    assert shown.keys() == group.commands.keys()
    for command, words in shown.items():
        known = {option for parameter in group.commands[command].params for option in parameter.opts}
        assert set(re.findall(r"--[a-z]+", words)) <= known


# --- configuration --------------------------------------------------------------------------------------------


def parsed(part: Part) -> Config:
    return parse(part.text, Path("docs/tools.md"))


@pytest.mark.parametrize("part", [part for part in PAGE.parts if part.language == "toml"], ids=lambda it: it.mark)
def test_every_configuration_is_one_that_hookgate_takes(part: Part) -> None:
    assert parsed(part).model_fields_set


def whole(section: BaseModel) -> bool:
    """Whether every key of it stands on the page."""
    return section.model_fields_set == type(section).model_fields.keys()


@pytest.mark.parametrize("part", PAGE.marked("usual"), ids=lambda part: part.mark)
def test_the_usual_values_are_the_codes_and_complete(part: Part) -> None:
    config = parsed(part)
    assert config == Config()
    assert whole(getattr(config, part.mark.split()[1]))
    if part.mark.endswith("guards"):
        assert [name for name in GuardsSection.model_fields if not whole(getattr(config.guards, name))] == []


def test_a_question_looks_as_it_is_shown() -> None:
    command = "make test && cp build/report.txt /tmp/report-of-the-last-run-in-this-workspace.txt"
    call = ToolCall("1", "bash", {"command": command})
    request = ApprovalRequest(
        *("5f1d8c3ab0e94726", Chat("cli", "terminal"), call, "rule:shell", "Run bash?", "", (), 600.0),
        "18e3ba2d21e6" + 52 * "0",
    )
    asked = asking(request)
    assert PAGE.one("asking").lines == (*asked.text((64, 24)).splitlines(), asked.prompt)


def test_a_rule_names_every_key() -> None:
    (rule,) = parsed(PAGE.one("approvals")).approvals
    assert rule.model_fields_set == ApprovalSection.model_fields.keys()
    assert rule.ttl_s == ApprovalSection.model_fields["ttl_s"].default


def test_the_servers_name_every_key_with_its_usual_value() -> None:
    mcp = parsed(PAGE.one("servers")).mcp
    assert mcp.model_fields_set == McpDefaults.model_fields.keys()
    given = {name: value for it in mcp.servers.values() for name, value in it.model_dump(exclude_unset=True).items()}
    assert given.keys() == McpSection.model_fields.keys()
    for name in ("required", "enabled", "connect_timeout_ms", "timeout_ms", "allow_private", "pure"):
        assert given[name] == McpSection.model_fields[name].default, name


# --- tables ---------------------------------------------------------------------------------------------------


@pytest.fixture
async def specs(tmp_path: Path) -> dict[str, ToolSpec]:
    async with background.open_background(tmp_path) as room:
        sandbox = Sandbox("none", tmp_path, tmp_path, "")
        tools = builtin_tools(Parts(Workspace(tmp_path), sandbox, {}, room))
        return {tool.spec.name: tool.spec for tool in tools}


def _arguments(spec: ToolSpec) -> list[str]:
    required: Any = spec.parameters.get("required", [])
    properties: Any = spec.parameters["properties"]
    return [name if name in required else f"{name}?" for name in properties]


async def test_the_built_in_tools_are_those_of_the_table(specs: dict[str, ToolSpec]) -> None:
    rows = {codes(row[0])[0]: row for row in PAGE.one("builtin").rows}
    assert list(rows) == list(specs)
    for name, spec in specs.items():
        flags = [word for word, is_set in (("read-only", spec.read_only), ("pure", spec.pure)) if is_set]
        assert (codes(rows[name][1]), rows[name][2]) == (_arguments(spec), ", ".join(flags)), name


def test_the_kinds_of_failures_are_those_of_the_table() -> None:
    shown = {codes(row[0])[0]: row[2] for row in PAGE.one("kinds").rows}
    assert shown == dict(HINTS)


@pytest.mark.parametrize("part", PAGE.marked("effect"), ids=lambda part: part.lines[0][:20])
def test_an_effect_is_one_that_hookgate_writes(part: Part) -> None:
    shown = json.loads(part.text)
    (effect,), wrong = read_effects([shown])
    assert wrong == ()
    assert json.loads(encode({**effect_members(effect), "source": shown["source"]})) == shown


@pytest.mark.parametrize("row", PAGE.one("repair").rows, ids=lambda row: row[0])
def test_a_step_reads_what_the_page_says(row: list[str]) -> None:
    step, example, read_as = codes(row[0])[0], *[codes(cell) for cell in row[2:]]
    given, expected = ('{"a": "x\ty"}', {"a": "x\ty"}) if step == "ctrl" else (example[0], json.loads(read_as[0]))
    found = decode_arguments(given)
    assert (found.step, found.value) == (step, expected)


@pytest.mark.parametrize("row", PAGE.one("extract").rows, ids=lambda row: row[0])
def test_a_call_in_text_counts_where_the_page_says(row: list[str]) -> None:
    text_said = codes(row[0])[0]
    counts = [len(extract_calls(text_said, {"ls"}, mode).calls) for mode in get_args(Mode)]
    assert counts == [int(cell) for cell in row[1:]]


def test_the_guards_are_those_of_the_table_with_their_usual_modes() -> None:
    shown = {codes(row[0])[0]: codes(row[2])[0] for row in PAGE.one("guards").rows}
    assert shown == {name: getattr(Config().guards, name).mode for name in GuardsSection.model_fields}


@pytest.mark.parametrize("row", PAGE.one("shell").rows, ids=lambda row: row[0])
def test_the_shell_policy_decides_what_the_page_says(row: list[str]) -> None:
    for profile, shown in zip(("relaxed", "standard", "read_only"), row[1:], strict=True):
        refusal = judge(codes(row[0])[0], profile)
        assert (f"`{refusal.rule}`" if refusal else "runs") == shown, profile


@pytest.mark.parametrize("row", PAGE.one("redaction").rows, ids=lambda row: row[0])
def test_a_secret_becomes_what_the_page_says(row: list[str]) -> None:
    redacted = Redactor(()).text(codes(row[1])[0])
    assert re.sub(r"\[REDACTED:\w{4}\]", "[REDACTED]", redacted) == codes(row[2])[0]


def test_the_states_are_those_of_the_catalog() -> None:
    assert {codes(row[0])[0] for row in PAGE.one("states").rows} == set(get_args(RowState))


def test_the_limits_are_those_of_the_code() -> None:
    numbers = [
        *(text.MAX_BYTES, text.MAX_LINES, bounds.MAX_BYTES, bounds.MAX_DEPTH, schema_spec.MAX_DESCRIPTION_BYTES),
        *(schema.MAX_SCHEMA_BYTES, TOOL_TIMEOUT_S, bash.DEFAULT_TIMEOUT_S, bash.MAX_TIMEOUT_S),
        *(bash_output.MAX_WAIT_S, background.MAX_PER_SESSION, background.MAX_IN_ALL, lease.PATIENCE_S),
        *(read.MAX_PICTURE_BYTES, edit.MAX_FILE_BYTES, grep.DEFAULT_RESULTS, grep.MAX_RESULTS, glob.DEFAULT_RESULTS),
        *(fetch.MAX_BODY_BYTES, fetch.MAX_REDIRECTS),
        *(memo.MAX_ENTRIES, memo.MAX_TURN_BYTES, memo.MAX_ENTRY_BYTES, memo.MAX_BYTES, memo.MAX_AGE_S),
        *(tree.MAX_BYTES, draft.MAX_BODY_BYTES, identity.CALL_TIMEOUT_S, identity.START_TIMEOUT_S),
        *(made.MAX_RESULT_BYTES, folder.MAX_FOLDER_BYTES, folder.MAX_FOLDER_FILES),
        *(connections.MAX_CONNECTIONS, listing.MAX_TOOLS, results.MAX_TEXT_BYTES),
        *(results.MAX_MEDIA_BYTES, results.MAX_MEDIA, notices.PER_S, notices.MAX_BYTES, MIN_CHARS),
    ]
    assert [int(row[1]) for row in PAGE.one("limits").rows] == numbers
    assert (made.MAX_RESULT_BYTES, results.MAX_TEXT_BYTES) == (once.MAX_OUTPUT_BYTES, results.MAX_DATA_BYTES)

"""docs/migrate.md keeps its word: its file becomes its table, and its tables name what the code knows."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

from hookgate.claude.settings import OBSERVED, STAGES
from hookgate.claude.tools import names_of
from hookgate.cli.migrate.picoclaw import Builtin, Defaults, Hooks, Process
from tests.cli.program import run
from tests.docs.page import codes, read_page

PAGE = read_page(Path(__file__).parents[2] / "docs" / "migrate.md")


async def test_the_commands_print_what_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(PAGE.one("file").text)
    (tmp_path / "config.json").write_text(json.dumps({"hooks": {"processes": {}}}))
    commands = [part.lines[0].removeprefix("$ hookgate ").partition("#")[0] for part in PAGE.marked("")]
    picoclaw, claude, zot = (command.split() for command in commands)
    done = await run(tmp_path, *picoclaw[:2], "config.json")
    assert (picoclaw[:2], done.returncode) == (["migrate", "picoclaw"], 0)
    migrated = await run(tmp_path, *claude)
    assert migrated.stderr.decode().startswith(PAGE.one("told").text)
    printed = migrated.stdout.decode()
    shown = PAGE.one("config").text.replace("PYTHON", sys.executable).replace("FOLDER", str(tmp_path))
    assert tomllib.loads(printed) == tomllib.loads(shown)
    # To zot the members of that file are unknown ones.
    models = (await run(tmp_path, *zot[:2], str(tmp_path))).stdout.decode()
    assert (zot, tomllib.loads(models)["agent"]["model"].partition("/")[0]) == (
        ["migrate", "zot", ">", "hookgate.toml"],
        "anthropic",
    )


async def test_zots_two_files_become_what_the_page_shows(tmp_path: Path) -> None:
    for part in PAGE.marked("zot"):
        (tmp_path / part.mark.removeprefix("zot ")).write_text(part.text)
    printed = (await run(tmp_path, "migrate", "zot", str(tmp_path))).stdout.decode()
    assert tomllib.loads(printed) == tomllib.loads(PAGE.one("taken").text)


async def test_the_file_of_picoclaw_becomes_what_the_page_shows_and_its_keys_are_those_that_are_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "config.json").write_text(PAGE.one("picoclaw-file").text)
    printed = (await run(tmp_path, "migrate", "picoclaw", "config.json")).stdout.decode()
    shown = PAGE.one("picoclaw-config").text.replace("FOLDER", str(tmp_path))
    assert tomllib.loads(printed) == tomllib.loads(shown)
    read = {
        "hooks": Hooks,
        "hooks.defaults": Defaults,
        "hooks.builtins.NAME": Builtin,
        "hooks.processes.NAME": Process,
    }
    named = {codes(row[0])[0]: {*codes(row[1])} - {"stdio"} for row in PAGE.one("picoclaw-keys").rows}
    assert named == {place: {*block.model_fields} for place, block in read.items()}


def test_the_tables_name_the_events_and_the_tools() -> None:
    events = set[str]()
    for part in PAGE.marked("table"):
        for row in part.rows:
            names, others = codes(row[0]), codes(row[1])
            if part.mark == "table events":
                events |= {*names}
                for name in names:
                    assert others == ([*STAGES[name]] if name in STAGES else [OBSERVED[name]])
            elif "SERVER__TOOL" in names:
                assert names_of("SERVER__TOOL")[0] == others[0]
            else:
                assert {names_of(name)[0] for name in names} <= {*others}
    assert events == STAGES.keys() | OBSERVED.keys()

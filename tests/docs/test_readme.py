"""The README and the pages that hold its long forms keep their word: blocks parse, the hook works, commands exist."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

from hookgate.config import parse
from hookgate.sections import Config
from tests.cli.program import PROMPT, configured, environment, open_pipes, run
from tests.docs.page import anchor, codes, read_page
from tests.preloaded.running import ran

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CONFIGURATION = read_page(ROOT / "docs" / "configuration.md")
LONG = {name: (ROOT / "docs" / name).read_text() for name in ("configuration.md", "security.md")}


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def commands() -> list[list[str]]:
    """Each once, in consoles, in a sentence and in the table of commands."""
    text = "\n".join([README, *LONG.values()])
    lines = [line[2:] for block in blocks("console", text) for line in block.splitlines() if line.startswith("$ ")]
    spoken = re.findall(r"`(hookgate [a-z][^`|]*)`", text)
    tabled = [f"hookgate {name}" for name in re.findall(r"`([^`]+)`(?=[^|]*\|[^|]*\|$)", section("Commands"), re.M)]
    unique = dict.fromkeys([*lines, *spoken, *tabled])
    return [shlex.split(" ".join(line.split()), comments=True) for line in unique]


def section(title: str) -> str:
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def first_configuration() -> str:
    (block,) = blocks("toml", section("Configuration"))
    return block


def test_it_can_be_read_in_one_sitting_and_so_can_its_first_configuration() -> None:
    assert len(README.splitlines()) <= 250
    assert len(first_configuration().splitlines()) <= 25


@pytest.mark.parametrize("block", [*blocks("toml"), *blocks("toml", CONFIGURATION.text)])
def test_every_configuration_block_is_one_that_hookgate_takes(block: str) -> None:
    config = parse(block, Path("README.md"))
    assert config.hooks.processes


def test_the_first_configuration_is_fine_in_the_folder_that_init_has_made(tmp_path: Path) -> None:
    for line in ("init", "config check"):
        assert f"$ hookgate {line}" in blocks("console", CONFIGURATION.text)[0]
        done = ran(*line.split(), cwd=tmp_path, env={**environment(tmp_path), "OPENAI_API_KEY": "a key"})
        assert done.returncode == 0, done.stderr
        (tmp_path / "hookgate.toml").write_text(first_configuration())
    assert "/hookgate.toml: fine. Model openai/gpt-5-mini, 1 hook, 1 approval rule." in done.stdout


def test_the_long_configuration_and_the_table_below_it_have_every_section() -> None:
    written = tomllib.loads(blocks("toml", CONFIGURATION.text)[0])
    tabled = [name for row in CONFIGURATION.one("sections").rows for name in codes(row[0])]
    assert sorted(written) == sorted(tabled) == sorted(Config.model_fields)


async def test_what_can_be_asked_of_a_running_gateway_is_what_the_page_says(tmp_path: Path) -> None:
    asked = re.findall(r"^\$ hookgate control (\S+)", CONFIGURATION.text, re.M)
    configured(tmp_path, "http://127.0.0.1:9/v1")
    file, socket = tmp_path / "hookgate.toml", tmp_path / "s"
    file.write_text(file.read_text().replace("enabled = false", f'path = "{socket}"', 1))
    async with open_pipes(tmp_path, "chat") as screen:
        await screen.sees(PROMPT)
        about = await run(tmp_path, "control", "gateway.about", "--control", str(socket))
        await screen.type("/quit\n")
        assert await screen.ends() == 0
    assert set(asked) <= set(json.loads(about.stdout)["methods"])


def test_the_ten_line_hook_runs_and_denies_in_an_empty_folder(tmp_path: Path) -> None:
    text = section("A hook in ten lines")
    (source,), (table,) = blocks("python", text), blocks("toml", text)
    assert len([line for line in source.splitlines() if line.strip()]) <= 10
    spoken = [" ".join(line.split()) for line in re.findall(r"`(hookgate [^`]+)`", text)]
    assert [line.split()[1:3] for line in spoken] == [["init", "--sdk"], ["hooks", "check"]]
    folder = tmp_path / "empty"
    folder.mkdir()
    typed(folder, spoken[0])
    (folder / "hooks" / "no_rm.py").write_text(source)
    with (folder / "hookgate.toml").open("a") as file:
        file.write(table)
    assert "FAIL" not in typed(folder, spoken[1])
    assert "fine. Model openai/gpt-5-mini, 2 hooks" in typed(folder, "hookgate config check")
    steps = [{"calls": [{"name": "bash", "arguments": {"command": "rm -rf notes"}}]}, {"text": "As you wish."}]
    (folder / "script.json").write_text(json.dumps({"steps": steps}))
    with (folder / "hookgate.toml").open("a") as file:
        file.write('[providers.script]\nkind = "scripted"\nscript = "script.json"\n')
    assert "rm -rf is not allowed here" in typed(folder, "hookgate chat --trace --model script/m --once go")


def typed(folder: Path, line: str) -> str:
    """What is shown where a person types the line in the folder."""
    env = {**environment(folder.parent), "OPENAI_API_KEY": "a key"}
    done = ran(*shlex.split(line)[1:], cwd=folder, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_its_commands_are_found_on_the_path_that_it_sets() -> None:
    (export,) = re.findall(r"^\$ (export PATH=\S+)", README, re.M)
    found = subprocess.run(["sh", "-c", f"{export}; command -v hookgate"], cwd=ROOT, env={"PATH": "/bin"})
    assert found.returncode == 0
    assert ".venv/" not in README.replace(export, "")


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_it_names_exists(command: list[str]) -> None:
    program = Path(command[0]).name
    if program == "make":
        run = subprocess.run(["make", "-n", *command[1:]], cwd=ROOT, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        return
    if program == "export":
        return
    assert program == "hookgate"
    words = [word for word in command[1:] if not word.startswith("-") and word.islower() and word.isalpha()]
    run = ran(*words[:2], "--help", cwd=ROOT)
    assert run.returncode == 0, run.stderr
    for option in (word for word in command if word.startswith("--") and word != "--"):
        assert option in run.stdout


def test_the_files_it_points_to_are_there() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize("name", LONG)
def test_every_link_of_a_page_leads_to_a_heading_that_is_there(name: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#([^)]+))?\)", LONG[name])
    assert links
    for page, heading in links:
        headings = read_page(ROOT / "docs" / page).headings
        assert not heading or heading in [anchor(it) for it in headings], (page, heading)


def test_the_commands_table_names_every_command() -> None:
    listed = ran("--help").stdout
    for name in re.findall(r"^  ([a-z]+)  ", listed, re.M):
        assert re.search(rf"\b{name}\b", README), name

"""What the pages beside the SDKs and examples show runs as it stands there."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
import trio

from tests.examples.zot_host import argv, open_ready, texts
from tests.gotool import run_go

ROOT = Path(__file__).parents[2]
PAGES = ["plugins/python/extensions", "plugins/go/extension", "examples/rpc", "examples/extensions/notes"]


def block(page: str, language: str) -> str:
    text = (ROOT / page / "README.md").read_text()
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


async def test_the_python_page_is_an_extension(tmp_path: Path) -> None:
    city = tmp_path / "city"
    city.mkdir()
    (city / "city.py").write_text(block("plugins/python/extensions", "python"))
    (city / "extension.json").write_text(block("plugins/python/extensions", "json"))
    copied = block("plugins/python/extensions", "console").removeprefix("$ ").replace("/where/hookgate", str(ROOT))
    with trio.fail_after(60):
        await trio.run_process(shlex.split(copied), cwd=tmp_path)
    _, *rest = argv(city)
    async with open_ready([sys.executable, *rest], city) as host:
        assert texts(await host.tool("weather", city="Bergen")) == ["sunny in Bergen"]
        assert (await host.command("weather", "Bergen"))["prompt"] == "How is the weather in Bergen?"
        assert (await host.bash("rm -rf /"))["reason"] == "rm -rf is not allowed here"
        assert await host.bash("ls") == {}


async def test_the_go_page_is_an_extension(tmp_path: Path) -> None:
    (tmp_path / "main.go").write_text(block("plugins/go/extension", "go"))
    needs = f"require hookgate.internal/plugin v0.0.0\n\nreplace hookgate.internal/plugin => {ROOT}/plugins/go\n"
    (tmp_path / "go.mod").write_text(f"module guard\n\ngo 1.21\n\n{needs}")
    run_go("build", "-o", "guard", ".", cwd=tmp_path)
    async with open_ready([str(tmp_path / "guard")], tmp_path) as host:
        assert (await host.bash("rm -rf /"))["reason"] == "rm -rf is not allowed here"
        assert await host.bash("ls") == {}


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_is_there(page: str) -> None:
    text = (ROOT / page / "README.md").read_text()
    names = re.findall(r"`((?:\.\./)?[\w./-]+(?:/|\.(?:py|mjs|mts|sh)))`", text)
    # The files of hookgate that a page speaks of are named from the root or from the page's folder.
    missing = [name for name in names if not any((base / name).exists() for base in (ROOT / page, ROOT))]
    assert [name for name in missing if name not in ("hookgate_extension.py",)] == []


@pytest.mark.parametrize("folder", sorted((ROOT / "plugins/go/ext").glob("*/extension.json")))
def test_a_go_example_is_built_where_its_manifest_says(folder: Path) -> None:
    about = json.loads(folder.read_text())
    assert about["exec"] == f"./bin/{folder.parent.name}"

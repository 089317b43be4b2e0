"""docs/openai.md keeps its word: against a gateway that is configured as it says its commands print what it shows."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import trio

from hookgate.config import parse
from tests.docs.page import read_page
from tests.docs.test_journal_page import output
from tests.preloaded import put_hookgate
from tests.serve.gateway import configured, open_served

PAGE = read_page(Path(__file__).parents[2] / "docs" / "openai.md")
KEY = re.compile(r"hg_[\w-]{43}")
STEPS = [
    {"text": "Good day."},
    {"when": "Oslo", "calls": [{"name": "weather", "arguments": {"city": "Oslo"}}]},
    {"when": "-3", "on": "tool", "text": "It is -3 °C there."},
]
CALL = re.compile(r"call_[0-9a-f]{32}\w*")
CONFIGURATION = next(part.text for part in PAGE.parts if part.language == "toml")


@pytest.fixture
def curl() -> None:
    if shutil.which("curl") is None:
        pytest.skip("the page's commands are run by curl, which is not here")


def same(text: str) -> str:
    """Without what differs from run to run."""
    text = re.sub(r'"id":"chatcmpl-[^"]*"', '"id":"chatcmpl-..."', CALL.sub("call_...", KEY.sub("hg_...", text)))
    return re.sub(r'"created":\d+', '"created":0', text).strip()


async def test_the_commands_print_what_the_page_shows(curl: None, tmp_path: Path) -> None:
    settings = configured(tmp_path, CONFIGURATION, json.dumps({"steps": STEPS}))
    (tmp_path / "bin").mkdir()
    put_hookgate(tmp_path / "bin")
    with trio.fail_after(120):
        blocks = [part.text.removeprefix("$ ").partition("\n") for part in PAGE.marked("run")]
        command, _, shown = blocks[0]
        printed = await output(tmp_path, command)
        key = KEY.findall(printed)[0]
        calls = ["call_..."]
        assert same(printed) == same(shown)
        async with open_served(settings) as served:
            for command, _, shown in blocks[1:]:
                there = command.replace("127.0.0.1:8710", served.address).replace("$KEY", key)
                printed = await output(tmp_path, there.replace("call_...", calls[-1]))
                assert same(printed) == same(shown), command
                calls += CALL.findall(printed)


def test_every_key_that_it_names_is_one_that_hookgate_takes() -> None:
    whole = re.sub(r"^# (agents|on_disconnect|approval_wait_s)", r"\1", CONFIGURATION, flags=re.MULTILINE)
    section = parse(whole, Path("hookgate.toml")).channels["api"]
    plain = parse(CONFIGURATION, Path("hookgate.toml")).channels["api"]
    assert (section.on_disconnect, section.approval_wait_s) == (plain.on_disconnect, plain.approval_wait_s)
    assert section.agents == ("main", "support-*")

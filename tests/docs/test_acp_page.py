"""docs/acp.md: its settings start the agent, its configurations are taken, its table names what is answered."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from hookgate.protocol.acp.requests import CANCEL, METHODS
from hookgate.sections import Config
from tests.acp.editors import open_pipe, scripted
from tests.docs.page import codes, read_page
from tests.preloaded import preloaded

ROOT = Path(__file__).parents[2]
PAGE = read_page(ROOT / "docs" / "acp.md")


@pytest.mark.parametrize("settings", PAGE.marked("settings"), ids=lambda part: part.mark)
async def test_the_settings_of_an_editor_start_an_agent_with_that_configuration(
    settings: object, tmp_path: Path
) -> None:
    (server,) = json.loads(settings.text)["agent_servers"].values()  # type: ignore[attr-defined]
    folder = scripted(tmp_path, {"text": "Here."})
    (before, option, _config) = server["args"]
    assert (server["command"], before, option) == ("hookgate", "acp", "--config")
    async with open_pipe(tmp_path, command=(*preloaded(), before)) as pipe:
        session = await pipe.new(folder)
        assert (await pipe.answer(await pipe.prompt(session, "hi")))["result"] == {"stopReason": "end_turn"}


def test_what_it_says_of_methods_and_configurations_is_so() -> None:
    for part in PAGE.parts:
        if part.language == "toml":
            Config.model_validate(tomllib.loads(part.text))
    named = {code for part in PAGE.parts for row in part.rows if part.language == "table" for code in codes(row[0])}
    told = {name for name in named if name.startswith("session/")} - {"session/update", "session/request_permission"}
    assert told == {name for name in (*METHODS, CANCEL) if name.startswith("session/")} - {"session/set_mode"}

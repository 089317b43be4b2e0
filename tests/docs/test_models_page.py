"""docs/models.md keeps its word: its blocks are taken as they stand, and its defaults are those that hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hookgate.config import parse
from hookgate.providers.endpoint.patience import Deadlines
from hookgate.sections.agent import ProviderSection
from tests.docs.page import codes, read_page

PAGE = read_page(Path(__file__).parents[2] / "docs" / "models.md")
BLOCKS = [part.text for part in PAGE.parts if part.language == "toml"]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[0])
def test_every_configuration_block_is_one_that_hookgate_takes(block: str) -> None:
    assert parse(block, Path("models.md")).providers


def test_the_deadlines_are_those_of_the_table_and_of_the_block() -> None:
    shown = {codes(row[0])[0]: int(row[1]) for row in PAGE.one("deadlines").rows}
    section = ProviderSection(kind="openai")
    assert shown == {name: getattr(section, name) for name in shown}
    written = parse(BLOCKS[1], Path("models.md")).providers["slow"]
    assert shown == {name: getattr(written, name) for name in shown}
    usual = Deadlines()
    seconds = (usual.first_token_s, usual.idle_s, usual.total_s)
    assert [it * 1000 for it in seconds] == [shown[f"{name}_timeout_ms"] for name in ("first_token", "idle", "total")]
    assert usual.least_rate == shown["least_rate"]


def test_every_key_of_a_deadline_is_in_the_table() -> None:
    keys = {name for name in ProviderSection.model_fields if re.search(r"timeout|rate", name)}
    assert keys == {codes(row[0])[0] for row in PAGE.one("deadlines").rows}

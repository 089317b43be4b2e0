"""docs/doctor.md keeps its word: its groups are those there are, its commands exist, its row is a row."""

from __future__ import annotations

import json
import re
from pathlib import Path

from click.testing import CliRunner

from hookgate.cli.doctor.finding import note
from hookgate.cli.doctor.printing import members
from hookgate.cli.doctor.run import GROUPS
from hookgate.cli.main import hookgate

PAGE = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text()


def test_every_group_has_its_row_in_the_order_in_which_they_are_printed() -> None:
    assert re.findall(r"^\| `([^`]+)` \|", PAGE, re.M) == ["configuration", *GROUPS]


def test_a_row_has_the_members_of_a_finding() -> None:
    (text,) = re.findall(r"^```json\n(.*?)^```", PAGE, re.M | re.S)
    row = json.loads(text)
    found = note(row["subject"], row["what"], row["remedy"])
    assert members([(row["group"], [found])]) == {"passed": True, "findings": [row]}


def test_every_option_that_it_names_is_one() -> None:
    shown = CliRunner().invoke(hookgate.commands["doctor"], ["--help"]).output
    named = set(re.findall(r"--[a-z]+", PAGE))
    assert named
    assert all(option in shown for option in named)

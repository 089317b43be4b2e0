"""docs/skills.md keeps its word: commands print what it shows, tables and numbers are the code's."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.assembly import context_files
from hookgate.assembly.tools.skills import PROJECT_FOLDERS
from hookgate.config import parse
from hookgate.sections.skills import SkillsSection
from hookgate.skills import shelf, skill
from hookgate.tools import text
from hookgate.tools.schema.spec import MAX_DESCRIPTION_BYTES
from tests.docs.page import anchor, codes, read_page
from tests.preloaded import put_hookgate

ROOT = Path(__file__).parents[2]
PAGE = read_page(ROOT / "docs" / "skills.md")
DEADLINE_S = 60.0
PIPES: dict[str, Any] = {"check": False, "capture_stdout": True, "stderr": subprocess.STDOUT}
KIB = 1024


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose folder `work` holds the page's files; `hookgate` is in its `bin`."""
    (tmp_path / "bin").mkdir()
    put_hookgate(tmp_path / "bin")
    for part in PAGE.marked("file"):
        path = tmp_path / "work" / part.mark.split()[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(part.text)
    return tmp_path


async def test_the_commands_print_what_the_page_shows(home: Path) -> None:
    env = {"PATH": f"{home / 'bin'}:{os.environ['PATH']}", "HOME": str(home), "XDG_RUNTIME_DIR": str(home)}
    for part in PAGE.marked("run"):
        for block in re.split(r"^\$ ", part.text, flags=re.MULTILINE)[1:]:
            command, _, shown = block.partition("\n")
            with trio.fail_after(DEADLINE_S):
                ended = await trio.run_process(["sh", "-c", command], cwd=home / "work", env=env, **PIPES)
            assert ended.stdout.decode() == shown, command


def test_the_system_message_is_as_shown(home: Path) -> None:
    context = context_files.read_context(home / "work")
    assert f"You are a helpful assistant.\n\n{context.text}\n" == PAGE.one("system").text


def test_the_configuration_is_taken_and_names_every_key(tmp_path: Path) -> None:
    given = tomllib.loads(PAGE.one("toml").text)
    assert set(given["skills"]) == set(SkillsSection.model_fields)
    config = parse(PAGE.one("toml").text, tmp_path / "hookgate.toml")
    assert (config.skills, config.agent.context_files) == (SkillsSection(enabled=True), True)


def test_the_projects_places_stand_in_their_order() -> None:
    rows = [codes(row[0]) for row in PAGE.one("places").rows]
    assert rows[1] == [f"{folder}/*" for folder in PROJECT_FOLDERS]


def test_the_limits_are_the_codes() -> None:
    limits = {row[0]: row[1] for row in PAGE.one("limits").rows}
    expected = {
        "a `SKILL.md`": f"{skill.MAX_BYTES // KIB} KiB, its head {skill.MAX_HEAD_BYTES // KIB} KiB; "
        f"of its text a model gets what it gets of any result, {text.MAX_BYTES // KIB} KiB",
        "skills": f"{shelf.MAX_SKILLS}",
        "names in one place": f"{shelf.MAX_ENTRIES}",
        "the list in the tool's description": f"{MAX_DESCRIPTION_BYTES // KIB} KiB;",
        "a context file": f"{context_files.MAX_FILE_BYTES // KIB} KiB;",
        "context files together": f"{context_files.MAX_BYTES // KIB} KiB",
    }
    assert limits.keys() == expected.keys()
    assert {what for what, shown in limits.items() if not shown.startswith(expected[what])} == set()


def test_its_links_lead_somewhere_and_every_block_is_used() -> None:
    assert set(PAGE.links) <= {anchor(heading) for heading in PAGE.headings}
    files = re.findall(r"\]\(([^)#]+)[)#]", PAGE.text)
    assert [name for name in files if not (ROOT / "docs" / name).exists()] == []
    used = {"file", "run", "system", "toml"}
    assert {part.kind for part in PAGE.parts if part.language != "table"} == used

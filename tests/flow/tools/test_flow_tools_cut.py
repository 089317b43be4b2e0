"""A secret that stands where a tool cuts its own output leaves no half of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.flow.tools.test_flow_tools_secrets import SECRET
from tests.flow.tools.tooling import open_rig
from tests.model_server import calls, says

KIB = 1024
CUT = {
    "bash": ("bash", '{"command": "cat long.txt"}', "z" * (50 * KIB - 20)),
    "read": ("read", '{"path": "long.txt"}', "z" * (50 * KIB - 20)),
    "grep": ("grep", '{"pattern": "needle"}', f"needle{'z' * 476}"),
}


@pytest.mark.parametrize("name", CUT)
async def test_a_secret_where_a_tool_cuts_its_own_output_leaves_no_half(tmp_path: Path, name: str) -> None:
    tool, arguments, before = CUT[name]
    (tmp_path / "long.txt").write_text(f"{before}{SECRET}{'y' * 60_000}")
    replies = (calls(("1", tool, arguments)), says("x"))
    async with open_rig(tmp_path, replies, secrets=(SECRET,)) as rig:
        await rig.say("go")
        assert "zzzz" in rig.results()[0]
        assert SECRET[:8] not in rig.results()[0]

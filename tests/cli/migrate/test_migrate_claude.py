"""`migrate claude` prints a hook that hookgate starts and that denies what the commands block."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from hookgate.assembly.keeping.kept import Keeping
from hookgate.config import parse
from tests.cli.program import configured, run
from tests.model_server import calls, open_model_server, says

COMMAND = '"$CLAUDE_PROJECT_DIR"/.claude/guard.sh'
SETTINGS = {
    "permissions": {"allow": ["Bash"], "deny": ["Bash(curl:*)", "Read(.env)"]},
    "env": {"TOKEN": "a-secret"},
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [
                    {"type": "command", "command": COMMAND, "timeout": 7, "if": "Bash(rm *)"},
                    {"type": "prompt", "prompt": "Is that wise?"},
                ],
            }
        ],
        "PreCompact": [{"hooks": [{"type": "command", "command": "true"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "true"}]}],
    },
}
GUARD = """#!/bin/sh
if grep -q 'rm -rf'; then echo 'not that' >&2; exit 2; fi
"""


def project(folder: Path) -> None:
    (folder / ".claude").mkdir()
    (folder / ".claude/settings.json").write_text(json.dumps(SETTINGS))
    (folder / ".claude/guard.sh").write_text(GUARD)
    (folder / ".claude/guard.sh").chmod(0o755)


async def test_the_printed_hook_denies_in_a_chat_what_its_command_blocks(tmp_path: Path) -> None:
    project(tmp_path)
    ended = await run(tmp_path, "migrate", "claude")
    section = parse(ended.stdout.decode(), Path("hookgate.toml")).hooks.processes["claude"]
    assert section.intercept == ("before_tool", "approve_tool")
    assert section.timeout_ms == {"before_tool": 12_000, "approve_tool": 12_000}
    assert section.policy(section.intercept[0]) == "deny"
    assert section.env == {"CLAUDE_PROJECT_DIR": str(tmp_path)}
    notices = ended.stderr.decode().splitlines()
    for notice in (
        "hooks.PreToolUse[0].hooks[1]: left out, type 'prompt' is no command; nothing that it should judge is judged",
        "hooks.PreToolUse[0].hooks[0].if: left out, it runs for every call that its matcher covers",
        "hooks.PreCompact: left out, nothing here is like it",
        "where Claude Code goes on",
        "permissions.deny (Bash(curl:*), Read(.env)): left out, so nothing of it is denied here: a guard that",
        "permissions.allow (Bash): left out, ",
        "env: left out, only `hooks` is carried over",
    ):
        assert sum(notice in line for line in notices) == 1, notice
    assert b"a-secret" not in ended.stderr
    wanted = calls(("1", "bash", '{"command": "rm -rf x"}'), ("2", "bash", '{"command": "echo hello"}'))
    async with open_model_server(wanted, says("Done.")) as server:
        configured(tmp_path, server.base_url, ended.stdout.decode())
        done = await run(tmp_path, "chat", "--once", "go")
    assert done.stdout == b"Done.\n"
    results = [it["content"] for it in server.requests[-1].body["messages"] if it["role"] == "tool"]
    assert results[0] == "Tool execution denied by hook: not that"
    assert "hello" in results[1]


async def test_the_scripts_of_its_commands_are_kept_from_tools(tmp_path: Path) -> None:
    scripts = ["scripts/a.sh", "more/b", "c.py", "d d/e.sh"]
    for name in scripts:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    commands = [
        'sh "$CLAUDE_PROJECT_DIR"/scripts/a.sh && true',
        "cd more; ./b",
        "RULES=x python3 ${CLAUDE_PROJECT_DIR:-.}/c.py",
        """bash -c "sh 'd d/e.sh'" """,
        "jq -e .x",
        f"echo '{'x' * 90}';\ttrue",
    ]
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": it} for it in commands]}]}
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(json.dumps({"hooks": hooks}))
    ended = await run(tmp_path, "migrate", "claude")
    (tmp_path / "hookgate.toml").write_bytes(ended.stdout)
    config = parse(f'{ended.stdout.decode()}[agent]\nworkspace = "{tmp_path}"\n', tmp_path / "hookgate.toml")
    kept = Keeping(config, tmp_path / "hookgate.toml")()
    assert [name for name in scripts if not kept.covers(tmp_path / name)] == []
    assert not kept.covers(tmp_path / "src/x.py")
    assert [it for it in ended.stderr.decode().splitlines() if "names no file" in it] == [
        f"notice: `{command}` names no file that is there: a script that it runs is not kept from tools, unless its "
        "name is added to the hook's `command` or to tools.kept"
        for command in ("jq -e .x", f"echo '{'x' * 74}…")
    ]


async def test_a_guard_that_is_gone_denies(tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / "hookgate.toml").write_bytes((await run(tmp_path, "migrate", "claude")).stdout)
    shutil.rmtree(tmp_path / ".claude")
    ended = await run(tmp_path, "hooks", "try", "claude")
    assert (ended.returncode, b"so its on_failure counts: denied" in ended.stdout) == (1, True)


async def test_a_file_of_which_nothing_can_be_carried_over_is_refused(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"hooks": {"PreCompact": []}}')
    ended = await run(tmp_path, "migrate", "claude", "settings.json")
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr.decode().startswith(
        "hookgate: settings.json: no command in it can be carried over: hooks.PreC"
    )
    (tmp_path / "settings.json").write_text('{"permissions": {"deny": ["Read(.env)"]}, "model": "m"}')
    ended = await run(tmp_path, "migrate", "claude", "settings.json")
    assert (ended.returncode, ended.stdout) == (2, b"")
    refusal = ended.stderr.decode()
    assert "no `hooks` object, so nothing is carried over; permissions.deny (Read(.env)): left out, " in refusal
    assert "a guard that is left out guards nothing; model: left out" in refusal

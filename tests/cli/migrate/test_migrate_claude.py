"""`migrate claude` prints a hook that hookgate starts and that denies what the commands block."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from hookgate.assembly.keeping.kept import Keeping
from hookgate.config import BASE_ENVIRONMENT, parse
from tests.cli.program import configured, run
from tests.model_server import calls, open_model_server, says

SET_THERE = {"PWD", "SHLVL", "_", "OLDPWD", "LC_CTYPE"}
"""Variables that a shell, or Python, sets itself."""
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


async def test_a_file_of_a_workspace_elsewhere_is_the_one_that_a_guard_judges(tmp_path: Path) -> None:
    place, work = tmp_path / "place", tmp_path / "work"
    (place / ".claude").mkdir(parents=True)
    work.mkdir()
    command = f"grep -q '\"{work}/.env\"' && exit 2; exit 0"
    groups = [{"matcher": "Write", "hooks": [{"type": "command", "command": command}]}]
    (place / ".claude/settings.json").write_text(json.dumps({"hooks": {"PreToolUse": groups}}))
    printed = (await run(place, "migrate", "claude")).stdout.decode()
    wanted = calls(
        ("1", "write", '{"path": ".env", "content": "x"}'), ("2", "write", '{"path": "a", "content": "x"}')
    )
    async with open_model_server(wanted, says("Done.")) as server:
        configured(place, server.base_url, printed)
        await run(work, "chat", "--config", str(place / "hookgate.toml"), "--once", "go")
    assert ((work / "a").exists(), (work / ".env").exists()) == (True, False)


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
        f"echo '{'x' * 90}';\ttrue",
        "jq -e .x",
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
    lines = [it.removeprefix("carried over: PreToolUse: ") for it in ended.stderr.decode().splitlines()]
    at = " at before_tool, approve_tool"
    told = [f"`{it.strip()}`{at}; kept from tools: {name}" for it, name in zip(commands, scripts, strict=False)]
    assert lines[:6] == [*told, f"`echo '{'x' * 74}…`{at}", f"`jq -e .x`{at}"]
    assert sum("kept from tools only where its line above says so" in it for it in lines) == 1


async def told(folder: Path, **members: object) -> list[str]:
    """What stands on stderr."""
    (folder / "settings.json").write_text(json.dumps(members))
    return (await run(folder, "migrate", "claude", "settings.json")).stderr.decode().splitlines()


def commands(*given: str, **more: object) -> list[dict[str, object]]:
    return [{"type": "command", "command": it, **more} for it in given]


async def test_each_hook_is_a_line_and_what_is_said_of_several_things_is_said_once(tmp_path: Path) -> None:
    formatters = commands("ruff format .", "gofmt -w .", "make lint", "npx eslint .", statusMessage="Formatting")
    hooks = {
        "PostToolUse": [{"matcher": "Edit|Write", "hooks": formatters}],
        "UserPromptSubmit": [{"hooks": commands("true", **{"async": True})}],
        "Stop": [{"hooks": commands("notify-send done")}],
        "Notification": [{"hooks": commands("notify-send wait")}],
        "SessionStart": [{"hooks": commands("date")}],
        "PreCompact": [{"hooks": commands("date")}],
    }
    rules = [f"Bash(npm run {n}:*)" for n in range(8)]
    permissions = {"allow": rules, "deny": rules}
    lines = await told(tmp_path, permissions=permissions, model="m", env={"A": "b"}, hooks=hooks)
    shown = ", ".join(rules)
    places = [f"hooks.PostToolUse[0].hooks[{n}].statusMessage" for n in range(3)]
    assert lines == [
        *(f"carried over: PostToolUse Edit|Write: `{it['command']}` at after_tool" for it in formatters),
        "carried over: UserPromptSubmit: `true` at on_message, not waited for",
        "carried over: Stop: `notify-send done` at turn_end, and what it says has no effect",
        "carried over: Notification: `notify-send wait` at approval_requested, and what it says has no effect",
        f"notice: permissions.allow ({', '.join(rules[:6])} and 2 more): left out, what runs without being asked "
        "about is what no [[approvals]] rule covers here",
        f"notice: permissions.deny ({shown}): left out, so nothing of it is denied here: a guard that is left out "
        "guards nothing",
        "notice: model, env: left out, only `hooks` is carried over",
        f"notice: {', '.join(places)} and 1 more: left out, nothing shows it",
        "notice: hooks.SessionStart, hooks.PreCompact: left out, nothing here is like it",
        *lines[-3:],
    ]
    assert [it.partition(" ")[2][:20] for it in lines[-3:]] == [
        "at UserPromptSubmit ",
        "a script that a comm",
        "commands see no tran",
    ]


async def test_arguments_of_a_program_are_carried_over_and_what_nobody_knows_is_named(tmp_path: Path) -> None:
    (tmp_path / "my guard.py").write_text("")
    given = [
        {"type": "command", "command": "python3", "args": ["my guard.py"], "onFailure": "block"},
        {"type": "command", "command": "python3", "args": "my guard.py"},
    ]
    lines = await told(tmp_path, hooks={"PreToolUse": [{"matcher": "Bash", "hooks": given}]})
    assert lines[:3] == [
        "carried over: PreToolUse Bash: `python3 'my guard.py'` at before_tool, approve_tool; kept from tools: "
        "my guard.py",
        "notice: hooks.PreToolUse[0].hooks[0].onFailure: left out, nothing here goes by it",
        "notice: hooks.PreToolUse[0].hooks[1]: left out, its `args` must be an array of strings; nothing that it "
        "should judge is judged here",
    ]


async def test_what_counts_in_each_project_runs_in_the_one_where_it_is_migrated(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    text = json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": commands("pwd >&2; exit 2")}]}})
    for folder in (home, work):
        (folder / ".claude").mkdir(parents=True)
        (folder / ".claude/settings.json").write_text(text)
    (work / ".claude/settings.local.json").write_text(text)
    files = (home / ".claude/settings.json", ".claude/settings.json", ".claude/settings.local.json")
    tables = [(await run(work, "migrate", "claude", str(it), home=home)).stdout.decode() for it in files]
    processes = parse("\n".join(tables), work / "hookgate.toml").hooks.processes
    assert [*processes] == ["claude_user", "claude", "claude_local"]
    assert {(it.dir, it.env["CLAUDE_PROJECT_DIR"]) for it in processes.values()} == {(str(work), str(work))}


async def test_a_matcher_that_covers_nothing_here_is_named(tmp_path: Path) -> None:
    matched = ("bash", "NotebookEdit|Edit", "Bash(git:*)", "Note.*", "mcp__a__.*|Ed.*", "task", "Wirte")
    hooks = {
        "PreToolUse": [{"matcher": it, "hooks": commands("true")} for it in matched],
        "PostToolUse": [{"matcher": "bash_output", "hooks": commands("true", "false")}],
        "Notification": [{"matcher": it, "hooks": commands("true")} for it in ("idle_prompt", "permission_prompt")],
        "SubagentStop": [{"matcher": "explore", "hooks": commands("true")}],
        "Stop": [{"matcher": "any", "hooks": commands("true")}],
    }
    lines = await told(tmp_path, hooks=hooks)
    unjudged = "; it never runs, and nothing that it should judge is judged here"
    case = "upper and lower case count"
    unless = ", unless a hook or an extension brings one"
    begin = lines.index(next(it for it in lines if it.startswith("notice: ")))
    assert [it.removeprefix("notice: ") for it in lines[begin : begin + 9]] == [
        f"PreToolUse bash: `bash` is no name of a tool there: write `Bash`, {case}{unjudged}",
        f"PreToolUse NotebookEdit|Edit: no tool here goes by `NotebookEdit`{unless}",
        "PreToolUse Bash(git:*): a matcher is no permission rule: write `Bash`, and let the command look at what the "
        f"call is about{unjudged}",
        f"PreToolUse Note.*: no tool here has a name that it covers{unless}{unjudged}",
        f"PreToolUse task: `task` is no name of a tool there: write `Task`, {case}{unjudged}",
        f"PreToolUse Wirte: no tool here goes by `Wirte` (did you mean 'Write'?){unless}{unjudged}",
        f"PostToolUse bash_output: `bash_output` is no name of a tool there: write `BashOutput`, {case}"
        "; it never runs",
        "Notification idle_prompt: never runs, `permission_prompt` is the only notification here",
        "SubagentStop explore: never runs, since nothing here is told apart by that: leave the matcher out",
    ]
    assert lines[begin + 9].startswith("notice: at PreToolUse a command that fails")
    carried = [it.partition(": `")[0].partition(": ")[::2] for it in lines[:begin]]
    assert [about for how, about in carried if how == "carried over"] == [
        "PreToolUse NotebookEdit|Edit",
        "PreToolUse mcp__a__.*|Ed.*",
        "Notification permission_prompt",
        "Stop",
    ]
    assert {how for how, _about in carried} == {"carried over", "carried over in vain"}


async def test_the_environment_of_commands_is_named_as_it_is(tmp_path: Path) -> None:
    settings = {"hooks": {"UserPromptSubmit": [{"hooks": commands("env | cut -d= -f1 | sort >> seen")}]}}
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    migrated = await run(tmp_path, "migrate", "claude", "settings.json")
    (tmp_path / "hookgate.toml").write_bytes(migrated.stdout)
    given = {name: "/some" for name in BASE_ENVIRONMENT if name not in ("PATH", "HOME", "TMPDIR", "TERM")}
    ended = await run(tmp_path, "hooks", "try", "claude", "--stage", "on_message", **given, OTHER="x")
    assert ended.returncode == 0, ended.stderr
    (notice,) = (it for it in migrated.stderr.decode().splitlines() if "environment is clean" in it)
    seen = (tmp_path / "seen").read_text().split()
    assert set(given) <= {*seen}
    assert {*seen} - {*notice.replace(";", "").split()} <= SET_THERE


async def test_the_event_that_was_meant_is_named_where_one_is_mistyped(tmp_path: Path) -> None:
    hooks = {"PreToolUze": [], "Stop": [{"hooks": commands("true")}], "SubagentStart": [], "Unheard": []}
    lines = await told(tmp_path, hooks=hooks)
    assert lines[1:3] == [
        "notice: hooks.PreToolUze: left out, Claude Code has no such event (did you mean 'PreToolUse'?); nothing "
        "that it should judge is judged here",
        "notice: hooks.SubagentStart, hooks.Unheard: left out, nothing here is like it",
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


async def test_a_command_at_the_end_of_the_last_turn_has_its_time_and_one_that_is_cut_off_is_named(
    tmp_path: Path,
) -> None:
    commands = ("sleep 0.5; echo stop >> $CLAUDE_PROJECT_DIR/stop.log", "sleep 600")
    stop = [{"hooks": [{"type": "command", "command": command}]} for command in commands]
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(json.dumps({"hooks": {"Stop": stop}}))
    migrated = await run(tmp_path, "migrate", "claude")
    (tmp_path / "script.json").write_text('{"steps": [{"text": "Hello."}]}')
    model = '[agent]\nmodel = "s/m"\n[providers.s]\nkind = "scripted"\nscript = "script.json"\n'
    (tmp_path / "hookgate.toml").write_text(model + migrated.stdout.decode())
    ended = await run(tmp_path, "chat", "--once", "hi")
    assert (ended.returncode, ended.stdout) == (0, b"Hello.\n")
    assert (tmp_path / "stop.log").read_text() == "stop\n"
    warned = [line for line in ended.stderr.decode().splitlines() if "[warning" in line]
    assert len(warned) == 1
    assert "Stop: 'sleep 600' was cut off: hookgate ends" in warned[0]

"""picoclaw's `hooks` block becomes a hookgate.toml that hookgate reads, with a notice for what differs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hookgate.cli.migrate.picoclaw_toml import migrate_file
from hookgate.config import ConfigError, parse
from hookgate.sections import Config
from hookgate.sections.hooks import HookSection
from tests.preloaded.running import ran

ORDINARY: dict[str, Any] = {"enabled": True, "command": ["./hook"], "intercept": ["before_tool", "after_tool"]}
WHOLE: dict[str, Any] = {
    "agents": {"defaults": {"workspace": "~/.picoclaw/workspace", "model_name": "gpt-4o-mini", "max_tokens": 8192}},
    "channels": {"telegram": {"enabled": True, "token": "123:abc", "allow_from": ["42"]}},
    "model_list": [{"model_name": "gpt-4o-mini", "model": "openai/gpt-4o-mini", "api_key": "sk-secret"}],
    "gateway": {"host": "127.0.0.1", "port": 18790},
    "hooks": {
        "enabled": True,
        "defaults": {"observer_timeout_ms": 700, "interceptor_timeout_ms": 3000, "approval_timeout_ms": 0},
        "builtins": {"todo_guard": {"enabled": True, "priority": 3, "config": {"words": ["x"]}}},
        "processes": {
            "py_review_gate": {
                "enabled": True,
                "priority": 100,
                "transport": "stdio",
                "command": ["python3", "-u", "/opt/review gate.py"],
                "env": {"REVIEW_MODE": 'str"ict', "odd.name": "é😀\x7f"},
                "observe": ["tool_exec_start", "tool_exec_end"],
                "intercept": ["before_tool", "approve_tool"],
            },
            "audit.log": {"enabled": True, "command": ["./audit"], "dir": "/srv/audit", "observe": ["*"]},
            "old": {"command": ["./old"], "intercept": ["after_llm"]},
        },
    },
    "tools": {"web": {"enabled": True}},
}


@pytest.fixture
def migrate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Any:
    """`migrate(members)`: the configuration that was printed, and the notices."""
    monkeypatch.chdir(tmp_path)

    def run(members: object, *, inherit_env: bool = False) -> tuple[Config, str]:
        file = tmp_path / "config.json"
        file.write_text(members if isinstance(members, str) else json.dumps(members))
        assert migrate_file(file, inherit_env=inherit_env) == 0
        printed = capsysbinary.readouterr()
        return parse(printed.out.decode(), Path("hookgate.toml")), printed.err.decode()

    return run


def block(**process: Any) -> dict[str, Any]:
    return {"hooks": {"processes": {"it": {**ORDINARY, **process}}}}


def run_command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return ran("migrate", "picoclaw", *arguments, cwd=folder)


# --- the command --------------------------------------------------------------------------------------------


def test_a_whole_config_is_printed_as_toml_that_hookgate_reads(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(WHOLE))
    done = run_command(tmp_path, "config.json")
    assert done.returncode == 0
    hooks = parse(done.stdout, Path("hookgate.toml")).hooks
    assert (hooks.defaults.observer_timeout_ms, hooks.defaults.interceptor_timeout_ms) == (700, 3000)
    assert hooks.defaults.approver_timeout_ms == 60_000
    assert hooks.processes == {
        "py_review_gate": HookSection(
            command=("python3", "-u", "/opt/review gate.py"),
            dir=str(tmp_path),
            env={"REVIEW_MODE": 'str"ict', "odd.name": "é😀\x7f"},
            priority=100,
            intercept=("before_tool", "approve_tool"),
            timeout_ms={"before_tool": 3000, "approve_tool": 60_000},
            observe=("tool_exec_start", "tool_exec_end"),
        ),
        "audit.log": HookSection(command=("./audit",), dir="/srv/audit", observe=("*",)),
        "old": HookSection(
            command=("./old",),
            dir=str(tmp_path),
            intercept=("after_llm",),
            timeout_ms={"after_llm": 3000},
            mode="off",
        ),
    }
    assert "sk-secret" not in done.stdout + done.stderr


def test_what_differs_is_said_on_stderr_one_line_each(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(WHOLE))
    notices = run_command(tmp_path, "config.json").stderr.splitlines()
    assert all(line.startswith("notice: ") for line in notices)
    for expected in (
        "agents, channels, model_list, gateway, tools: left out",
        "hooks.builtins.todo_guard: left out",
        "environment is clean here: PATH HOME LANG TMPDIR",
        'hooks.processes.old: mode = "off"',
        "hooks.processes.old.intercept: picoclaw sends stages in pairs, so also before_llm",
        "hooks.processes.py_review_gate.intercept: picoclaw sends stages in pairs, so also after_tool",
        'hooks.processes."audit.log".observe: events arrive as hook.event',
    ):
        assert sum(expected in line for line in notices) == 1, expected


def test_the_printed_file_passes_config_check(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(block(command=[sys.executable, "hook.py"])))
    (tmp_path / "hook.py").touch()
    (tmp_path / "hookgate.toml").write_text(run_command(tmp_path, "config.json").stdout)
    done = ran("config", "check", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_file_without_the_block_is_refused_in_one_line_with_status_2(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"agents": {}}')
    done = run_command(tmp_path, "config.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "hookgate: config.json: there is no `hooks` block\n"


def test_a_file_that_is_not_there_is_one_line_with_status_2(tmp_path: Path) -> None:
    done = run_command(tmp_path, "nowhere.json")
    assert (done.returncode, done.stderr) == (2, "hookgate: nowhere.json: there is no such file\n")


def test_the_whole_environment_is_handed_on_only_with_the_flag(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(block()))
    done = run_command(tmp_path, "config.json", "--inherit-env")
    assert parse(done.stdout, Path("x")).hooks.processes["it"].inherit_env
    assert "secrets included" in done.stderr


# --- what cannot be carried over ----------------------------------------------------------------------------

IT = "hooks.processes.it: left out"
REFUSED = f"{IT}, picoclaw would refuse it"
JUDGED = "so nothing that it should judge is judged here"
TWO = ["before_tool", "on_message"]
TEXT_MS = {"observer_timeout_ms": "1"}


@pytest.mark.parametrize(
    ("members", "left", "notice"),
    [
        (block(timeout_ms=5), ["it"], "hooks.processes.it.timeout_ms: left out, neither picoclaw"),
        (block(transport="tcp"), [], f'{REFUSED}: unsupported transport "tcp"; {JUDGED}'),
        (block(command=[]), [], f"{REFUSED}: command is required; {JUDGED}"),
        (block(intercept=[]), [], "picoclaw would refuse it: no hook modes enabled"),
        (block(intercept=["before_tools"]), [], 'no hook modes enabled; unsupported intercept "before_tools"'),
        (block(intercept=TWO), ["it"], 'would not start it for: unsupported intercept "on_message"'),
        (block(observe=["tool_*"]), ["it"], 'unsupported observe event "tool_*"'),
        (block(observe=["nonsense", "*"]), ["it"], 'unsupported observe event "nonsense"'),
        (block(priority="1"), [], f"{IT}, priority: Input should be a valid integer; {JUDGED}"),
        (block(command="./hook"), [], f"{IT}, command: Input should be a valid list; {JUDGED}"),
        ({"hooks": {"processes": {"it": []}}}, [], f"{IT}, it must be an object; {JUDGED}"),
        ({"hooks": {**block()["hooks"], "x": 1}}, ["it"], "hooks.x: left out, neither"),
        ({"hooks": {**block()["hooks"], "defaults": TEXT_MS}}, ["it"], "hooks.defaults.observer_timeout_ms"),
        ({"hooks": {"processes": 1}}, [], "hooks.processes: left out"),
    ],
)  # fmt: skip
def test_what_cannot_be_carried_over_is_left_out_and_named(
    migrate: Any, members: object, left: list[str], notice: str
) -> None:
    config, notices = migrate(members)
    assert list(config.hooks.processes) == left
    assert sum(notice in line for line in notices.splitlines()) == 1, notices


@pytest.mark.parametrize(
    ("members", "error"),
    [
        ({"hooks": [1]}, "hooks: must be an object"),
        ("[]", "must hold a JSON object"),
        ("{", "is not JSON: EOF while parsing an object at line 1 column 1"),
    ],
)
def test_what_is_no_such_file_is_refused(migrate: Any, members: object, error: str) -> None:
    with pytest.raises(ConfigError) as refused:
        migrate(members)
    assert str(refused.value).partition("config.json: ")[2] == error


# --- what becomes what --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "observe", "method"),
    [
        (["*"], ("*",), "hook.event"),
        (["all"], ("*",), "hook.event"),
        ([""], ("*",), "hook.event"),
        (["turn_end", "", "never looked at"], ("*",), "hook.event"),
        (["turn_end", "turn_end", "error"], ("turn_end", "error"), "hook.event"),
        (["agent.turn.end"], ("agent.turn.end",), "hook.runtime_event"),
        (["turn_start", "agent.turn.end"], ("turn_start", "agent.turn.end"), "hook.runtime_event"),
        (["turn_end", "gateway.ready"], ("turn_end",), "hook.runtime_event"),
        (["turn_end", "llm_delta"], ("turn_end",), "hook.event"),
        ([], (), "hook.event"),
        (None, (), "hook.event"),
    ],
)
def test_observed_events_are_translated(migrate: Any, theirs: object, observe: tuple[str, ...], method: str) -> None:
    config, _ = migrate(block(observe=theirs))
    section = config.hooks.processes["it"]
    assert (section.observe, section.event_method) == (observe, method)


def test_an_event_that_hookgate_does_not_have_is_named(migrate: Any) -> None:
    _, notices = migrate(block(observe=["turn_end", "gateway.ready"]))
    assert "hooks.processes.it.observe: left out what never happens here: gateway.ready\n" in notices


def test_a_hook_that_would_be_told_nothing_is_left_out(migrate: Any) -> None:
    config, notices = migrate(block(intercept=[], observe=["gateway.ready"]))
    assert config.hooks.processes == {}
    assert "hooks.processes.it: left out, nothing is left that it would be told\n" in notices


def test_a_relative_folder_counts_from_the_current_one(migrate: Any, tmp_path: Path) -> None:
    config, _ = migrate(block(dir="hooks/it"))
    assert config.hooks.processes["it"].dir == str(tmp_path / "hooks/it")


def test_timeouts_of_zero_and_below_are_the_defaults_and_reach_every_stage(migrate: Any) -> None:
    stages = ["before_llm", "after_llm", "before_tool", "after_tool", "approve_tool"]
    members = block(intercept=stages)
    members["hooks"]["defaults"] = {"interceptor_timeout_ms": -1, "approval_timeout_ms": 9}
    config, _ = migrate(members)
    assert config.hooks.processes["it"].timeout_ms == {**dict.fromkeys(stages, 5000), "approve_tool": 9}


def test_a_timeout_longer_than_a_day_is_cut_and_said(migrate: Any) -> None:
    config, notices = migrate({"hooks": {"defaults": {"approval_timeout_ms": 10**9}}})
    assert config.hooks.defaults.approver_timeout_ms == 86_400_000
    assert "hooks.defaults.approver_timeout_ms" in notices


def test_hooks_that_are_off_as_a_whole_are_off_one_by_one(migrate: Any) -> None:
    members = block()
    members["hooks"]["enabled"] = False
    config, notices = migrate(members)
    assert config.hooks.processes["it"].mode == "off"
    assert "hooks.enabled is false" in notices


def test_both_stages_of_a_pair_need_no_notice(migrate: Any) -> None:
    config, notices = migrate(block())
    assert config.hooks.processes["it"].intercept == ("before_tool", "after_tool")
    assert config.hooks.processes["it"].mode == "enforce"
    assert ".intercept" not in notices


def test_a_hook_that_is_off_and_wrong_stops_nobody_as_in_picoclaw(migrate: Any) -> None:
    config, notices = migrate(block(enabled=False, command=[]))
    assert config.hooks.processes == {}
    assert "hooks.processes.it: left out, picoclaw would refuse it: command is required; it is off anyway" in notices


def test_the_block_alone_is_read_too(migrate: Any) -> None:
    config, notices = migrate(block()["hooks"])
    assert list(config.hooks.processes) == ["it"]
    assert "is taken over" not in notices


def test_names_that_hookgate_cannot_have_are_changed_and_stay_apart(migrate: Any) -> None:
    theirs = ["a b", "a/b", "a_b", "", "n" * 70]
    config, notices = migrate({"hooks": {"processes": dict.fromkeys(theirs, ORDINARY)}})
    assert sorted(config.hooks.processes) == ["a_b", "a_b_2", "a_b_3", "hook", "n" * 64]
    assert 'hooks.processes."a b": is called a_b_2 here\n' in notices
    assert "hooks.processes.a_b: is called" not in notices


def test_null_is_as_good_as_absent(migrate: Any) -> None:
    members = block(env=None, dir=None)
    members["hooks"] |= {"enabled": None, "builtins": None}
    members["hooks"]["processes"]["empty"] = None
    config, _ = migrate(members)
    assert config.hooks.processes["it"].mode == "enforce"


def test_a_file_without_processes_says_so(migrate: Any) -> None:
    config, notices = migrate({"hooks": {}})
    assert config.hooks.processes == {}
    assert "hooks.processes: there are none\n" in notices

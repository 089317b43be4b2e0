"""What a configuration relies on and is not there: refused where it would guard in the file alone, else told."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from shutil import which

import pytest

from hookgate.assembly.preflight.faults import Fault
from hookgate.assembly.preflight.naming import start_faults
from hookgate.config import named_secrets, parse, secret
from tests.preloaded import preloaded

GUARD = '[hooks.processes.g]\nintercept = ["before_tool"]\n'
LISTEN = '[hooks.processes.g]\nobserve = ["*"]\n'
RULE = '[[approvals]]\ntools = ["bsah"]\n'
LONG = f"{'n' * 300}.py"
"""Longer than a name may be."""
STRANGE = "approvals.0.tools: 'bsah' covers no built-in tool (did you mean 'bash'?)"
MODEL = '[agent]\nmodel = "script/any"\n[providers.script]\nkind = "scripted"\nscript = "script.json"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing is installed here, and nothing below it."""
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "ZOT_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.py").write_text("pass\n")
    (tmp_path / "as_node_finds_it.js").write_text("0\n")
    (tmp_path / "script.json").write_text('{"steps": [{"text": "Hello."}]}')
    return tmp_path


def faults(folder: Path, text: str) -> list[Fault]:
    return start_faults(parse(text, folder / "hookgate.toml"), folder)


def hookgate(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "hookgate.toml").write_text(text)
    argv = [*preloaded(), *arguments]
    # A stdin that stays open: where it ends, some commands are done before they have begun.
    reader, writer = os.pipe()
    try:
        return subprocess.run(argv, cwd=folder, stdin=reader, capture_output=True, text=True, timeout=60)
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ('["perl", "nope.pl"]', "'nope.pl' is not there"),
        ('["python3", "-u", "nope.py"]', "'nope.py' is not there"),
        ('["env", "A=1", "python3", "-X", "dev", "nope.py"]', "'nope.py' is not there"),
        ('["python3", "nope"]', "'nope' is not there"),
        (f'["python3", "{LONG}"]', f"'{LONG}' is not there"),
        ('["python3", "-E", "nope.py"]', "'nope.py' is not there"),
        ('["env", "go", "run", "nope.go"]', "'nope.go' is not there"),
        ('["env", "deno", "run", "nope.ts"]', "'nope.ts' is not there"),
        ('["env", "node", "nope"]', "'nope' is not there"),
        ('["env", "ksh", "run/nope"]', "'run/nope' is not there"),
        ('["env", "nodejs", "nope"]', "'nope' is not there"),
        ('["sh", "run/nope"]', "'run/nope' is not there"),
        ('["env", "there.py", "nope.sh"]', "'nope.sh' is not there"),
        ('["./there.py"]', "'./there.py' is not executable"),
        ('["no-such-program"]', "'no-such-program' cannot be found"),
    ],
)
def test_a_guard_whose_program_is_not_there_refuses_to_start(folder: Path, command: str, said: str) -> None:
    program = command.split('"')[1]
    if program == "perl" and not which(program):
        said = "'perl' cannot be found"
    (fault,) = faults(folder, f"{GUARD}command = {command}\n")
    assert fault.text.startswith(f"hooks.processes.g.command: {said}; on_failure says ")
    assert fault.stops


@pytest.mark.parametrize(
    "command",
    [
        '["python3", "there.py"]',
        '["python3", "-u", "there.py", "--log", "new.log", "v1.2", "example.com"]',
        '["python3", "-c", "pass", "nope.py"]',
        '["python3", "-m", "hooks.guard"]',
        '["sh", "-c", "exec python3 nope.py"]',
        '["env", "python3", "there.py", "--to=nope.py", "https://example.com/a.py"]',
        '["env", "deno", "run", "there.py"]',
        '["env", "bun", "dev"]',
        '["env", "R", "CMD", "x"]',
        '["env", "node", "as_node_finds_it"]',
        '["env", "perl", "-pe", "s/a/b/", "-lne", "print"]',
        '["sh"]',
    ],
)
def test_a_program_that_can_be_started_is_no_fault(folder: Path, command: str) -> None:
    assert faults(folder, f"{GUARD}command = {command}\n") == []


@pytest.mark.parametrize(
    ("hook", "stops"),
    [
        (GUARD, True),
        (GUARD + 'on_failure = "continue"\n', False),
        (GUARD + 'on_failure = "deny"\n', False),
        (GUARD + 'mode = "audit"\n', False),
        (GUARD.replace("before_tool", "approve_tool"), True),
        (GUARD.replace("before_tool", "after_tool"), False),
        (LISTEN, False),
        (LISTEN + "required = true\n", True),
    ],
)
def test_only_a_hook_that_guards_without_a_policy_stops_the_start(folder: Path, hook: str, stops: bool) -> None:
    (fault,) = faults(folder, f'{hook}command = ["python3", "nope.py"]\n')
    assert fault.stops is stops


@pytest.mark.parametrize(
    ("more", "stops"),
    [
        ("", True),
        ('[mcp.servers.docs]\ncommand = ["sh"]\n', False),
        ('[mcp.servers.docs]\ncommand = ["sh"]\nenabled = false\n', True),
        ("[mcp]\nmodel_may_connect = true\n", False),
        ("[dynamic]\nenabled = true\n", False),
        ("[zot.extensions.x]\n", False),
        ('[hooks.processes.h]\ncommand = ["sh"]\nintercept = ["before_llm"]\n', False),
        ('[hooks.processes.h]\ncommand = ["sh"]\nintercept = ["before_llm"]\nmay_modify = ["messages"]\n', True),
    ],
)
def test_a_rule_about_no_tool_stops_the_start_unless_something_may_bring_it(
    folder: Path, more: str, stops: bool
) -> None:
    assert faults(folder, RULE + more) == [Fault(STRANGE, stops)]


def test_an_extension_that_is_installed_may_bring_a_tool(folder: Path) -> None:
    (folder / ".hookgate" / "extensions" / "x").mkdir(parents=True)
    assert faults(folder, RULE) == [Fault(STRANGE)]
    assert faults(folder, f"{RULE}[zot]\ndiscover = false\n") == [Fault(STRANGE, stops=True)]


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("provider:mcp:*", "go by their names alone, those of the MCP server NAME by 'NAME__*'"),
        ("provider:builtin", "go by their names alone"),
        ("name:bash", "covers no tool: write 'bash'"),
    ],
)
def test_a_guarding_list_that_chooses_as_requests_do_is_refused_whatever_may_come(
    folder: Path, pattern: str, why: str
) -> None:
    listed, more = f'tools = ["{pattern}"]', "[mcp]\nmodel_may_connect = true\n"
    hook = f'command = ["sh"]\nmatch = {{ {listed} }}\n'
    for text in (f"[[approvals]]\n{listed}\n", f'{GUARD}on_failure = "deny"\n{hook}'):
        (fault,) = faults(folder, text + more)
        assert fault.stops
        assert why in fault.text
    (fault,) = faults(folder, f"[zot.extensions.x]\nmatch = {{ {listed} }}\n")
    assert fault.stops
    assert [it.stops for it in faults(folder, LISTEN + hook)] == [False]
    # What is excluded so is asked about all the same.
    excluded = f'[[approvals]]\ntools = ["*", "!{pattern}"]\n'
    assert [it.stops for it in faults(folder, excluded)] == [False]


def test_what_an_extension_is_asked_about_is_looked_at_as_a_hooks_match_is(folder: Path) -> None:
    match = 'tools = ["bsah"], senders = ["cli:user"], roles = ["role:ops"], threads = ["cli:4"]'
    found = faults(folder, f"[zot.extensions.x]\nmatch = {{ {match} }}\n")
    assert [(it.text.split(":")[0], it.stops) for it in found] == [
        ("zot.extensions.x.match.tools", False),
        ("zot.extensions.x.match.roles", True),
        ("zot.extensions.x.match.threads", True),
        ("zot.extensions.x.match.senders", True),
    ]
    assert faults(folder, f"[zot]\nenabled = false\n[zot.extensions.x]\nmatch = {{ {match} }}\n") == []
    assert faults(folder, f"[zot.extensions.x]\nenabled = false\nmatch = {{ {match} }}\n") == []


def test_a_route_by_a_chats_id_with_its_channel_before_it_leads_nobody_and_is_refused(folder: Path) -> None:
    route = '[[routes]]\nagent = "main"\nchats = ["{}"]\n'
    own = '[channels.support]\nkind = "web"\n'
    found = [faults(folder, own + route.format(chat)) for chat in ("support:42", "slack:42", "42", "other:42")]
    said = "routes.0.chats: '{0}:42' covers none: write '42' there, and channels = ['{0}']"
    assert found == [[Fault(said.format("support"), stops=True)], [Fault(said.format("slack"))], [], []]


def test_a_tool_that_a_program_has_is_known(folder: Path) -> None:
    config = parse(RULE, folder / "hookgate.toml")
    assert start_faults(config, folder, ["bsah"]) == []


def test_a_hook_about_no_tool_stops_the_start_where_it_guards(folder: Path) -> None:
    hook = f'{GUARD}command = ["sh"]\nmatch = {{ tools = ["bsah", "!lss"] }}\n'
    first, second = faults(folder, hook)
    assert (first.stops, second.stops) == (True, False)
    assert [fault.stops for fault in faults(folder, f'{hook}on_failure = "deny"\n')] == [False, False]


@pytest.mark.parametrize("hook", [GUARD, GUARD + 'on_failure = "deny"\n'])
@pytest.mark.parametrize("more", ["", "[zot.extensions.x]\n"])
def test_a_guard_of_a_built_in_tool_in_another_case_stops_the_start_whatever_its_policy_and_whatever_may_come(
    folder: Path, hook: str, more: str
) -> None:
    match, rule = 'match = { tools = ["Bash"] }\n', '[[approvals]]\ntools = ["Bash"]\n'
    for text in (f'{hook}command = ["python3", "there.py"]\n{match}', rule):
        [fault] = faults(folder, text + more)
        assert fault.stops
        assert "'Bash' covers no built-in tool (did you mean 'bash'?)" in fault.text


TELEGRAM = '[channels.telegram]\nkind = "telegram"\ntoken_env = "T"\n'


@pytest.mark.parametrize(
    ("known", "match", "said"),
    [
        (TELEGRAM, 'chats = ["telegram:42"]', {"chats: 'telegram:42' covers none: write '42'": True}),
        (TELEGRAM, 'senders = ["7", "telegram:7"]', {"senders: 'telegram:7' covers none: write '7'": True}),
        (TELEGRAM, 'senders = ["!telegram:7"]', {"senders: '!telegram:7' covers none: write '7'": False}),
        ("", 'chats = ["telegram:42"]', {"chats: 'telegram:42' covers none: write '42'": False}),
        ("", 'senders = ["cli:user"]\nchannels = ["cli"]', {"senders: 'cli:user' covers none: write 'user'": True}),
        (TELEGRAM, 'chats = ["telegram:42"]\nchannels = ["rpc"]', {}),
        (TELEGRAM, 'chats = ["42", "builds:42", "@ann:example.org"]', {}),
        (
            "",
            'roles = ["role:ops", "!role:dev", "ops"]',
            {"roles: 'role:ops' covers none: write 'ops'": True, "roles: '!role:dev'": False},
        ),
    ],
)
def test_an_id_with_its_channel_before_it_covers_nobody_and_a_rule_of_such_stops_the_start(
    folder: Path, known: str, match: str, said: dict[str, bool]
) -> None:
    found = faults(folder, f'{known}[[approvals]]\ntools = ["bash"]\n{match}\n')
    assert [it.text.startswith(f"approvals.0.{line}") for it, line in zip(found, said, strict=True)] == [True] * len(
        said
    )
    assert [it.stops for it in found] == list(said.values())


@pytest.mark.parametrize(("hook", "stops"), [(GUARD, True), (GUARD + 'mode = "audit"\n', False), (LISTEN, False)])
def test_an_id_with_its_channel_before_it_stops_the_start_where_a_hook_guards(
    folder: Path, hook: str, stops: bool
) -> None:
    match = 'command = ["python3", "there.py"]\non_failure = "deny"\nmatch = { chats = ["cli:terminal"] }\n'
    [fault] = faults(folder, hook + match)
    assert (fault.text.partition(":")[0], fault.stops) == ("hooks.processes.g.match.chats", stops)


@pytest.mark.parametrize(
    "arguments",
    [("config", "check"), ("chat", "--once", "hi"), ("rpc",), ("tools", "call", "bash", '{"command": "echo Hello"}')],
)
def test_every_start_refuses_what_would_guard_in_the_file_alone(folder: Path, arguments: tuple[str, ...]) -> None:
    broken = f'{MODEL}{RULE}{GUARD}command = ["python3", "-u", "nope.py"]\n'
    done = hookgate(folder, broken, *arguments)
    assert done.returncode != 0
    assert "nope.py" in done.stderr + done.stdout or STRANGE in done.stderr + done.stdout
    assert "Hello" not in done.stdout


def test_what_its_own_policy_covers_starts_with_a_warning(folder: Path) -> None:
    text = f'{MODEL}{GUARD}command = ["python3", "nope.py"]\non_failure = "continue"\n[control]\nenabled = false\n'
    done = hookgate(folder, text, "chat", "--once", "hi")
    assert (done.returncode, done.stdout) == (0, "Hello.\n")
    assert "hooks.processes.g.command: 'nope.py' is not there" in done.stderr


def test_strict_makes_a_failure_of_a_note(folder: Path) -> None:
    text = f"{MODEL}[tools]\npinned = ['raed']\nsandbox = 'required'\n[agent.options]\n"
    loose, strict = (hookgate(folder, text, "config", "check", *more) for more in ((), ("--strict",)))
    assert (loose.returncode, strict.returncode) == (0, 2)
    assert "note: tools.pinned: 'raed' covers no built-in tool (did you mean 'read'?)" in strict.stdout
    assert "--strict takes none" in strict.stderr


def test_a_key_from_a_file_with_a_line_end_is_used_and_known_to_redaction_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-123\n")
    assert secret("SOME_KEY", "here") == "sk-123"
    assert named_secrets(["SOME_KEY"]) == ("sk-123",)

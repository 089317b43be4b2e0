"""What `hookgate init` writes is in use at once: the configuration passes, the hook runs and denies."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import trio

from hookgate.cli.init.writing import run_init
from hookgate.config import parse
from tests.model_server import open_model_server, says
from tests.preloaded.running import ran
from tests.wire import open_child

TOML = Path("hookgate.toml")
FILES = (str(TOML), "hooks/example_hook.py")
SCRIPTED = '[providers.script]\nkind = "scripted"\nscript = "script.json"\n'
HELLO = {"name": "example", "version": 1, "modes": ["tool"]}


def hookgate(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return ran(*arguments, cwd=folder, env={**inherited, **environment})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "my gate"
    assert run_init(folder, force=False) == 0
    return folder


# --- the files ----------------------------------------------------------------------------------------------


def test_the_next_steps_are_four_lines_after_what_is_gated_and_what_is_not(tmp_path: Path) -> None:
    done = hookgate(tmp_path, "init")
    *said, tried, export, check, chat = done.stdout.splitlines()
    assert export.startswith(
        "  export OPENAI_API_KEY=...   # or ANTHROPIC_API_KEY; or in hookgate.toml take the # from"
    )
    assert export.endswith("; or none: `hookgate docs scripted`")
    assert tried == "  hookgate hooks check -- python3 hooks/example_hook.py"
    assert (check, chat) == ("  hookgate config check", "  hookgate chat")
    assert all((tmp_path / name).is_file() for name in FILES)
    told = " ".join(said)
    rules = tomllib.loads((tmp_path / TOML).read_text())["approvals"]
    gated = {tool for rule in rules if "origins" not in rule for tool in rule["tools"]}
    assert gated == {"bash", "write", "edit"} == set(re.findall(r"\w+", told.partition("Gated: ")[2])[:4]) - {"and"}
    assert "Not gated: read, ls, glob, grep and web_fetch" in told


def removing(folder: Path, line: str) -> None:
    """What a person does in an editor: one `#` is taken from the one line that begins so."""
    text = (folder / TOML).read_text()
    assert text.count(f"\n#{line}") == 1
    (folder / TOML).write_text(text.replace(f"\n#{line}", f"\n{line}"))


async def test_ollama_is_talked_to_once_one_mark_is_removed_and_needs_no_key(folder: Path) -> None:
    removing(folder, 'model = "ollama/qwen3:4b"')
    check = await trio.to_thread.run_sync(hookgate, folder, "config", "check")
    assert (check.returncode, "Model ollama/qwen3:4b" in check.stdout) == (0, True), check.stderr
    async with open_model_server(says("hello there")) as server:
        text = (folder / TOML).read_text()
        (folder / TOML).write_text(text.replace("http://127.0.0.1:11434/v1", server.base_url))
        with trio.fail_after(60):
            done = await trio.to_thread.run_sync(hookgate, folder, "chat", "--once", "hi")
        assert (done.returncode, done.stdout) == (0, "hello there\n"), done.stderr
        (asked,) = server.requests
    assert asked.body["model"] == "qwen3:4b"
    assert "authorization" not in asked.headers


@pytest.mark.parametrize(
    ("key", "model"), [("OPENAI_API_KEY", "openai/gpt-5-mini"), ("ANTHROPIC_API_KEY", "anthropic/claude-sonnet-4-5")]
)
def test_the_key_that_is_set_decides_which_model_answers(folder: Path, key: str, model: str) -> None:
    done = hookgate(folder, "config", "check", **{key: "sk-test"})
    assert (done.returncode, f"Model {model}," in done.stdout) == (0, True), done.stderr


def test_without_a_key_the_chat_says_what_to_do(folder: Path) -> None:
    done = hookgate(folder, "chat", "--once", "hi")
    assert done.returncode == 2
    assert "agent.model is not set, nor is OPENAI_API_KEY or ANTHROPIC_API_KEY: export a key, or write" in done.stderr
    removing(folder, 'model = "openai/gpt-5-mini"')
    done = hookgate(folder, "chat", "--once", "hi")
    assert done.returncode == 2
    assert (
        "providers.openai.api_key_env: OPENAI_API_KEY is not set: `export OPENAI_API_KEY=...`, or choose"
        in done.stderr
    )


def test_the_next_steps_lead_into_another_folder(tmp_path: Path) -> None:
    assert "  cd 'my gate' && hookgate hooks check -- python3 " in hookgate(tmp_path, "init", "my gate").stdout


def test_the_written_configuration_passes_the_check(folder: Path) -> None:
    done = hookgate(folder, "config", "check", OPENAI_API_KEY="sk-test")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Model openai/gpt-5-mini, 1 hook" in done.stdout


def test_the_check_names_the_variables_of_which_none_is_set(folder: Path) -> None:
    done = hookgate(folder, "config", "check")
    assert done.returncode == 2
    assert "agent.model is not set, nor is OPENAI_API_KEY or ANTHROPIC_API_KEY" in done.stderr


def test_a_bash_call_meets_the_hook_and_a_person(folder: Path) -> None:
    done = hookgate(folder, "hooks", "explain", "--tool", "bash")
    assert re.search(r"before_tool:\n( .*guard:.*\n)+ +10 +example +in, timeout 5 s, on failure deny\n", done.stdout)
    assert "approval rule changes: a person is asked" in done.stdout


def test_another_tool_meets_neither(folder: Path) -> None:
    done = hookgate(folder, "hooks", "explain", "--tool", "read")
    assert re.search(r" example +out: tools", done.stdout)
    assert "approval rule changes: does not apply" in done.stdout


def test_a_call_that_a_model_wrote_into_its_text_meets_a_person(folder: Path) -> None:
    done = hookgate(folder, "hooks", "explain", "--tool", "read")
    assert "approval rule text: a person is asked about calls of origin text" in done.stdout
    removing(folder, 'model = "openai/gpt-5-mini"')
    file = folder / TOML
    file.write_text(file.read_text().replace("openai/gpt-5-mini", "script/s") + SCRIPTED)
    replies = [{"text": '<tool_call>{"name": "ls", "arguments": {}}</tool_call>'}, {"text": "As you wish."}]
    (folder / "script.json").write_text(json.dumps({"steps": replies}))
    done = hookgate(folder, "chat", "--once", "go", "--trace", OPENAI_API_KEY="sk-test")
    assert re.search(r"approv.* ls", done.stderr + done.stdout), done.stderr + done.stdout


def test_every_setting_that_is_off_can_be_switched_on(folder: Path) -> None:
    text = (folder / TOML).read_text()
    models = re.findall(r'^#model = "(.+?)"', text, flags=re.MULTILINE)
    switched_on = re.sub(r"^#(?=\S)", "", re.sub(r"^#model.*\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE)
    config = parse(switched_on, TOML)
    assert set(config.providers) == {"openai", "ollama", "anthropic", "script"}
    assert config.hooks.processes["example"].mode == "audit"
    assert {model.partition("/")[0] for model in models} | {"script"} == set(config.providers)


# --- nothing is lost ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_a_file_in_the_way_is_named_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    done = hookgate(tmp_path, "init")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"hookgate: {name} exists; --force overwrites it\n"
    assert (tmp_path / name).read_text() == "mine"
    assert [file for file in FILES if (tmp_path / file).exists()] == [name]


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (there := tmp_path / "there").mkdir()
    (here := tmp_path / "here").mkdir()
    (here / "hooks").symlink_to(there)
    done = hookgate(here, "init")
    assert (done.returncode, done.stdout, list(there.iterdir())) == (1, "", [])
    assert done.stderr == f"hookgate: hooks leads out of {here}; --force writes there\n"


def test_force_overwrites(folder: Path) -> None:
    (folder / TOML).write_text("mine")
    assert hookgate(folder, "init", "--force").returncode == 0
    assert "[agent]" in (folder / TOML).read_text()


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "hooks").write_text("a file")
    done = hookgate(tmp_path, "init")
    assert done.returncode == 1
    assert done.stderr == "hookgate: cannot write hooks: File exists\n"
    assert not (tmp_path / TOML).exists()


# --- the hook -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "command", "denied"),
    [
        ("bash", "rm -rf /tmp/x", True),
        ("bash", "cd /tmp; rm -fr x", True),
        ("bash", "sudo /bin/rm -r --force x", True),
        ("bash", "rm -R -f x", True),
        ("bash", "rm -r x", False),
        ("bash", "rm file", False),
        ("bash", "grep -rf patterns", False),
        ("bash", "ls farm -rf", False),
        ("other", "rm -rf /tmp/x", False),
    ],
)
async def test_the_hook_denies_rm_rf_and_nothing_else(folder: Path, tool: str, command: str, denied: bool) -> None:
    async with open_child(["python3", folder / "hooks/example_hook.py"]) as child:
        assert (await child.call("hook.hello", HELLO))["ok"] is True
        answer = await child.call("hook.before_tool", {"tool": tool, "arguments": {"command": command}})
        assert answer["action"] == ("deny_tool" if denied else "continue")
        if denied:
            assert answer["reason"] == "rm -rf is not allowed here"
            await child.wait_stderr(f"denied: {command!r}")


async def test_the_hook_takes_events_in_silence_and_ends_with_its_input(folder: Path) -> None:
    async with open_child(["python3", folder / "hooks/example_hook.py"]) as child:
        await child.send("hook.event", {"Kind": "turn_start"})
        assert await child.call("hook.after_tool", {"tool": "bash", "arguments": {}}) == {"action": "continue"}
        await child.close_stdin()
        assert await child.wait_exit() == 0


async def test_the_hook_passes_the_conformance_check(folder: Path) -> None:
    command = [sys.executable, "-m", "hookgate", "hooks", "check", "example"]
    with trio.fail_after(60):
        done = await trio.run_process(command, cwd=folder, capture_stdout=True, check=False)
    assert (done.returncode, b"FAIL" in done.stdout) == (0, False)

"""Shells complete what is typed: a real bash, and hookgate asked as zsh and fish ask it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
import trio

from tests.cli.program import DEADLINE_S, configured, environment, run

PROGRAMS = str(Path(sys.executable).parent)
BASH = """
eval "$(hookgate completion bash)"
COMP_WORDS=("$@" "") COMP_CWORD=$(($# - 1))
_hookgate_completion hookgate
printf '%s\\n' "${COMPREPLY[@]}"
"""


def searched(folder: Path) -> dict[str, str]:
    known = environment(folder)
    return known | {"PATH": f"{PROGRAMS}:{known['PATH']}"}


async def offered(folder: Path, *words: str, shell: str = "zsh") -> list[str]:
    """For the last of these words."""
    typed = {"_HOOKGATE_COMPLETE": f"{shell}_complete", "COMP_WORDS": " ".join(("hookgate", *words))}
    at = words[-1] if shell == "fish" else str(len(words))
    with trio.fail_after(DEADLINE_S):
        asked = await trio.run_process(
            ["hookgate"], cwd=folder, env=searched(folder) | typed | {"COMP_CWORD": at}, capture_stdout=True
        )
    lines = asked.stdout.decode().splitlines()
    # zsh gets three lines for each: its kind, the word, what it is for.
    return lines[1::3] if shell == "zsh" else [line.split(",")[1].split("\t")[0] for line in lines]


@pytest.fixture
def bash() -> str:
    found = shutil.which("bash")
    if found is None:
        pytest.skip("this machine has no bash")
    return found


async def test_bash_completes_commands_and_options(tmp_path: Path, bash: str) -> None:
    async def completed(*words: str) -> list[str]:
        asked = [bash, "-c", BASH, "bash", "hookgate", *words]
        with trio.fail_after(DEADLINE_S):
            ended = await trio.run_process(asked, cwd=tmp_path, env=searched(tmp_path), capture_stdout=True)
        return ended.stdout.decode().split()

    assert await completed("sess") == ["sessions"]
    assert await completed("hooks", "li") == ["list"]
    assert await completed("sessions", "") == ["export", "forget", "list", "show"]
    assert await completed("chat", "--tra") == ["--trace"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
async def test_models_are_completed_from_the_configuration_that_was_named(tmp_path: Path, shell: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    configured(elsewhere, "http://127.0.0.1:1")
    file = str(elsewhere / "hookgate.toml")
    words = ("chat", "--config", file, "--model", "p")
    assert await offered(tmp_path, *words, shell=shell) == ["p/", "p/m"]


async def test_the_hooks_that_are_configured_are_completed(tmp_path: Path) -> None:
    hooks = "".join(f'[hooks.processes.{it}]\ncommand = ["x"]\nobserve = ["*"]\n' for it in ("guard", "log"))
    configured(tmp_path, "http://127.0.0.1:1", hooks)
    assert await offered(tmp_path, "hooks", "try", "") == ["guard", "log"]
    assert await offered(tmp_path, "hooks", "bench", "l") == ["log"]


async def test_where_the_configuration_cannot_be_read_a_shell_is_offered_nothing_and_told_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "hookgate.toml").write_text("[agent\n")
    assert await offered(tmp_path, "chat", "--model", "p") == []


async def test_what_is_printed_is_for_the_shell_that_was_named(tmp_path: Path) -> None:
    for shell, means in (
        ("bash", b"complete -o nosort"),
        ("zsh", b"#compdef hookgate"),
        ("fish", b"complete --no-files"),
    ):
        ended = await run(tmp_path, "completion", shell)
        assert (ended.returncode, ended.stderr) == (0, b"")
        assert means in ended.stdout
    ended = await run(tmp_path, "completion", "tcsh")
    assert ended.returncode == 2
    assert b"'tcsh' is not one of 'bash', 'zsh', 'fish'" in ended.stderr

"""Shells complete what is typed: a real bash, zsh and fish, and hookgate asked as zsh and fish ask it."""

from __future__ import annotations

import shutil
import socket
import sys
from pathlib import Path

import pytest
import trio

from hookgate.channels.http.keys import Keys
from hookgate.store.journal import open_journal
from tests.cli.program import DEADLINE_S, configured, environment, open_pipes, open_terminal, run
from tests.model_server import calls, open_model_server
from tests.store.journals import fill

PROGRAMS = str(Path(sys.executable).parent)
BASH = """
eval "$(hookgate completion bash)"
COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
_hookgate_completion hookgate "${@:$#}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = "hookgate completion fish | source; complete -C $argv[1]"
VALUES = {
    "chat --model=p": "chat --model=p/",
    "chat --model=": "chat --model=p/",
    "chat --config=hoo": "chat --config=hookgate.toml",
    "chat --session=w": "chat --session=work",
    "init --sdk=py": "init --sdk=python",
}
"""What is typed, and what Tab makes of it."""
NO_HOOK = '[hooks.processes.{}]\ncommand = ["x"]\nobserve = ["*"]\n'


def searched(folder: Path) -> dict[str, str]:
    known = environment(folder)
    return known | {"PATH": f"{PROGRAMS}:{known['PATH']}"}


def journal_in(folder: Path) -> Path:
    configured(folder, "http://127.0.0.1:1", '[store]\njournal = "journal.db"\n')
    return folder / "journal.db"


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


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


@pytest.mark.parametrize("flag", ["--config", "--plain", "--once", "-c", "--session=a", "-e", "--rpc", "--json"])
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_a_shell_that_asks_behind_an_option_of_a_command_hears_of_no_mistake(
    tmp_path: Path, flag: str, shell: str
) -> None:
    """The child's failure would raise."""
    assert "chat" in await offered(tmp_path, flag, "ch", shell=shell)


def installed(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"this machine has no {shell}")
    return found


async def printed(folder: Path, *command: str) -> list[str]:
    with trio.fail_after(DEADLINE_S):
        ended = await trio.run_process(command, cwd=folder, env=searched(folder), capture_stdout=True)
    return ended.stdout.decode().splitlines()


async def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    bash = installed("bash")

    async def completed(*words: str) -> list[str]:
        return await printed(tmp_path, bash, "-c", BASH, "bash", "hookgate", *words)

    assert await completed("sess") == ["sessions"]
    assert await completed("hooks", "li") == ["list"]
    assert await completed("sessions", "") == ["export", "forget", "list", "show"]
    assert await completed("chat", "--tra") == ["--trace"]


async def test_an_id_with_colons_is_completed_where_bash_takes_words_apart_at_them(tmp_path: Path) -> None:
    await fill(journal_in(tmp_path))
    (tmp_path / "start").write_text('PS1="$ "; PROMPT_COMMAND=; eval "$(hookgate completion bash)"\n')
    bash = (installed("bash"), "--rcfile", str(tmp_path / "start"), "-i")
    path = {"PATH": searched(tmp_path)["PATH"]}
    async with open_terminal(tmp_path, anew=True, program=bash, variables=path) as screen:
        await screen.sees("$ ")
        await screen.type("hookgate sessions show telegram:4\t")
        await screen.sees("show telegram:42/default/0 ")


@pytest.fixture
def fish() -> str:
    """Out here, for what skips inside a trio test loses its reason."""
    return installed("fish")


@pytest.fixture
def zsh() -> str:
    return installed("zsh")


async def test_fish_shows_the_whole_of_what_a_command_is_for(tmp_path: Path, fish: str) -> None:
    shown = await printed(tmp_path, fish, "--no-config", "-c", FISH, "hookgate doct")
    assert shown == ["doctor\tWhat is there, what is missing, and what to type."]


async def test_the_script_for_fish_takes_apart_at_the_first_comma_alone(tmp_path: Path) -> None:
    assert "(string split -m 1 , -- $line)" in "\n".join(await printed(tmp_path, "hookgate", "completion", "fish"))
    typed = {"_HOOKGATE_COMPLETE": "fish_complete", "COMP_WORDS": "hookgate doct", "COMP_CWORD": "doct"}
    told = await trio.run_process(["hookgate"], env=searched(tmp_path) | typed, capture_stdout=True)
    assert told.stdout.decode() == "plain,doctor\tWhat is there, what is missing, and what to type.\n"


@pytest.mark.parametrize(
    "start",
    [
        'autoload -Uz compinit && compinit -u -D && eval "$(hookgate completion zsh)"',
        "hookgate completion zsh > _hookgate; fpath=($PWD $fpath); autoload -Uz compinit && compinit -u -D",
    ],
    ids=["evaluated", "a file of fpath"],
)
async def test_what_the_screen_has_no_room_for_zsh_shows_to_a_whole_word(
    tmp_path: Path, zsh: str, start: str
) -> None:
    variables, size = {"PATH": searched(tmp_path)["PATH"]}, (40, 60)
    async with open_terminal(tmp_path, "-f", size=size, anew=True, program=(zsh,), variables=variables) as screen:
        await screen.type(f"PS1='$ '; {start} && echo ready\n")
        await screen.sees("\nready")
        await screen.type("hookgate chat --\t")
        rows = await screen.stands(size, lambda rows: any(row.startswith("--help ") for row in rows))
    shown = dict(row.split(" -- ", 1) for row in rows if " -- " in row)
    assert {name.strip(): text.strip() for name, text in shown.items()}.items() >= {
        "--session": "Keep the conversation, or go...",
        "--no-skill": "Offer no skills to the model.",
    }.items()


async def test_a_zsh_without_compinit_completes_the_value_behind_an_equals_sign_and_keeps_the_option(
    tmp_path: Path, zsh: str
) -> None:
    configured(tmp_path, "http://127.0.0.1:1")
    await fill(journal_in(tmp_path).with_suffix(".sessions") / "cli" / "work.db")
    variables = {"PATH": searched(tmp_path)["PATH"]}
    async with open_terminal(tmp_path, "-f", anew=True, program=(zsh,), variables=variables) as screen:
        # Without compinit: who has none gets it.
        await screen.type("PS1='$ '; eval \"$(hookgate completion zsh)\" && echo ready\n")
        await screen.sees("\nready")
        for typed, completed in VALUES.items():
            await screen.type(f"\x15hookgate {typed}\t")
            await screen.stands((50, 200), lambda rows, whole=completed: rows[-1].rstrip() == f"$ hookgate {whole}")
        assert "command not found" not in screen.shown


async def test_fish_completes_the_value_behind_an_equals_sign_and_keeps_the_option(tmp_path: Path, fish: str) -> None:
    await fill(journal_in(tmp_path).with_suffix(".sessions") / "cli" / "work.db")
    for typed, completed in VALUES.items():
        shown = await printed(tmp_path, fish, "--no-config", "-c", FISH, f"hookgate {typed}")
        assert shown[0] == completed.rpartition(" ")[2]


async def test_a_folder_is_completed_where_an_extension_is_installed_from(tmp_path: Path) -> None:
    typed = {"_HOOKGATE_COMPLETE": "bash_complete", "COMP_WORDS": "hookgate ext install ./s", "COMP_CWORD": "3"}
    told = await trio.run_process(["hookgate"], env=searched(tmp_path) | typed, capture_stdout=True)
    assert told.stdout.decode() == "file,./s\n"


async def test_behind_what_is_no_command_nothing_is_offered(tmp_path: Path) -> None:
    assert await offered(tmp_path, "nosuch", "") == []
    assert await offered(tmp_path, "hooks", "nosuch", "") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
async def test_models_are_completed_from_the_configuration_that_was_named(tmp_path: Path, shell: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    configured(elsewhere, "http://127.0.0.1:1")
    file = str(elsewhere / "hookgate.toml")
    words = ("chat", "--config", file, "--model", "p")
    assert await offered(tmp_path, *words, shell=shell) == ["p/", "p/m"]


async def test_the_hooks_that_are_configured_are_completed(tmp_path: Path) -> None:
    configured(tmp_path, "http://127.0.0.1:1", "".join(map(NO_HOOK.format, ("guard", "log"))))
    assert await offered(tmp_path, "hooks", "try", "") == ["guard", "log"]
    assert await offered(tmp_path, "hooks", "bench", "l") == ["log"]
    # One that stands there is not offered again, and behind the dashes stands a program.
    assert await offered(tmp_path, "hooks", "try", "guard", "") == []
    assert await offered(tmp_path, "hooks", "check", "--", "gu") == ["gu"]


async def test_names_that_are_stored_or_built_in_are_completed_and_no_file_is_made(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    await fill(journal)
    async with open_journal(journal) as opened:
        await Keys(opened).add("api", "ci", "operator")
    await fill(journal.with_suffix(".sessions") / "cli" / "work.db", agent="kept")
    before = files(tmp_path)
    for words, names in {
        ("sessions", "show", "t"): [
            *("telegram:42/default/0", "telegram:42/kept/0", "telegram:7/default/0", "telegram:7/kept/0")
        ],
        ("sessions", "show", "w"): ["work"],
        ("sessions", "list", "--session", ""): ["work"],
        ("people", "remove", ""): ["eve"],
        ("people", "role", "eve", "op"): ["operator"],
        ("people", "role", "eve", "operator", "op"): [],
        ("keys", "revoke", ""): ["ci"],
        ("tools", "show", "ba"): ["bash", "bash_kill", "bash_output"],
        ("hooks", "explain", "--tool", "web"): ["web_fetch"],
        ("hooks", "explain", "--channel", "tele"): ["telegram"],
        ("mcp", "forget", ""): [],
        ("approvals", "decide", ""): [],
        ("control", ""): [],
    }.items():
        assert await offered(tmp_path, *words) == names
    assert files(tmp_path) == before


async def test_an_id_that_several_kept_chats_have_is_offered_where_one_of_them_is_named(
    tmp_path: Path,
) -> None:
    kept = journal_in(tmp_path).with_suffix(".sessions")
    for name in ("cli/one", "cli/two", "rpc/two"):
        await fill(kept / f"{name}.db")
    assert await offered(tmp_path, "sessions", "show", "") == ["one", "rpc/two", "two"]
    ids = ["telegram:42/default/0", "telegram:7/default/0"]
    assert await offered(tmp_path, "sessions", "show", "--session", "one", "") == ids


async def test_what_a_running_gateway_knows_is_completed(tmp_path: Path) -> None:
    async with open_model_server(calls(("1", "ls", "{}"))) as server:
        file = configured(tmp_path, server.base_url, '[[approvals]]\ntools = ["ls"]\n') / "hookgate.toml"
        file.write_text(file.read_text().replace("enabled = false", "enabled = true", 1))
        async with open_pipes(tmp_path, "chat", "--yes-from-stdin") as screen:
            await screen.line("look")
            await screen.sees("allow? ")
            [waiting] = await offered(tmp_path, "approvals", "decide", "")
            assert (await run(tmp_path, "approvals")).stdout.decode().startswith(waiting)
            assert await offered(tmp_path, "control", "approvals.d") == ["approvals.decide"]


async def test_a_gateway_that_does_not_answer_holds_up_no_line(tmp_path: Path) -> None:
    configured(tmp_path, "http://127.0.0.1:1")
    folder = tmp_path / "hookgate"
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(folder / "1.sock"))
        silent.listen()
        assert await offered(tmp_path, "control", "") == []


async def test_where_the_configuration_cannot_be_read_a_shell_is_offered_nothing_and_told_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "hookgate.toml").write_text("[agent\n")
    assert await offered(tmp_path, "chat", "--model", "p") == []


async def test_what_is_printed_is_for_the_shell_that_was_named(tmp_path: Path) -> None:
    for shell, means in (
        ("bash", b"complete -o nosort"),
        ("zsh", b"compdef _hookgate_completion hookgate"),
        ("fish", b"complete --no-files"),
    ):
        ended = await run(tmp_path, "completion", shell)
        assert (ended.returncode, ended.stderr) == (0, b"")
        assert means in ended.stdout
    ended = await run(tmp_path, "completion", "tcsh")
    assert ended.returncode == 2
    assert b"'tcsh' is not one of 'bash', 'zsh', 'fish'" in ended.stderr

"""`hookgate ext` as a person runs it: texts, streams, exit statuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import trio

from hookgate import config as configuration
from hookgate.assembly.extensions.looking import unloaded
from hookgate.cli.ext.installed import list_extensions, places_of, trust, untrust
from hookgate.extensions.discovery import find
from hookgate.extensions.logs import ExtensionLog
from hookgate.extensions.trust import Trust
from hookgate.tools.builtin import Parts, builtin_tools
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.names import BUILTINS, DELEGATE, SEND_FILE
from hookgate.tools.shell.background import open_background
from hookgate.tools.shell.sandbox import Sandbox
from tests.cli.program import DEADLINE_S, HOOKGATE, configured, environment, open_terminal, run
from tests.extensions.made import extension, repository
from tests.machine import with_and_without

EXTENSION = str(Path(__file__).parents[1] / "children" / "zot_ext.py")
HOME = ".local/state/zot"
OWN = ".local/share/hookgate/extensions"


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str


async def ext(folder: Path, *arguments: str, stdin: str = "") -> Ended:
    ended = await run(folder, "ext", *arguments, stdin=stdin.encode())
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def own(folder: Path, name: str, called: str = "", **members: Any) -> Path:
    return extension(folder / OWN / name, called, **members)


def project(folder: Path, name: str, called: str = "", **members: Any) -> Path:
    return extension(folder / ".zot/extensions" / name, called, **members)


def python(mode: str, *more: str) -> dict[str, Any]:
    """Members of a manifest that starts the tests' own extension."""
    return {"exec": sys.executable, "args": [EXTENSION, mode, *more]}


# --- help ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [(), ("help",)])
async def test_help_is_on_stderr_and_no_failure(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ended = await ext(tmp_path, *arguments)
    assert (ended.status, ended.out) == (0, "")
    for command in ("list", "install", "enable", "disable", "trust", "untrust", "remove", "logs", "doctor"):
        assert f"\n  {command} " in ended.err


async def test_an_unknown_subcommand_is_named_after_the_help(tmp_path: Path) -> None:
    ended = await ext(tmp_path, "uninstall", "x")
    assert (ended.status, ended.out) == (1, "")
    assert "\n  remove " in ended.err
    assert ended.err.endswith("\nhookgate: unknown ext subcommand: uninstall\n")


@pytest.mark.parametrize("command", ["enable", "disable", "remove", "rm", "logs", "install", "trust", "untrust"])
async def test_a_missing_name_shows_the_usage(tmp_path: Path, command: str) -> None:
    ended = await ext(tmp_path, command)
    others = {"install": "<path|git-url>", "trust": "<name|dir>", "untrust": "<name|dir>"}
    what, shown = others.get(command, "<name>"), command.replace("rm", "remove")
    assert ended == Ended(1, "", f"hookgate: usage: hookgate ext {shown} {what}\n")


# --- list ---------------------------------------------------------------------------------------------------


async def test_nothing_installed_is_said_on_stderr(tmp_path: Path) -> None:
    assert await ext(tmp_path, "list") == Ended(0, "", "no extensions installed\n")


async def test_the_table_has_the_projects_first_and_shows_broken_ones(tmp_path: Path) -> None:
    own(tmp_path, "weather", version="1.2.0", language="go")
    extension(tmp_path / HOME / "extensions/old", enabled=False)
    project(tmp_path, "p", "mine\u0301", version="\x1b[31m")
    torn = own(tmp_path, "torn")
    (torn / "extension.json").write_text("[]")
    ended = await ext(tmp_path, "list")
    assert (ended.status, ended.err) == (0, "")
    assert [line.split(maxsplit=5) for line in ended.out.splitlines()] == [
        ["scope", "name", "version", "enabled", "language", "dir"],
        ["project", "mine\u0301", "\\x1b[31m", "yes", "-", f"{tmp_path}/.zot/extensions/p  (not trusted)"],
        ["global", "torn", "-", "-", "-", f"{torn}  (parse manifest: it must be an object, not an array)"],
        ["global", "weather", "1.2.0", "yes", "go", f"{tmp_path}/{OWN}/weather"],
        ["global", "old", "-", "no", "-", f"{tmp_path}/{HOME}/extensions/old"],
    ]
    assert len({line.index(str(tmp_path)) for line in ended.out.splitlines()[1:]}) == 1


async def test_a_folder_that_cannot_be_listed_is_a_plain_line(tmp_path: Path) -> None:
    (tmp_path / OWN).parent.mkdir(parents=True)
    (tmp_path / OWN).write_text("")
    project(tmp_path, "p")
    ended = await ext(tmp_path, "list")
    assert ended.status == 1
    assert ended.err == f"hookgate: extension load: {tmp_path}/{OWN}: cannot be listed: Not a directory\n"
    assert "project" in ended.out


async def test_zots_home_comes_from_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "hookgate.toml").write_text(f'[zot]\nhome = "{tmp_path}/elsewhere"\n')
    extension(tmp_path / "elsewhere/extensions/there")
    assert f"{tmp_path}/elsewhere/extensions/there" in (await ext(tmp_path, "list")).out


# --- install ------------------------------------------------------------------------------------------------


async def test_a_folder_and_a_dot_are_installed(tmp_path: Path) -> None:
    extension(tmp_path / "weather", exec="sh")
    assert await ext(tmp_path, "install", "./weather") == Ended(0, "", f"installed {tmp_path}/{OWN}/weather\n")
    extension(tmp_path, "here")
    # HOME holds the folder that it would be copied to.
    ended = await ext(tmp_path, "install", ".")
    assert ended.status == 1
    assert "holds the folder that extensions are installed to" in ended.err


@pytest.mark.needs("git")
async def test_a_repository_is_installed(tmp_path: Path) -> None:
    url = f"file://{repository(extension(tmp_path / 'source'), tmp_path / 'weather.git')}"
    note = f"note: {tmp_path}/{OWN}/weather/run cannot be started yet, and nothing is built here"
    assert await ext(tmp_path, "install", url) == Ended(0, "", f"installed {tmp_path}/{OWN}/weather\n{note}\n")
    again = await ext(tmp_path, "install", url)
    text = f"hookgate: destination {tmp_path}/{OWN}/weather already exists; remove it first\n"
    assert again == Ended(1, "", text)


@with_and_without("git")
async def test_what_cannot_be_installed_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    texts = {
        "empty": "source lacks extension.json",
        "file": "not a directory: file",
        "nowhere": "not a directory: nowhere",
    }
    for source, text in texts.items():
        assert await ext(tmp_path, "install", source) == Ended(1, "", f"hookgate: {text}\n")
    ended = await ext(tmp_path, "install", f"{tmp_path}/nowhere.git")
    assert ended.status == 1
    assert ended.err.startswith(f"hookgate: git clone: {'fatal: ' if which('git') else 'git is not installed'}")
    assert len(ended.err.splitlines()) == 1
    ended = await ext(tmp_path, "install", "--", "-x.git")
    assert ended == Ended(1, "", "hookgate: git clone: '-x.git' is an option, not a URL\n")
    assert not any((tmp_path / OWN).iterdir())


async def test_a_full_disk_is_a_plain_line_and_leaves_nothing(tmp_path: Path) -> None:
    (extension(tmp_path / "weather") / "large").write_bytes(b"x" * 200_000)
    limited = ["sh", "-c", 'ulimit -f 64; exec "$0" "$@"', *HOOKGATE, "ext", "install", "./weather"]
    with trio.fail_after(DEADLINE_S):
        ended = await trio.run_process(
            limited, capture_stdout=True, capture_stderr=True, check=False, cwd=tmp_path, env=environment(tmp_path)
        )
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert ended.stderr == f"hookgate: copy: {tmp_path}/weather/large: File too large\n".encode()
    assert os.listdir(tmp_path / OWN) == []


async def test_a_folder_that_may_not_be_written_is_a_plain_line(tmp_path: Path) -> None:
    (tmp_path / ".local").write_text("")
    extension(tmp_path / "weather")
    ended = await ext(tmp_path, "install", "./weather")
    assert (ended.status, len(ended.err.splitlines())) == (1, 1)
    assert ended.err.startswith("hookgate: ")
    assert "Not a directory" in ended.err


# --- enable, disable, remove --------------------------------------------------------------------------------


async def test_an_extension_is_switched_off_and_on_by_either_name(tmp_path: Path) -> None:
    file = own(tmp_path, "folder", "name", enabled=True, args=["a"]) / "extension.json"
    before = file.read_text()
    assert await ext(tmp_path, "disable", "folder") == Ended(0, "", "disabled folder\n")
    assert file.read_text() == before.replace("true", "false")
    assert " no " in (await ext(tmp_path, "list")).out
    assert await ext(tmp_path, "enable", "name") == Ended(0, "", "enabled name\n")
    assert file.read_text() == before


@pytest.mark.parametrize(
    ("command", "names"),
    [("enable", ["wether"]), ("disable", ["../weather"]), ("remove", ["wether", "../weather", ".", "/"])],
)
async def test_an_unknown_name_is_told(tmp_path: Path, command: str, names: list[str]) -> None:
    own(tmp_path, "weather")
    for name in names:
        assert await ext(tmp_path, command, name) == Ended(1, "", f'hookgate: extension "{name}" not found\n')


@pytest.mark.parametrize("command", ["disable", "remove"])
async def test_an_ambiguous_name_lists_the_paths_and_changes_nothing(tmp_path: Path, command: str) -> None:
    directories = [project(tmp_path, "a", "same"), own(tmp_path, "same", "b")]
    before = [(it / "extension.json").read_text() for it in directories]
    ended = await ext(tmp_path, command, "same", stdin="y\n")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.splitlines()[1:] == [f"  {it}" for it in directories]
    assert [(it / "extension.json").read_text() for it in directories] == before


async def test_a_path_chooses_one_of_several(tmp_path: Path) -> None:
    first, second = project(tmp_path, "same"), own(tmp_path, "same")
    assert (await ext(tmp_path, "remove", "--yes", "./.zot/extensions/same")).err == f"removed {first}\n"
    assert (first.exists(), second.exists()) == (False, True)


@pytest.mark.parametrize("answer", ["", "\n", "n\n", "yes\n", "N\n", " yy\n"])
async def test_only_a_y_removes(tmp_path: Path, answer: str) -> None:
    directory = own(tmp_path, "weather")
    ended = await ext(tmp_path, "remove", "weather", stdin=answer)
    assert ended == Ended(0, "", f"remove {directory} ? [y/N] \naborted\n")
    assert (directory / "extension.json").exists()


@pytest.mark.parametrize("answer", ["y\n", "Y\n", "y"])
async def test_a_y_removes(tmp_path: Path, answer: str) -> None:
    directory = own(tmp_path, "weather")
    ended = await ext(tmp_path, "rm", "weather", stdin=answer)
    assert ended == Ended(0, "", f"remove {directory} ? [y/N] \nremoved {directory}\n")
    assert os.listdir(tmp_path / OWN) == []


@pytest.mark.parametrize("typed", ["n\n", "\x04"])
async def test_at_a_terminal_the_answer_has_a_line_of_its_own(tmp_path: Path, typed: str) -> None:
    directory = own(tmp_path, "weather")
    async with open_terminal(tmp_path, "ext", "remove", "weather") as screen:
        await screen.sees("[y/N] ")
        await screen.type(typed)
        assert await screen.ends() == 0
        await screen.sees("aborted\n")
    assert screen.shown.replace("n\n", "\n").splitlines() == [f"remove {directory} ? [y/N] ", "aborted"]


@pytest.mark.parametrize("flag", ["--yes", "-y"])
async def test_with_yes_nothing_is_asked(tmp_path: Path, flag: str) -> None:
    directory = own(tmp_path, "weather")
    assert await ext(tmp_path, "remove", "weather", flag) == Ended(0, "", f"removed {directory}\n")
    assert not directory.exists()


async def test_a_broken_extension_can_be_removed_but_not_enabled(tmp_path: Path) -> None:
    directory = own(tmp_path, "torn", exec="")
    ended = await ext(tmp_path, "enable", "torn")
    assert ended == Ended(1, "", f"hookgate: {directory}: manifest: exec is required\n")
    assert (await ext(tmp_path, "rm", "-y", "torn")).status == 0


# --- trust --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Here:
    """The commands in this process, as somebody at home in this folder runs them."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def trust(self, name: str) -> tuple[int, str]:
        return trust(name, places_of(None), self._trust), self.capsys.readouterr().err

    def untrust(self, name: str) -> tuple[int, str]:
        return untrust(name, places_of(None), self._trust), self.capsys.readouterr().err

    def mark(self) -> str:
        """What stands behind the extension's folder."""
        assert list_extensions(None, as_json=False) == 0
        return self.capsys.readouterr().out.splitlines()[1].partition("/weather")[2].strip()

    @property
    def _trust(self) -> Trust:
        return Trust(configuration.trust_folder())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "ZOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return Here(tmp_path, capsys)


@pytest.mark.parametrize("name", ["weather", "./.zot/extensions/weather"])
def test_a_projects_extension_is_trusted_until_it_changes(here: Here, name: str) -> None:
    directory = project(here.folder, "weather")
    assert here.mark() == "(not trusted)"
    assert here.trust(name) == (0, f"trusted {directory}\n")
    assert here.mark() == ""
    (directory / "run").write_text("changed")
    assert here.mark() == "(changed since it was trusted)"
    assert list_extensions(None, as_json=True) == 0
    [row] = json.loads(here.capsys.readouterr().out)
    assert (row["name"], row["enabled"], row["why_not"]) == ("weather", "yes", "changed since it was trusted")
    assert here.trust(name)[0] == 0
    assert here.untrust(name) == (0, f"untrusted {directory}\n")
    assert here.mark() == "(not trusted)"
    assert here.untrust(name) == (0, f"{directory} was not trusted\n")


def test_an_installed_one_of_the_same_name_is_in_nobody_s_way(here: Here) -> None:
    own(here.folder, "weather")
    directory = project(here.folder, "weather")
    assert here.trust("weather") == (0, f"trusted {directory}\n")
    assert here.untrust("weather") == (0, f"untrusted {directory}\n")


def test_what_cannot_be_trusted_says_why(here: Here) -> None:
    mine, torn = own(here.folder, "mine"), project(here.folder, "torn", exec="")
    assert here.trust("mine") == (1, f"hookgate: {mine} is installed: only a project's extensions are asked about\n")
    assert here.trust("none") == (1, 'hookgate: extension "none" not found\n')
    assert here.trust(str(torn)) == (1, f"hookgate: {torn}: manifest: exec is required\n")


@pytest.mark.parametrize("name", ["nl\nhookgate: all is well", os.fsdecode(b"bad\xff")])
def test_whatever_a_folder_is_called_it_is_one_line_and_can_be_trusted(here: Here, name: str) -> None:
    project(here.folder, name, "fine")
    status, said = here.trust("fine")
    assert (status, said.count("\n")) == (0, 1)
    assert here.mark() == ""
    lines = unloaded(find((), places_of(None), Trust(here.folder / "none").standing))
    assert [line.count("\n") for line in lines] == [0]


def test_an_operator_who_trusts_all_sees_no_marks(here: Here) -> None:
    (here.folder / "hookgate.toml").write_text('[zot]\ntrust = "always"\n')
    project(here.folder, "weather")
    assert here.mark() == ""


# --- logs ---------------------------------------------------------------------------------------------------


def log(folder: Path, name: str, max_bytes: int = 1024 * 1024) -> ExtensionLog:
    return ExtensionLog(folder / HOME / "logs" / f"ext-{name}.log", max_bytes)


async def test_a_log_is_shown_as_it_stands(tmp_path: Path) -> None:
    own(tmp_path, "folder", "weather")
    log(tmp_path, "weather").lines([b"\x1b[31mred", b"\xff"])
    for name in ("weather", "folder"):
        ended = await run(tmp_path, "ext", "logs", name)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"\x1b[31mred\n\xff\n", b"")


async def test_a_log_of_what_is_not_installed_any_more_is_shown(tmp_path: Path) -> None:
    log(tmp_path, "gone").host("exited")
    assert (await ext(tmp_path, "logs", "gone")).out == "[zot] exited\n"


@pytest.mark.parametrize("flags", [(), ("-f",)])
async def test_without_a_log_its_path_is_told(tmp_path: Path, flags: tuple[str, ...]) -> None:
    own(tmp_path, "weather")
    path = tmp_path / HOME / "logs/ext-weather.log"
    ended = await ext(tmp_path, "logs", "weather", *flags)
    assert ended == Ended(1, "", f'hookgate: no log for "weather" at {path}\n')


async def test_a_log_is_never_read_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / HOME / "logs" / "ext-a").mkdir(parents=True)
    (tmp_path / "secret.log").write_text("secret")
    ended = await ext(tmp_path, "logs", "a/../../../../../secret")
    assert (ended.status, ended.out) == (1, "")


async def test_a_terminal_gets_no_control_characters(tmp_path: Path) -> None:
    log(tmp_path, "weather").lines([b"a\x1b]0;title\x07b", "é".encode()])
    async with open_terminal(tmp_path, "ext", "logs", "weather") as screen:
        await screen.sees("a\\x1b]0;title\\x07b")
        await screen.sees("é")
        assert await screen.ends() == 0


@asynccontextmanager
async def following(folder: Path, name: str) -> AsyncGenerator[tuple[trio.Process, trio.abc.ReceiveStream]]:
    # Whoever starts the tests in the background has Ctrl-C ignored by all of them.
    heeds = "import os, signal as s, sys; s.signal(s.SIGINT, s.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
    process = await trio.lowlevel.open_process(
        [sys.executable, "-c", heeds, *HOOKGATE, "ext", "logs", "-f", name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=environment(folder),
    )
    assert process.stdout
    try:
        async with process.stdout:
            with trio.fail_after(DEADLINE_S):
                yield process, process.stdout
    finally:
        with trio.CancelScope(shield=True):
            if process.poll() is None:
                process.kill()
            await process.wait()


async def until(stream: trio.abc.ReceiveStream, end: bytes) -> bytes:
    seen = b""
    while not seen.endswith(end):
        data = await stream.receive_some()
        assert data, seen
        seen += data
    return seen


async def test_a_followed_log_goes_on_over_rotation_until_ctrl_c(tmp_path: Path) -> None:
    written = log(tmp_path, "weather", max_bytes=64)
    written.lines([b"first"])
    async with following(tmp_path, "weather") as (process, stream):
        assert await until(stream, b"first\n") == b"first\n"
        for number in range(40):
            written.lines([b"%020d" % number])
            assert await until(stream, b"%020d\n" % number) == b"%020d\n" % number
            if number > 4:
                break
        assert (written.path.parent / "ext-weather.log.2").exists()
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0
        assert await stream.receive_some() == b""


async def test_a_followed_log_ends_quietly_when_nobody_reads_it(tmp_path: Path) -> None:
    written = log(tmp_path, "weather")
    written.lines([b"first"])
    async with following(tmp_path, "weather") as (process, stream):
        await until(stream, b"first\n")
        await stream.aclose()
        written.lines([b"more"])
        assert await process.wait() == 0


# --- doctor -------------------------------------------------------------------------------------------------


async def test_the_doctor_starts_each_and_tells_what_is_odd(tmp_path: Path) -> None:
    project(tmp_path, "a", "first", **python("plain"), version="1")
    own(tmp_path, "b", "second", **python("plain"))
    own(tmp_path, "c", "absent", exec="./absent")
    own(tmp_path, "d", "first")
    own(tmp_path, "e", "off", enabled=False)
    own(tmp_path, "f", exec="")
    stranger = project(tmp_path, "b", "stranger", **python("plain"))
    assert (await ext(tmp_path, "trust", f"{tmp_path}/.zot/extensions/a")).status == 0
    ended = await ext(tmp_path, "doctor")
    logs = f"{tmp_path}/{HOME}/logs"
    found = tmp_path / OWN
    ready = ["  ready: it said so", "  tools: do", "  commands: /Do"]
    assert (ended.status, ended.err) == (1, "")
    assert ended.out.splitlines() == [
        f"first 1 (project) {tmp_path}/.zot/extensions/a",
        f"  command: {sys.executable} {EXTENSION} plain",
        *ready,
        f"  log: {logs}/ext-first.log",
        f"second - (global) {found}/b",
        f"  command: {sys.executable} {EXTENSION} plain",
        *ready,
        f"  log: {logs}/ext-second.log",
        f"absent - (global) {found}/c",
        f"  command: {found}/c/absent",
        f"  extension load: {found}/c: spawn: {found}/c/absent: No such file or directory",
        f"  log: {logs}/ext-absent.log",
        "conflict: tool do of second: first has it",
        "conflict: command /Do of second: first has it",
        f"disabled: off {found}/e",
        f"not loaded: extension first: {found}/d is not loaded, {tmp_path}/.zot/extensions/a comes first",
        f"not started: extension stranger ({stranger}) is not trusted yet: "
        f"run 'hookgate ext trust {stranger}' to load it",
        f"extension load: {found}/f: manifest: exec is required",
    ]


async def test_a_healthy_set_is_no_failure_and_a_named_folder_is_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "hookgate.toml").write_text("[zot.extensions.quiet]\nenabled = false\n")
    own(tmp_path, "quiet", **python("plain"))
    named = extension(tmp_path / "named", **python("plain"))
    ended = await ext(tmp_path, "doctor", "-e", str(named))
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith(f"named - (ext) {named}\n")
    assert "  off: the configuration does not enable it\n" in ended.out


async def test_what_the_doctor_finds_is_there_for_programs_too(tmp_path: Path) -> None:
    (tmp_path / "hookgate.toml").write_text("[zot.extensions.quiet]\nenabled = false\n")
    own(tmp_path, "quiet", **python("plain"))
    own(tmp_path, "gone", exec="/nowhere/at-all")
    named = extension(tmp_path / "named", **python("plain"))
    ended = await ext(tmp_path, "doctor", "--json", "-e", str(named))
    told = json.loads(ended.out)
    assert (ended.status, ended.err) == (1, "")
    states = {it["name"]: (it["state"], it["how_ready"], bool(it["failed"])) for it in told["extensions"]}
    assert states["quiet"] == ("off", None, False)
    assert states["gone"] == ("failed", None, True)
    assert states["named"][0] == "ready"
    assert states["named"][1] in ("frame", "silence")
    assert not states["named"][2]
    assert set(told) == {"extensions", "conflicts", "disabled", "not_loaded", "not_started", "problems"}


SET_HERE = {
    **{"WEATHER_KEY": "k", "GOPROXY": "http://u:secret@127.0.0.1:9", "HTTPS_PROXY": "http://u:secret@127.0.0.1:9"},
    **{"UV_INDEX_URL": "x", "GOOGLE_KEY": "x"},
}


def behind_a_proxy(folder: Path, at: Path) -> tuple[str, dict[str, str]]:
    """An extension that a `go` starts: its line, and the variables that are set."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "go").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (programs / "go").chmod(0o755)
    extension(at, **{**python("plain"), "exec": "go"})
    (at / "key.go").write_text('os.Getenv("WEATHER_KEY")')
    line = (
        "extension there: its code mentions WEATHER_KEY and go reads GOPROXY, HTTPS_PROXY, which are set here and "
        'not handed to it; [zot.extensions.there] env_pass = ["GOPROXY", "HTTPS_PROXY", "WEATHER_KEY"] does that'
    )
    return line, {**SET_HERE, "PATH": f"{programs}:{os.environ['PATH']}"}


async def test_the_doctor_always_names_the_variables_of_code_and_toolchain_and_the_log_keeps_it(
    tmp_path: Path,
) -> None:
    line, variables = behind_a_proxy(tmp_path, tmp_path / OWN / "there")
    for _ in range(2):
        ended = await run(tmp_path, "ext", "doctor", **variables)
        assert (ended.returncode, ended.stderr) == (0, b"")
        assert f"  {line}\n" in ended.stdout.decode()
        assert b"secret" not in ended.stdout
    assert (await ext(tmp_path, "logs", "there")).out.count(f"[zot] {line}\n") == 2


async def test_what_an_earlier_version_did_not_see_in_the_same_code_is_seen_now(tmp_path: Path) -> None:
    extension(tmp_path / OWN / "there", **python("plain"))
    (tmp_path / OWN / "there" / "key.js").write_text('import { env } from "node:process"; env.WEATHER_KEY')
    for _ in range(2):
        ended = await run(tmp_path, "ext", "doctor", WEATHER_KEY="k")
        assert "its code mentions WEATHER_KEY, which is set here" in ended.stdout.decode()
        (learnt,) = (tmp_path / ".local/state/hookgate/extensions").glob("*.json")
        learnt.write_text(json.dumps({**json.loads(learnt.read_text()), "variables": []}))


async def test_what_one_project_was_told_of_variables_is_still_said_in_another(tmp_path: Path) -> None:
    line, variables = behind_a_proxy(tmp_path, tmp_path / OWN / "there")
    for name, said in (("a", True), ("a", False), ("b", True)):
        (tmp_path / name).mkdir(exist_ok=True)
        folder = configured(tmp_path / name, "http://127.0.0.1:9/v1")
        ended = await run(folder, "chat", stdin=b"/quit\n", home=tmp_path, **variables)
        assert (ended.returncode, f"{line}\n" in ended.stderr.decode()) == (0, said)


async def test_all_built_in_tools_are_known_by_name(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    async with open_background(tmp_path) as background:
        parts = Parts(workspace, Sandbox("none", workspace.root, workspace.root, ""), {}, background)
        assert {tool.spec.name for tool in builtin_tools(parts)} == set(BUILTINS) - {"skill", SEND_FILE, DELEGATE}


async def test_the_doctor_of_nothing_says_so(tmp_path: Path) -> None:
    assert await ext(tmp_path, "doctor") == Ended(0, "no extensions installed\n", "")

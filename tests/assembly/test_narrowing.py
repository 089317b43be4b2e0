"""What a grant for some arguments goes by: only what is certain."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from hookgate.approvals.binding import Permit
from hookgate.approvals.grants import begins
from hookgate.approvals.rules import Rule
from hookgate.assembly.narrowing import parts_in, plain_words, scripts_in
from hookgate.protocol.journal.values import PolicyChanged
from hookgate.protocol.values import ToolCall
from tests.approvals.asking import CALL, STEP, YES, House, Person


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("git status --short", ("git", "status", "--short")),
        ("git  log 'a b'", ("git", "log", "a b")),
        ('echo "a b"c', ("echo", "a bc")),
        ("git status; rm x", None),
        ("git status && rm x", None),
        ("git status & ", None),
        ("git status | sh", None),
        ("git status > x", None),
        ("git status\nrm x", None),
        ("git $(rm x)", None),
        ("git `rm x`", None),
        ("git $HOME", None),
        ('git "$HOME"', None),
        ("git *", None),
        ("A=1 git status", None),
        ("(git status)", None),
        ("! git status", None),
        ("git status <(ls)", None),
        ("git 'status", None),
        ("git st\\\natus", None),
        ("", None),
    ],
)
def test_a_command_has_words_where_it_is_one_and_nothing_else(line: str, words: tuple[str, ...] | None) -> None:
    assert plain_words(line) == words


@pytest.mark.parametrize(
    ("name", "path", "inside"),
    [
        ("edit", "src/a.py", True),
        ("edit", "src/../src/a.py", True),
        ("edit", "./src", True),
        ("edit", "src/../secrets", False),
        ("edit", "srcs/a.py", False),
        ("edit", "/etc/passwd", False),
        ("edit", "~/src", False),
        ("edit", "", False),
        ("anything", "src/a.py", False),
    ],
)
def test_a_path_lies_in_a_folder_by_its_components(name: str, path: str, inside: bool) -> None:
    parts = parts_in(Path("/work"))
    prefix = parts(ToolCall("c", "edit", {"path": "src"}))
    assert prefix is not None
    assert begins(parts(ToolCall("c", name, {"path": path})), prefix) is inside


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("src/a.py", True),
        ("src/new/a.py", True),
        ("src/linked/a.py", False),
        ("src/linked/../a.py", False),
        ("src/one.py", False),
        ("src/back/a.py", True),
        ("way/a.py", True),
        ("src/\0", False),
    ],
)
def test_a_path_lies_where_its_links_lead(tmp_path: Path, path: str, inside: bool) -> None:
    for folder in ("src", "other/deep"):
        (tmp_path / folder).mkdir(parents=True)
    for link, to in (
        ("src/linked", "other/deep"),
        ("src/one.py", "other/one.py"),
        ("src/back", "src"),
        ("way", "src"),
    ):
        (tmp_path / link).symlink_to(tmp_path / to)
    parts = parts_in(tmp_path)
    prefix = parts(ToolCall("c", "write", {"path": "src"}))
    assert prefix is not None
    assert begins(parts(ToolCall("c", "write", {"path": path})), prefix) is inside


async def test_a_script_that_was_changed_after_it_was_allowed_does_not_run(tmp_path: Path) -> None:
    script = tmp_path / "deploy.sh"
    script.write_text("echo fine")
    call = replace(CALL, arguments={"command": "sh ./deploy.sh now"})
    house = House(Rule("shell"), scripts=partial(scripts_in, tmp_path))
    wishes = house.approvals.wishes(STEP, call)
    permit = await house.settle(wishes, Person([YES]), call=call)
    assert isinstance(permit, Permit)
    script.write_text("rm -r .")
    with pytest.raises(PolicyChanged, match="a file that it runs or changes is another one"):
        await house.approvals.spend(permit)
    script.write_text("echo fine")
    await house.approvals.spend(permit)
    assert scripts_in(tmp_path, replace(CALL, arguments={"command": "ls"})) == ""


@pytest.mark.parametrize(
    "command", ["sh 'the deploy.sh' x", 'cd . && sh "the deploy.sh">out', "sh the\\ deploy.sh;ls"]
)
def test_a_script_with_a_blank_in_its_name_is_a_file_that_a_command_names(tmp_path: Path, command: str) -> None:
    call, script = replace(CALL, arguments={"command": command}), tmp_path / "the deploy.sh"
    script.write_text("echo fine")
    allowed = scripts_in(tmp_path, call)
    script.write_text("rm -r .")
    assert (allowed != "", scripts_in(tmp_path, call) != allowed) == (True, True)
    assert scripts_in(tmp_path, replace(CALL, arguments={"command": "echo it's open"})) == ""


@pytest.mark.parametrize(
    "command",
    [
        "cd sub && ./x.sh",
        "cd -P sub; sh x.sh",
        "(cd sub/deep/..;./x.sh)",
        "cd sub/deep && cd .. && ./x.sh",
        "sh -c 'cd sub && ./x.sh'",
        "cd 'sub' && sh 'x.sh'",
        "env --chdir=sub ./x.sh",
        "env -C sub sh x.sh",
        "pushd sub >/dev/null; ./x.sh",
        f"cat {' '.join(f'f{n}' for n in range(100))}; sh sub/x.sh",
    ],
)
def test_a_script_in_a_folder_that_a_command_goes_to_is_one_that_it_names(tmp_path: Path, command: str) -> None:
    (tmp_path / "sub/deep").mkdir(parents=True)
    for n in range(100):
        (tmp_path / f"f{n}").write_text("")
    call, script = replace(CALL, arguments={"command": command}), tmp_path / "sub/x.sh"
    script.write_text("echo fine")
    allowed = scripts_in(tmp_path, call)
    assert (allowed != "", scripts_in(tmp_path, call) == allowed) == (True, True)
    script.write_text("rm -rf .")
    assert scripts_in(tmp_path, call) != allowed


def test_a_command_that_goes_to_more_folders_than_can_be_looked_in_is_never_the_same(tmp_path: Path) -> None:
    call = replace(CALL, arguments={"command": "; ".join(f"cd d{n}" for n in range(2000))})
    assert scripts_in(tmp_path, call) != scripts_in(tmp_path, call)


def test_what_is_no_name_of_a_file_or_too_large_to_be_a_script_is_not_read(tmp_path: Path) -> None:
    assert scripts_in(tmp_path, replace(CALL, arguments={"command": "#" + "x" * 5000})) == ""
    disk = replace(CALL, arguments={"command": "./disk"})
    with (tmp_path / "disk").open("wb") as file:
        file.truncate(1 << 40)
    before = scripts_in(tmp_path, disk)
    os.utime(tmp_path / "disk", ns=(1, 1))
    assert scripts_in(tmp_path, disk) not in ("", before)

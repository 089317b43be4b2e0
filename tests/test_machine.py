"""`make test` on any machine: it installs what its tests need or says what to install, and leaves out by name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.machine import APT, PACKAGES, Without, install

ROOT = Path(__file__).parents[1]
NAMES = tuple(PACKAGES)
LINE = "without {names} on PATH: tests that need it are left out; to run them too: apt-get install {packages}\n"
DEADLINE_S = 120.0


@pytest.fixture
def bare(tmp_path: Path, without: Without, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that comes first on a PATH without apt-get and without what the tests need."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{without('apt-get', *NAMES)}")
    return folder


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_root_installs_what_is_missing_and_nothing_else(
    bare: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program(bare / "jq", "")
    names = " ".join(f"{bare}/{name}" for name in NAMES)
    program(bare / "apt-get", f'echo "$*" >> {tmp_path}/asked; echo noise; touch {names}; chmod +x {names}')
    install(0)
    wanted = [package for name, package in PACKAGES.items() if name != "jq"]
    steps = (["update"], ["install", "-y", "--no-install-recommends", *wanted])
    assert (tmp_path / "asked").read_text().splitlines() == [" ".join([*APT[1:], *step]) for step in steps]
    assert capfd.readouterr().out == ""
    install(0)
    assert len((tmp_path / "asked").read_text().splitlines()) == 2


def test_who_is_not_root_reads_in_one_line_what_to_install(bare: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program(bare / "jq", "")
    program(bare / "apt-get", "echo not asked")
    install(1000)
    assert capfd.readouterr().out == LINE.format(
        names="bwrap, chromium, git, psql, rg", packages="bubblewrap chromium git postgresql ripgrep"
    )


@pytest.mark.parametrize("script", ["echo no network >&2; exit 100", ""])
def test_an_installation_that_fails_is_told_and_the_tests_go_on(
    bare: Path, script: str, capfd: pytest.CaptureFixture[str]
) -> None:
    if script:
        program(bare / "apt-get", script)
    install(0)
    assert capfd.readouterr().out == LINE.format(names=", ".join(NAMES), packages=" ".join(PACKAGES.values()))


@pytest.mark.usefixtures("bare")
def test_what_needs_a_program_that_is_not_there_is_left_out_and_named_not_skipped() -> None:
    file = "tests/tools/search/test_grep_engines.py"
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file, "-k", "both_engines or gitignore"]
    ended = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert ended.returncode == 0, ended.stdout
    assert LINE.format(names=", ".join(NAMES), packages=" ".join(PACKAGES.values())) in ended.stdout
    assert "1 passed" in ended.stdout
    assert "skipped" not in ended.stdout


def steps(folder: Path, target: str) -> str:
    """What make would do there."""
    argv = ["make", "--no-print-directory", "-n", target]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=DEADLINE_S, check=True).stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with a .venv that make takes for finished."""
    places = (str(it.relative_to(ROOT)) for it in ROOT.glob("tests/**/npm"))
    for name in ("Makefile", "pyproject.toml", "requirements", *places):
        source, copy = ROOT / name, tmp_path / "clone" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy)
    folder = tmp_path / "clone" / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").symlink_to(sys.executable)
    (folder / "pip").write_text(f"#!{folder}/python3\n")
    locks = {f".{it.stem}" for it in (ROOT / "requirements").glob("*.lock")}
    # Each after what it is made of.
    first = ("bin/uv", ".run", ".dev", "bin/go", ".mcp", ".axe", ".openrpc", ".sdk")
    for name in (*first, *sorted(locks - set(first))):
        (folder.parent / name).touch()
    return tmp_path / "clone"


def test_what_is_on_path_is_looked_at_with_every_run(clone: Path) -> None:
    assert "-m tests.machine" in steps(clone, "test")
    assert "uv" not in steps(clone, "test")


def test_go_comes_as_a_wheel_where_none_is_on_path(clone: Path, without: Without) -> None:
    assert "go.lock" not in steps(clone, "test")
    (clone / ".venv" / "bin" / "go").unlink()
    without("go")
    assert "requirements/go.lock" in steps(clone, "test")


@pytest.mark.parametrize("gone", ["another folder", "no Python"])
def test_a_venv_of_another_place_or_python_is_made_anew(clone: Path, gone: str) -> None:
    if gone == "another folder":
        clone = clone.rename(clone.with_name("moved"))
    else:
        (clone / ".venv" / "bin" / "python").unlink()
        os.symlink("/nowhere/python3", clone / ".venv" / "bin" / "python")
    assert "-m venv .venv" in steps(clone, "test")


def test_who_cannot_install_behind_a_proxy_reads_what_to_type(tmp_path: Path) -> None:
    programs = tmp_path / "venv" / "bin"
    programs.mkdir(parents=True)
    program(programs / "uv", "echo invalid peer certificate: UnknownIssuer >&2; exit 2")
    program(programs / "pip", f"# {programs}/python")
    (programs / "python").symlink_to(sys.executable)
    stamp = tmp_path / "venv" / ".run"
    ended = subprocess.run(
        ["make", f"VENV={tmp_path}/venv", str(stamp)], cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S
    )
    assert ended.returncode == 2
    assert "UnknownIssuer" in ended.stderr
    assert f"UV_SYSTEM_CERTS=1 make {stamp}\n" in ended.stderr
    assert not stamp.exists()

"""Installing from a folder: all of it or nothing, under its own name, for the first who comes."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path

import pytest

from hookgate.extensions.folders import InstallRefused, remove_tree, settle, vanish
from hookgate.extensions.install import install
from hookgate.extensions.sdk import SDKS, plugins_folder
from tests.extensions.made import extension, git


def put(source: Path | str, folder: Path) -> Path:
    return install(str(source), folder / "own", git(folder))


def refusal(source: Path | str, folder: Path) -> str:
    """The text; and nothing is left behind."""
    before = left(folder)
    with pytest.raises(InstallRefused) as refused:
        put(source, folder)
    assert left(folder) == before
    return str(refused.value)


def left(folder: Path) -> list[str]:
    return sorted(os.listdir(folder / "own")) if (folder / "own").exists() else []


def test_a_folder_is_copied_whole_with_its_modes(tmp_path: Path) -> None:
    source = extension(tmp_path / "weather")
    (source / "run").write_text("#!/bin/sh\n")
    (source / "run").chmod(0o750)
    (source / "lib" / "deep").mkdir(parents=True)
    (source / "lib" / "deep" / "a").write_bytes(b"\0\xff")
    (source / "lib").chmod(0o555)
    (source / ".hidden").write_text("kept")
    made = put(source, tmp_path)
    assert made == tmp_path / "own" / "weather"
    assert (made / "run").stat().st_mode & 0o777 == 0o750
    assert (made / "lib").stat().st_mode & 0o777 == 0o555
    assert (made / "lib" / "deep" / "a").read_bytes() == b"\0\xff"
    assert (made / ".hidden").read_text() == "kept"
    assert left(tmp_path) == ["weather"]
    remove_tree(made)
    assert left(tmp_path) == []
    (source / "lib").chmod(0o755)  # a folder that its owner may not change is left behind by whoever clears up


def test_a_dot_is_resolved_to_the_folder_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(extension(tmp_path / "weather"))
    assert put(".", tmp_path) == tmp_path / "own" / "weather"
    assert put("../weather/../weather/../weather/", tmp_path / "again").name == "weather"


def test_a_linked_folder_is_copied_under_the_links_name(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(extension(tmp_path / "real"))
    made = put(tmp_path / "link", tmp_path)
    assert made.name == "link"
    assert made.is_dir()
    assert not made.is_symlink()


@pytest.mark.parametrize("what", ["nowhere", "file", "http://example.org/weather"])
def test_what_is_no_folder_is_refused(tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert refusal(what, tmp_path) == f"not a directory: {what}"


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert refusal(tmp_path / "empty", tmp_path) == "source lacks extension.json"


def test_a_folder_with_a_broken_manifest_is_refused(tmp_path: Path) -> None:
    source = extension(tmp_path / "lazy", exec="")
    assert refusal(source, tmp_path) == f"{source}: manifest: exec is required"


def test_what_is_there_already_is_not_touched(tmp_path: Path) -> None:
    made = put(extension(tmp_path / "weather", version="1"), tmp_path)
    extension(tmp_path / "weather", version="2")
    text = refusal(tmp_path / "weather", tmp_path)
    assert text == f"destination {made} already exists; remove it first"
    assert '"version": "1"' in (made / "extension.json").read_text()


@pytest.mark.parametrize("there", [Path.touch, Path.mkdir, lambda path: path.symlink_to("/nowhere")])
def test_anything_of_that_name_is_in_the_way(tmp_path: Path, there: Callable[[Path], None]) -> None:
    (tmp_path / "own").mkdir()
    there(tmp_path / "own" / "weather")
    assert "already exists" in refusal(extension(tmp_path / "weather"), tmp_path)


@pytest.mark.parametrize("name", [".hidden", "a\nb", "a\\b"])
def test_a_folder_whose_name_could_not_be_loaded_is_refused(tmp_path: Path, name: str) -> None:
    assert "the name of its folder would be" in refusal(extension(tmp_path / name, "fine"), tmp_path)


def test_the_root_of_all_folders_is_refused(tmp_path: Path) -> None:
    assert refusal("/", tmp_path) == "source lacks extension.json"


def test_a_folder_that_would_be_copied_into_itself_is_refused(tmp_path: Path) -> None:
    source = extension(tmp_path / "outer")
    with pytest.raises(InstallRefused, match="holds the folder that extensions are installed to"):
        install(str(source), source / "deep" / "own", git(tmp_path))
    assert os.listdir(source) == ["extension.json"]


# --- symbolic links -----------------------------------------------------------------------------------------


def test_links_that_stay_inside_are_copied_as_links(tmp_path: Path) -> None:
    source = extension(tmp_path / "weather")
    (source / "bin").mkdir()
    (source / "bin" / "run").write_text("x")
    (source / "plain").symlink_to("bin/run")
    (source / "bin" / "up").symlink_to("../plain")
    (source / "folder").symlink_to("bin")
    (source / "later").symlink_to("not-built-yet")
    made = put(source, tmp_path)
    texts = {name: os.readlink(made / name) for name in ("plain", "bin/up", "folder", "later")}
    assert texts == {"plain": "bin/run", "bin/up": "../plain", "folder": "bin", "later": "not-built-yet"}


def test_links_by_absolute_path_or_by_the_folders_own_name_lead_to_the_copy(tmp_path: Path) -> None:
    source = extension(tmp_path / "weather")
    (source / "bin").mkdir()
    (source / "bin" / "run").write_text("x")
    (source / "absolute").symlink_to(source / "bin" / "run")
    (source / "bin" / "around").symlink_to("../../weather/bin/run")
    made = put(source, tmp_path / "far")
    source.rename(tmp_path / "gone")
    assert (made / "absolute").read_text() == (made / "bin" / "around").read_text() == "x"
    assert (os.readlink(made / "absolute"), os.readlink(made / "bin" / "around")) == ("bin/run", "run")


@pytest.mark.parametrize("target", ["/etc/passwd", "../secret", "sub/../../secret", "chain"])
def test_a_link_that_leads_outside_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "secret").write_text("s")
    source = extension(tmp_path / "weather")
    (source / "sub").mkdir()
    (source / "chain").symlink_to("../secret")
    (source / "chain").unlink() if target != "chain" else None
    (source / "link").symlink_to(target)
    text = refusal(source, tmp_path)
    assert text.startswith("the symbolic link ")
    assert text.endswith("; aborted and rolled back")


@pytest.mark.parametrize("name", SDKS)
@pytest.mark.parametrize("target", ["../../{}", "/etc/passwd", "/nowhere"])
def test_a_link_named_as_an_sdk_becomes_hookgates_own_file_wherever_it_led(
    tmp_path: Path, name: str, target: str
) -> None:
    source = extension(tmp_path / "weather")
    (source / name).symlink_to(target.format(name))
    made = put(source, tmp_path)
    plugins = plugins_folder()
    assert plugins is not None
    assert not (made / name).is_symlink()
    assert (made / name).read_bytes() == (plugins / "python" / name).read_bytes()


def test_a_manifest_that_is_a_link_to_elsewhere_is_refused(tmp_path: Path) -> None:
    real = extension(tmp_path / "real")
    (tmp_path / "weather").mkdir()
    (tmp_path / "weather" / "extension.json").symlink_to(real / "extension.json")
    assert "leads outside" in refusal(tmp_path / "weather", tmp_path)


# --- when it goes wrong -------------------------------------------------------------------------------------


def test_what_cannot_be_copied_is_refused_before_anything_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(extension(tmp_path / "weather"))
    os.mkfifo("pipe")
    assert refusal(".", tmp_path) == f"copy: {tmp_path}/weather/pipe is neither a file nor a folder"
    os.unlink("pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    assert "is neither a file nor a folder" in refusal(".", tmp_path)


@pytest.fixture
def full_disk() -> Generator[None]:
    """No file may grow over 4 KiB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("full_disk")
def test_a_file_that_cannot_be_written_rolls_back(tmp_path: Path) -> None:
    source = extension(tmp_path / "weather")
    (source / "small").write_text("x")
    _sparse(source / "large", 64 * 1024)
    assert refusal(source, tmp_path) == f"copy: {source}/large: File too large"


def _sparse(path: Path, size: int) -> None:
    """Made by a process that no limit holds."""
    subprocess.run(["sh", "-c", f"ulimit -f unlimited; truncate -s {size} '{path}'"], check=True, timeout=10)


def test_a_folder_that_cannot_be_made_is_an_os_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("a file where the folder should be")
    with pytest.raises(OSError, match="own"):
        put(extension(tmp_path / "weather"), tmp_path)


def test_of_many_at_once_one_wins_and_the_others_are_told(tmp_path: Path) -> None:
    sources = [extension(tmp_path / str(number) / "same", version=str(number)) for number in range(8)]
    for source in sources:
        for number in range(40):
            (source / str(number)).write_text(source.parent.name)
    told: list[str] = []
    ready = threading.Barrier(len(sources))

    def one(source: Path) -> None:
        ready.wait(10)
        try:
            put(source, tmp_path)
        except InstallRefused as refused:
            told.append(str(refused))

    threads = [threading.Thread(target=one, args=(source,)) for source in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    made = tmp_path / "own" / "same"
    assert told == [f"destination {made} already exists; remove it first"] * 7
    assert left(tmp_path) == ["same"]
    assert len({(made / str(number)).read_text() for number in range(40)}) == 1


def test_a_folder_that_appears_at_the_last_moment_is_kept(tmp_path: Path) -> None:
    aside, destination = extension(tmp_path / ".aside"), extension(tmp_path / "there", "first")
    with pytest.raises(InstallRefused, match="already exists"):
        settle(aside, destination)
    assert '"first"' in (destination / "extension.json").read_text()


# --- removing -----------------------------------------------------------------------------------------------


def test_a_removed_link_leaves_what_it_led_to(tmp_path: Path) -> None:
    real = extension(tmp_path / "real")
    (tmp_path / "link").symlink_to(real)
    vanish(tmp_path / "link")
    assert os.listdir(tmp_path) == ["real"]
    assert (real / "extension.json").exists()


def test_a_read_only_folder_is_removed_and_links_in_it_are_not_followed(tmp_path: Path) -> None:
    outside = extension(tmp_path / "outside")
    outside.chmod(0o755)
    directory = extension(tmp_path / "x")
    (directory / "sub").mkdir()
    (directory / "sub" / "file").write_text("")
    (directory / "out").symlink_to(outside)
    for path in (directory / "sub", directory):
        path.chmod(0o555)
    vanish(directory)
    assert os.listdir(tmp_path) == ["outside"]
    assert outside.stat().st_mode & 0o777 == 0o755
    assert (outside / "extension.json").exists()


def test_nothing_is_removed_where_nothing_is(tmp_path: Path) -> None:
    remove_tree(tmp_path / "nothing")
    with suppress(FileNotFoundError):
        vanish(tmp_path / "nothing")
    assert os.listdir(tmp_path) == []

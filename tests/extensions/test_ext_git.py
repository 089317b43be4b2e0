"""Installing from git: real clones of local repositories."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from hookgate.extensions.folders import InstallRefused
from hookgate.extensions.git import Git, clone, clone_name, is_url
from hookgate.extensions.install import install
from tests.extensions.made import extension, git, repository

needs_git = pytest.mark.needs("git")


def bare(folder: Path, name: str = "weather") -> Path:
    source = extension(folder / "source" / name)
    (source / "run").write_text("#!/bin/sh\n")
    (source / "run").chmod(0o755)
    return repository(source, folder / f"{name}.git")


def left(folder: Path) -> list[str]:
    return os.listdir(folder / "own") if (folder / "own").exists() else []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("https://example.org/a/weather", True),
        ("git@example.org:a/weather", True),
        ("ssh://git@example.org/weather", True),
        ("file:///srv/weather", True),
        ("/srv/weather.git", True),
        ("../weather.git", True),
        ("git://example.org/weather.git", True),
        ("http://example.org/weather", False),
        ("./weather", False),
        ("git-tools", False),
    ],
)
def test_what_git_fetches(source: str, expected: bool) -> None:
    assert is_url(source) is expected


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://example.org/a/weather.git", "weather"),
        ("https://example.org/a/weather/", "weather"),
        ("git@example.org:weather.git", "weather"),
        ("git@example.org:a/b/weather", "weather"),
        ("ssh://git@example.org:22/weather.git", "weather"),
        ("/srv/weather.git", "weather"),
        ("https://example.org/..", ".."),
        ("https://example.org/.git", ""),
    ],
)
def test_the_folder_is_called_like_the_repository(url: str, name: str) -> None:
    assert clone_name(url) == name


@pytest.mark.parametrize("spelled", ["{}", "file://{}"])
@needs_git
def test_a_repository_is_cloned_shallow_with_its_modes(tmp_path: Path, spelled: str) -> None:
    made = install(spelled.format(bare(tmp_path)), tmp_path / "own", git(tmp_path))
    assert made == tmp_path / "own" / "weather"
    assert (made / "run").stat().st_mode & 0o111
    assert left(tmp_path) == ["weather"]
    if spelled != "{}":
        assert (made / ".git" / "shallow").exists()


@needs_git
def test_a_repository_without_a_manifest_is_rolled_back(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "README").write_text("")
    with pytest.raises(InstallRefused) as refused:
        install(str(repository(source, tmp_path / "empty.git")), tmp_path / "own", git(tmp_path))
    assert str(refused.value) == "installed dir lacks extension.json; aborted and rolled back"
    assert left(tmp_path) == []


@needs_git
def test_a_repository_with_a_broken_manifest_is_rolled_back(tmp_path: Path) -> None:
    source = extension(tmp_path / "source", exec="")
    with pytest.raises(InstallRefused) as refused:
        install(str(repository(source, tmp_path / "lazy.git")), tmp_path / "own", git(tmp_path))
    assert str(refused.value) == "manifest: exec is required; aborted and rolled back"
    assert left(tmp_path) == []


@needs_git
def test_a_repository_whose_links_lead_outside_is_rolled_back(tmp_path: Path) -> None:
    source = extension(tmp_path / "source")
    (source / "out").symlink_to("/etc/passwd")
    with pytest.raises(InstallRefused, match="the symbolic link out leads outside, to /etc/passwd; aborted"):
        install(str(repository(source, tmp_path / "sly.git")), tmp_path / "own", git(tmp_path))
    assert left(tmp_path) == []


@needs_git
def test_a_clone_stays_as_git_made_it(tmp_path: Path) -> None:
    source = extension(tmp_path / "source")
    (source / "a").write_text("")
    (source / "b").symlink_to("./a")
    (source / "c").symlink_to("b")
    made = install(str(repository(source, tmp_path / "linked.git")), tmp_path / "own", git(tmp_path))
    assert (os.readlink(made / "b"), os.readlink(made / "c")) == ("./a", "b")


@needs_git
def test_a_repository_that_is_not_there_says_so_in_gits_words(tmp_path: Path) -> None:
    with pytest.raises(InstallRefused, match=r"^git clone: fatal: .*nowhere\.git") as refused:
        install(f"file://{tmp_path}/nowhere.git", tmp_path / "own", git(tmp_path))
    assert "\n" not in str(refused.value)
    assert left(tmp_path) == []


def test_what_is_there_already_is_told_before_anything_is_fetched(tmp_path: Path) -> None:
    (tmp_path / "own" / "weather").mkdir(parents=True)
    with pytest.raises(InstallRefused, match="already exists"):
        install(f"file://{tmp_path}/nowhere/weather.git", tmp_path / "own", git(tmp_path))


@pytest.mark.parametrize(
    "url", ["https://h/..", "https://h/.git", "git@h:..git", "https://h/a\\b.git", "x/\x1b[1m.git"]
)
def test_a_url_whose_name_would_lead_elsewhere_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(InstallRefused, match="the name of its folder would be"):
        install(url, tmp_path / "own", git(tmp_path))


@pytest.mark.parametrize("url", ["-x.git", "--upload-pack=touch own.git", "--config=core.pager=x.git"])
def test_an_option_is_no_url(tmp_path: Path, url: str) -> None:
    with pytest.raises(InstallRefused, match="is an option, not a URL"):
        install(url, tmp_path / "own", git(tmp_path))
    assert left(tmp_path) == []


def test_a_url_that_is_a_command_is_not_run(tmp_path: Path) -> None:
    url = f"ext::sh -c touch%% {tmp_path}/ran %S.git"
    with pytest.raises(InstallRefused, match="transport 'ext' not allowed"):
        clone(url, tmp_path / "to", git(tmp_path, GIT_ALLOW_PROTOCOL="ext"))
    assert not (tmp_path / "ran").exists()


@needs_git
def test_no_hook_of_the_repository_or_of_a_template_is_run(tmp_path: Path) -> None:
    source = extension(tmp_path / "source")
    hooks = (source / "hooks", tmp_path / "template" / "hooks")
    for folder in hooks:
        folder.mkdir(parents=True)
        (folder / "post-checkout").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (folder / "post-checkout").chmod(0o755)
    (tmp_path / ".gitconfig").write_text(f"[core]\nhooksPath = hooks\n[init]\ntemplateDir = {tmp_path}/template\n")
    made = install(str(repository(source, tmp_path / "sly.git")), tmp_path / "own", git(tmp_path))
    assert (made / "hooks" / "post-checkout").exists()
    assert not (tmp_path / "ran").exists()


@needs_git
def test_a_surrounding_git_command_does_not_turn_the_clone_to_itself(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    around = {"GIT_DIR": str(other), "GIT_WORK_TREE": str(other), "GIT_INDEX_FILE": str(other / "index")}
    made = install(str(bare(tmp_path)), tmp_path / "own", git(tmp_path, **around))
    assert (made / "extension.json").exists()
    assert os.listdir(other) == []


def test_a_machine_without_git_says_so(tmp_path: Path) -> None:
    with pytest.raises(InstallRefused, match=r"^git clone: git is not installed$"):
        clone("https://example.org/weather.git", tmp_path / "to", Git({"PATH": str(tmp_path)}))


@needs_git
def test_a_server_that_never_answers_is_given_up_and_no_process_of_it_stays(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"git://127.0.0.1:{server.getsockname()[1]}/weather.git"
        with pytest.raises(InstallRefused, match=r"^git clone: not done after 1\.5 s$"):
            install(url, tmp_path / "own", git(tmp_path, timeout_s=1.5))
        server.settimeout(10)
        connection, _ = server.accept()
        with connection:
            connection.settimeout(10)
            while connection.recv(4096):
                pass
    assert left(tmp_path) == []


@needs_git
def test_a_question_is_not_asked_but_answered_with_no(tmp_path: Path) -> None:
    """A server that wants a password: git gives up at once."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_refuse_once, args=(server,))
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/weather.git"
        with pytest.raises(InstallRefused, match=r"^git clone: .*terminal prompts disabled"):
            install(url, tmp_path / "own", git(tmp_path, no_proxy="127.0.0.1", GIT_TERMINAL_PROMPT="1"))
        thread.join(10)


def _refuse_once(server: socket.socket) -> None:
    server.settimeout(20)
    connection, _ = server.accept()
    with connection:
        connection.settimeout(20)
        asked = b""
        while b"\r\n\r\n" not in asked:
            asked += connection.recv(4096)
        connection.sendall(
            b'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm="x"\r\n'
            b"Content-Length: 0\r\nConnection: close\r\n\r\n"
        )


@needs_git
def test_of_two_clones_at_once_one_wins(tmp_path: Path) -> None:
    url, told = f"file://{bare(tmp_path)}", list[str]()

    def one() -> None:
        try:
            install(url, tmp_path / "own", git(tmp_path))
        except InstallRefused as refused:
            told.append(str(refused))

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert told == [f"destination {tmp_path}/own/weather already exists; remove it first"] * 2
    assert left(tmp_path) == ["weather"]

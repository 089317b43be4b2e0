"""An extension's log: what is written, how files move on, and following them."""

from __future__ import annotations

import os
import threading
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from hookgate.extensions.following import Follower
from hookgate.extensions.logs import ExtensionLog, log_file


def kept(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(path.parent.iterdir())}


def test_lines_and_host_lines_are_appended_to_a_private_file(tmp_path: Path) -> None:
    path = log_file(tmp_path / "zot", "weather")
    assert path == tmp_path / "zot" / "logs" / "ext-weather.log"
    log = ExtensionLog(path)
    log.lines([b"one", b"\xfftwo"])
    log.host("exited\nwith status 1")
    log.lines([])
    assert path.read_bytes() == b"one\n\xfftwo\n[zot] exited with status 1\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_making_a_log_makes_no_file(tmp_path: Path) -> None:
    ExtensionLog(tmp_path / "logs" / "x.log")
    assert not (tmp_path / "logs").exists()


def test_a_file_that_would_grow_too_large_moves_on_and_the_oldest_goes(tmp_path: Path) -> None:
    log = ExtensionLog(tmp_path / "x.log", max_bytes=10, keep=3)
    for number in range(12):
        log.lines([b"%04d" % number])
    assert kept(log.path) == {
        "x.log": b"0010\n0011\n",
        "x.log.1": b"0008\n0009\n",
        "x.log.2": b"0006\n0007\n",
        "x.log.3": b"0004\n0005\n",
    }


def test_the_newest_line_always_stands_in_the_current_file(tmp_path: Path) -> None:
    log = ExtensionLog(tmp_path / "x.log", max_bytes=10, keep=1)
    for number in range(30):
        log.lines([b"%d" % number])
        assert log.path.read_bytes().endswith(b"%d\n" % number)


def test_a_line_over_the_limit_is_kept_whole(tmp_path: Path) -> None:
    log = ExtensionLog(tmp_path / "x.log", max_bytes=10)
    log.lines([b"a"])
    log.lines([b"b" * 50])
    log.lines([b"c"])
    assert kept(log.path) == {"x.log": b"c\n", "x.log.1": b"b" * 50 + b"\n", "x.log.2": b"a\n"}


def test_without_older_files_the_full_one_goes(tmp_path: Path) -> None:
    log = ExtensionLog(tmp_path / "x.log", max_bytes=10, keep=0)
    for number in range(5):
        log.lines([b"%04d" % number])
    assert kept(log.path) == {"x.log": b"0004\n"}


def test_many_writers_of_one_file_lose_and_tear_no_line(tmp_path: Path) -> None:
    path, ready = tmp_path / "x.log", threading.Barrier(4)

    def write(who: int) -> None:
        log = ExtensionLog(path, max_bytes=2000, keep=100)
        ready.wait(10)
        for number in range(200):
            log.lines([b"%d-%04d-%s" % (who, number, b"x" * 20)])

    threads = [threading.Thread(target=write, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    lines = [line for data in kept(path).values() for line in data.splitlines()]
    assert sorted(lines) == [b"%d-%04d-%s" % (who, n, b"x" * 20) for who in range(4) for n in range(200)]


def test_a_full_disk_is_told_once_and_never_raised() -> None:
    log = ExtensionLog(Path("/dev/full"))
    with capture_logs() as told:
        for _ in range(5):
            log.lines([b"lost"])
    assert [(it["event"], it["reason"]) for it in told] == [("extension_log_unwritable", "No space left on device")]


def test_a_folder_that_cannot_be_made_is_told_and_writing_goes_on_once_it_can(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("in the way")
    log = ExtensionLog(tmp_path / "logs" / "x.log")
    with capture_logs() as told:
        log.lines([b"lost"])
        (tmp_path / "logs").unlink()
        log.lines([b"kept"])
        (tmp_path / "logs" / "x.log").unlink()
        (tmp_path / "logs").rmdir()
        (tmp_path / "logs").write_text("again")
        log.lines([b"lost"])
    assert [it["reason"] for it in told] == ["Not a directory"] * 2


# --- following ----------------------------------------------------------------------------------------------


def read(follower: Follower) -> bytes:
    return b"".join(follower.news())


def test_a_follower_reads_what_is_there_and_then_what_comes(tmp_path: Path) -> None:
    log = ExtensionLog(tmp_path / "x.log")
    log.lines([b"old"])
    with closing(Follower(log.path)) as follower:
        assert read(follower) == b"old\n"
        assert read(follower) == b""
        log.lines([b"new"])
        assert read(follower) == b"new\n"


@pytest.mark.parametrize("between", [1, 2, 3, 5, 6])
def test_a_follower_misses_nothing_over_files_that_move_on(tmp_path: Path, between: int) -> None:
    """`between`: lines from look to look; two fill a file, and with three older ones eight can wait."""
    log, lines = ExtensionLog(tmp_path / "x.log", max_bytes=10), [b"%04d" % number for number in range(60)]
    log.lines(lines[:1])
    seen = b""
    with closing(Follower(log.path)) as follower:
        for start in range(1, len(lines), between):
            for line in lines[start : start + between]:
                log.lines([line])
            seen += read(follower)
    assert seen.splitlines() == lines


def test_a_follower_that_was_left_behind_goes_on_with_what_is_kept(tmp_path: Path) -> None:
    log = ExtensionLog(tmp_path / "x.log", max_bytes=10)
    log.lines([b"0000"])
    with closing(Follower(log.path)) as follower:
        assert read(follower) == b"0000\n"
        for number in range(1, 40):
            log.lines([b"%04d" % number])
        # Its own file has gone; it still has it open, and so its last line.
        assert read(follower).split() == [b"0001", *(b"%04d" % number for number in range(32, 40))]


def test_a_log_that_is_removed_and_made_again_is_followed(tmp_path: Path) -> None:
    log = ExtensionLog(tmp_path / "x.log")
    log.lines([b"one"])
    with closing(Follower(log.path)) as follower:
        assert read(follower) == b"one\n"
        log.path.unlink()
        assert read(follower) == b""
        log.lines([b"two"])
        assert read(follower) == b"two\n"


def test_a_log_that_is_emptied_in_place_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = ExtensionLog(tmp_path / "x.log")
    log.lines([b"a long line"])
    with closing(Follower(log.path)) as follower:
        assert read(follower) == b"a long line\n"
        os.truncate(log.path, 0)
        log.lines([b"new"])
        assert read(follower) == b"new\n"


def test_without_a_file_there_is_nothing_to_follow(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Follower(tmp_path / "x.log")

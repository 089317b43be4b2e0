"""The file of what was typed: shared by chats that run at once, cut to a length, nobody else's to read."""

from __future__ import annotations

from pathlib import Path

from hookgate.cli.terminal.keyboard.editor.history import LONGEST, MOST, History


def test_two_chats_at_once_keep_what_both_have_said_and_the_oldest_goes(tmp_path: Path) -> None:
    file, told = tmp_path / "state" / "chat-history", list[str]()
    one, other = History(file, told.append), History(file, told.append)
    assert one.read() == other.read() == []
    for number in range(MOST + 1):
        one.add(f"one {number}")
        other.add(f"other\n{number}")
    one.add("x" * (LONGEST + 1))
    last = [f"other\n{MOST - 1}", f"one {MOST}", f"other\n{MOST}"]
    assert one.read()[-3:] == last
    # It was cut, and the other one goes on in the file that is there now.
    other.add("after")
    kept = History(file, told.append).read()
    assert (len(kept), kept[-2:]) == (MOST, [last[-1], "after"])
    assert len(file.read_bytes().splitlines()) == MOST + 1
    assert file.stat().st_mode & 0o777 == 0o600
    assert [it.name for it in file.parent.iterdir()] == [file.name]
    assert told == []


def test_what_was_sent_several_times_running_is_there_once(tmp_path: Path) -> None:
    history = History(tmp_path / "chat-history", lambda _line: None)
    for message in ("go on", "go on", "why?", "go on", "go on"):
        history.add(message)
    assert history.read() == ["go on", "why?", "go on"]


def test_a_history_that_cannot_be_written_is_told_once() -> None:
    told = list[str]()
    history = History(Path("/proc/nowhere/chat-history"), told.append)
    assert history.read() == []
    history.add("hello")
    assert [it.partition(":")[0] for it in told] == ["! the history is not kept"]

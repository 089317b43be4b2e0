"""What ends a command: a line for a person and a status for scripts, whatever wraps it."""

from __future__ import annotations

from pathlib import Path
from subprocess import PIPE, run

import pytest

from hookgate.config import ConfigError
from hookgate.hooks.children.supervise import RequiredHookFailed
from hookgate.program.endings import CONFIGURATION, INTERRUPTED, PIPE_CLOSED, ending
from tests.cli.program import DEADLINE_S, HOOKGATE, environment


def test_several_interrupts_at_once_are_one() -> None:
    inner = BaseExceptionGroup("", [KeyboardInterrupt(), KeyboardInterrupt()])
    outer = BaseExceptionGroup("", [inner, KeyboardInterrupt()])
    assert ending(outer) == ("hookgate: interrupted", INTERRUPTED)


def test_things_to_mend_that_come_at_once_have_a_line_each() -> None:
    both = ExceptionGroup("", [RequiredHookFailed("a", "it is not there"), ConfigError("agent.model: none")])
    found = ending(both)
    assert found is not None
    assert len(found[0].splitlines()) == 2
    assert found[1] == CONFIGURATION


def test_what_is_a_fault_of_ours_keeps_its_traceback_whatever_else_there_is() -> None:
    assert ending(BaseExceptionGroup("", [KeyboardInterrupt(), ValueError("ours")])) is None


@pytest.mark.parametrize("words", ["--help", "--version", "chat --help", "completion zsh", "docs"])
def test_what_cannot_be_printed_is_a_line_or_none_and_a_status(tmp_path: Path, words: str) -> None:
    line = " ".join([*HOOKGATE, words])

    def told(line: str) -> str:
        ended = run(["/bin/sh", "-c", line], env=environment(tmp_path), stderr=PIPE, timeout=DEADLINE_S, text=True)
        return ended.stderr

    assert told(f"{line} >/dev/full; echo $? >&2") == "hookgate: output: No space left on device\n1\n"
    assert told(f"({line}; echo $? >&2) | :") == f"{PIPE_CLOSED}\n"


@pytest.mark.parametrize("words", ["docs terminal", "hooks explain --tool größe😀 --json"])
def test_what_the_locale_cannot_write_is_written_out_and_json_is_what_it_is(tmp_path: Path, words: str) -> None:
    (tmp_path / "hookgate.toml").touch()

    def shown(encoding: str) -> bytes:
        told = environment(tmp_path) | {"PYTHONIOENCODING": encoding}
        return run(
            [*HOOKGATE, *words.split()], env=told, cwd=tmp_path, stdout=PIPE, timeout=DEADLINE_S, check=True
        ).stdout

    whole = shown("utf-8")
    assert not whole.isascii()
    assert shown("ascii") == (whole if "--json" in words else whole.decode().encode("ascii", "backslashreplace"))

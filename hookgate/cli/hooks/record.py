"""`hookgate hooks record`: the stage calls of a running gateway, or of an event file, into a file of their own."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from hookgate.cli.hooks.recorded import calls_in
from hookgate.cli.printing import counted, failed, say
from hookgate.cli.running import looked_at
from hookgate.config import ConfigError
from hookgate.control.client import ControlFailed, NothingRunning, call
from hookgate.mistakes import close
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.rehearsal.recording import Line, bounded_lines, look, open_events, open_recording

WAIT_S = 10.0


@dataclass(frozen=True)
class Wanted:
    """`hooks`: the calls of these alone; empty: of all. `most`: after so many it ends; None: when it is ended."""

    file: Path
    hooks: tuple[str, ...] = ()
    most: int | None = None


@dataclass(frozen=True)
class _Kept:
    calls: int = 0
    redacted: int = 0
    missed: int = 0

    def and_one(self, line: Line) -> _Kept:
        return replace(self, calls=self.calls + 1, redacted=self.redacted + line.redacted)


def record_gateway(wanted: Wanted, config_file: Path | None, control: Path | None) -> int:
    """Until it is interrupted, has what was wanted, or the gateway has gone. Raises ConfigError, NothingRunning,
    ControlFailed, OSError."""
    found = looked_at(config_file, control, "hooks.record")
    _known(wanted, found.path)
    with _opened(wanted.file) as file:
        name = str(call(found.path, "hooks.record"))
        kept, gone = _Kept(), ""
        try:
            # In here: whoever has read it may press Ctrl-C at once.
            sys.stderr.write(f"{found.title} its stage calls go to {wanted.file}; Ctrl-C ends it\n")
            sys.stderr.flush()
            while wanted.most is None or kept.calls < wanted.most:
                kept = _fetched(file, wanted, kept, call(found.path, "hooks.recorded", [name, WAIT_S]))
        except (NothingRunning, ControlFailed) as error:
            gone = str(error)
        except KeyboardInterrupt:
            sys.stderr.write("\n")
            kept = _ended(file, wanted, kept, found.path, name)
        else:
            _end(found.path, name)
    _told(wanted, kept)
    there = f"; what came until then is in {wanted.file}" if kept.calls else ""
    return failed(f"the gateway answers no more: {gone}{there}") if gone else 0


def _known(wanted: Wanted, path: Path) -> None:
    """Of a name that no hook has nothing would ever come. Raises ConfigError, NothingRunning, ControlFailed."""
    if not wanted.hooks:
        return
    there = {str(row["name"]) for row in cast("list[dict[str, Any]]", call(path, "hooks.list"))}
    for name in wanted.hooks:
        if name not in there:
            names = ", ".join(sorted(there)) or "none"
            raise ConfigError(f"there is no hook {name!r}{close(name, there)} (there are: {names})")


def _fetched(file: IO[bytes], wanted: Wanted, kept: _Kept, answer: object) -> _Kept:
    fetched = cast("dict[str, Any]", answer)
    kept = replace(kept, missed=int(fetched["missed"]))
    return _written(file, wanted, kept, (line.encode() for line in fetched["lines"]))


def _ended(file: IO[bytes], wanted: Wanted, kept: _Kept, path: Path, name: str) -> _Kept:
    """With what has come since the last time."""
    with suppress(NothingRunning, ControlFailed):
        kept = _fetched(file, wanted, kept, call(path, "hooks.recorded", [name, 0]))
        _end(path, name)
    return kept


def _end(path: Path, name: str) -> None:
    with suppress(NothingRunning, ControlFailed):
        call(path, "hooks.record_end", [name])


def record_events(wanted: Wanted, events: Path) -> int:
    """What an event file has of them. Raises ConfigError, OSError."""
    try:
        source = open_events(events)
    except OSError as error:
        raise ConfigError(f"{events}: {error.strerror}") from None
    with source, _opened(wanted.file) as file:
        kept = _written(file, wanted, _Kept(), (line for line in bounded_lines(source) if line is not None))
    if not kept.calls:
        return failed(f"{events}: {_none_of(wanted, events)}")
    _told(wanted, kept)
    return 0


def _none_of(wanted: Wanted, events: Path) -> str:
    if there := ", ".join(sorted(calls_in(events))):
        return f"no stage call of {', '.join(wanted.hooks)} is in it: there are those of {there}"
    return "no stage call is in it: no hook was asked, or an older hookgate wrote it"


@contextmanager
def _opened(path: Path) -> Generator[IO[bytes]]:
    """Nothing stays of one in which nothing has been written, whatever ends it: it would be in the way of the next.
    Raises ConfigError."""
    try:
        file = open_recording(path)
    except FileExistsError:
        raise ConfigError(f"{path}: there is such a file already") from None
    with file:
        try:
            yield file
        finally:
            if not file.tell():
                path.unlink(missing_ok=True)


def _written(file: IO[bytes], wanted: Wanted, kept: _Kept, lines: Iterator[bytes]) -> _Kept:
    for text in lines:
        line = look(text)
        if line is None or (wanted.hooks and line.hook not in wanted.hooks):
            continue
        if wanted.most is not None and kept.calls >= wanted.most:
            break
        file.write(text.rstrip(b"\n") + b"\n")
        kept = kept.and_one(line)
    return kept


def _told(wanted: Wanted, kept: _Kept) -> None:
    for line in _summary(wanted, kept):
        say(line)


def _summary(wanted: Wanted, kept: _Kept) -> Sequence[str]:
    lines = [f"{counted(kept.calls, 'call')} in {wanted.file}."]
    if not kept.calls:
        whose = f" of {', '.join(wanted.hooks)}" if wanted.hooks else ""
        lines = [f"No call{whose} came: there is no {wanted.file}."]
    if kept.redacted:
        lines.append(
            f"In {kept.redacted} of them marks like [REDACTED:1f0c] stand for secrets: a replay asks about the "
            "marks, so what a hook makes of the secrets themselves is not tried."
        )
    if kept.missed:
        lines.append(f"{counted(kept.missed, 'call')} came faster than they were fetched, and are missing.")
    return lines

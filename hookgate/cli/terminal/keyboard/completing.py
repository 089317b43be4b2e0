"""What Tab makes of what has been typed so far: a command, what stands behind one, or the name of a file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

if TYPE_CHECKING:
    from hookgate.cli.terminal.keyboard.edited import EditedKeyboard

MOST, MOST_WORDS = 200, 8
OPENING = "\"'`(["
"""What may stand before the name of a file."""


class LineCompleter(Completer):
    def __init__(self, keyboard: EditedKeyboard) -> None:
        self._keyboard = keyboard

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        typed = document.text_before_cursor
        if typed.startswith("/") and "\n" not in typed:
            found = [*self._keyboard.complete(typed)][:MOST]
            yield from (Completion(f"{line} ", -len(typed), display=line.split()[-1]) for line in sorted(found))
            if found:
                return
        yield from _named(self._keyboard.folder, typed.rpartition("\n")[2])


def _named(home: Path, line: str) -> Sequence[Completion]:
    """By its last word; where nothing is called so, by more of them: names may have blanks."""
    starts = [it.start() for it in re.finditer(r"\S+", line)][-MOST_WORDS:]
    words = (line[start:].lstrip(OPENING) for start in reversed(starts))
    return next((found for word in words if word and (found := [*_files(home, word.removeprefix("@"))])), ())


def _files(home: Path, typed: str) -> Iterator[Completion]:
    """Those that begin as typed, from this folder on; a folder goes on."""
    folder, _, begins = typed.rpartition("/")
    place = home / Path(f"{folder}/" if folder or typed.startswith("/") else ".").expanduser()
    for name, is_folder in sorted(_listed(place, begins)):
        yield Completion(name + ("/" if is_folder else " "), -len(begins), display=name + ("/" if is_folder else ""))


def _listed(place: Path, begins: str) -> Iterator[tuple[str, bool]]:
    found = 0
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                hidden = entry.name.startswith(".") and not begins.startswith(".")
                # What a line cannot show is not typed by itself either.
                if entry.name.startswith(begins) and not hidden and entry.name.isprintable():
                    yield entry.name, entry.is_dir()
                    found += 1
                if found == MOST:
                    return
    except OSError:
        return

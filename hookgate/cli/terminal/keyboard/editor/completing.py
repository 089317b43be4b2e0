"""What Tab makes of what has been typed so far: a command, what stands behind one, or the name of a file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from hookgate.protocol.dataclasses import dataclass

if TYPE_CHECKING:
    from hookgate.cli.terminal.keyboard.edited import EditedKeyboard

MOST, MOST_WORDS = 200, 8
QUOTES = "\"'`"
OPENING = f"{QUOTES}([@"
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
    """By what stands behind an open quote, or by its last word; where nothing is called so, by more of them: names
    may have blanks."""
    starts = [it.start() for it in re.finditer(r"\S+", line)][-MOST_WORDS:]
    words = sorted((_word(line[start:]) for start in reversed(starts)), key=lambda it: not it.quote)
    return next((found for word in words if word.begun and (found := [*_files(home, word)])), ())


@dataclass(frozen=True)
class _Word:
    """`quote`: the one that is open before it; `begun`: there is something to complete."""

    typed: str
    quote: str
    begun: bool


def _word(text: str) -> _Word:
    typed = text.lstrip(OPENING)
    before = text[: len(text) - len(typed)]
    quote = next((it for it in reversed(before) if it in QUOTES and it not in typed), "")
    return _Word(typed, quote, bool(typed) or "@" in before)


def _files(home: Path, word: _Word) -> Iterator[Completion]:
    """Those that begin as typed, from this folder on, in quotes where they have blanks; a folder goes on."""
    folder, slash, begins = word.typed.rpartition("/")
    place = home / Path(f"{folder}/" if folder or slash else ".").expanduser()
    for name, is_folder in sorted(_listed(place, begins)):
        path = f"{folder}{slash}{name}"
        quote = word.quote or next((it for it in QUOTES if it not in path and " " in path), "")
        opened = "" if word.quote else quote
        shown = f"{name}/" if is_folder else name
        yield Completion(opened + path + ("/" if is_folder else f"{quote} "), -len(word.typed), display=shown)


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

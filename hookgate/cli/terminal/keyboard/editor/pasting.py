"""What is pasted, known as that however its mark comes: a slow line may tear it anywhere."""

from __future__ import annotations

import re
from typing import TextIO

from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.input.vt100_parser import Vt100Parser

ESCAPE, BEGINS = "\x1b", "\x1b[200~"
_BEGUN = re.compile(r"\x1b(\[(2(00?)?)?)?\Z")


def keys_of(terminal: TextIO) -> Vt100Input:
    keys = Vt100Input(terminal)
    keys.vt100_parser = PasteParser(keys.vt100_parser.feed_key_callback)
    return keys


class PasteParser(Vt100Parser):
    """An Esc that nothing follows is a key after a while, but stays what a paste's mark may have begun with; what has
    come of one beyond that waits for its rest, however long that takes: nobody types it."""

    _held = ""
    """The end of what has come, where a mark may have begun."""
    _escaped = False
    """The Esc at the beginning of that has been a key already."""

    def feed(self, data: str) -> None:
        come, self._held = self._held + data, ""
        if self._in_bracketed_paste:
            super().feed(come)
            return
        typed, mark, pasted = come.partition(BEGINS)
        if not mark and (begun := _BEGUN.search(come)):
            typed, self._held = come[: begun.start()], begun[0]
        if self._escaped and (typed or mark):
            self._escaped = False
            typed = typed.removeprefix(ESCAPE)
        super().feed(typed)
        if mark:
            super().flush()
            super().feed(mark)
            self.feed(pasted)

    def flush(self) -> None:
        if self._held == ESCAPE and not self._escaped:
            self._escaped = True
            super().feed(ESCAPE)
        if self._escaped or not self._held:
            super().flush()

"""What a terminal shows of what is written to it: as much of one as a chat needs."""

from __future__ import annotations

import re
from unicodedata import combining, east_asian_width

_TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b([=>D78])|\x1b\][^\x07]*\x07|([\s\S])")


class Window:
    """Rows scroll off at the top; a row that is full goes on in the next one with the next character, and is one line
    with it where the width changes."""

    def __init__(self, rows: int, columns: int) -> None:
        self._rows, self._columns = rows, columns
        self._cells = [[""] * columns for _ in range(rows)]
        self._folded = [False] * rows
        self._row = self._column = 0
        self._saved = (0, 0)

    @property
    def shown(self) -> list[str]:
        rows = ["".join(cell or " " for cell in row).rstrip() for row in self._cells]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def write(self, text: str) -> None:
        for found in _TOKEN.finditer(text):
            if found[4]:
                self._put(found[4])
            elif found[2]:
                self._control(found[1], found[2])
            elif found[3]:
                self._escape(found[3])

    def fold(self, columns: int) -> None:
        """The same lines in so many columns."""
        lines, (last, offset) = self._unfolded()
        cells: list[list[str]] = []
        folded: list[bool] = []
        for number, line in enumerate(lines[: last + 1]):
            if number == last:
                self._row, self._column = len(cells) + offset // columns, offset % columns
            pieces = [line[begin : begin + columns] for begin in range(0, max(len(line), 1), columns)]
            cells += [piece + [""] * (columns - len(piece)) for piece in pieces]
            folded += [True] * (len(pieces) - 1) + [False]
        over, below = max(len(cells) - len(self._cells), 0), max(len(self._cells) - len(cells), 0)
        self._cells = cells[over:] + [[""] * columns for _ in range(below)]
        self._folded = folded[over:] + [False] * below
        self._row, self._columns = self._row - over, columns

    def _unfolded(self) -> tuple[list[list[str]], tuple[int, int]]:
        """The lines, and in which of them the cursor stands, and where."""
        lines: list[list[str]] = [[]]
        at = (0, 0)
        for number, (cells, folded) in enumerate(zip(self._cells, self._folded, strict=True)):
            if number == self._row:
                at = len(lines) - 1, len(lines[-1]) + self._column
            used = max((column for column, cell in enumerate(cells, 1) if cell), default=0)
            lines[-1] += cells[: len(cells) if folded else used]
            if not folded:
                lines.append([])
        return lines, at

    def _put(self, char: str) -> None:
        match char:
            case "\n":
                self._down()
            case "\r":
                self._column = 0
            case "\b":
                self._column = max(self._column - 1, 0)
            case "\x07":
                pass
            case _ if combining(char):
                self._cells[self._row][max(self._column - 1, 0)] += char
            case _:
                self._draw(char, 2 if east_asian_width(char) in "WF" else 1)

    def _draw(self, char: str, wide: int) -> None:
        if self._column + wide > self._columns:
            self._folded[self._row] = True
            self._column = 0
            self._down()
        self._cells[self._row][self._column] = char
        self._column += wide

    def _down(self) -> None:
        self._row += 1
        if self._row == self._rows:
            self._row -= 1
            self._cells = [*self._cells[1:], [""] * self._columns]
            self._folded = [*self._folded[1:], False]

    def _escape(self, letter: str) -> None:
        match letter:
            case "D":
                self._down()
            case "7":
                self._saved = self._row, self._column
            case "8":
                self._row, self._column = self._saved
            case _:
                pass

    def _control(self, given: str, letter: str) -> None:
        count = int(given) if given.isdigit() else 1
        match letter:
            case "A":
                self._row = max(self._row - count, 0)
            case "B":
                self._row = min(self._row + count, self._rows - 1)
            case "C":
                self._column = min(self._column + count, self._columns - 1)
            case "D":
                self._column = max(self._column - count, 0)
            case "H":
                row, _, column = given.partition(";")
                self._row = min(int(row or 1) or 1, self._rows) - 1
                self._column = min(int(column or 1) or 1, self._columns) - 1
            case "K":
                self._cells[self._row][self._column :] = [""] * (self._columns - self._column)
                self._folded[self._row] = False
            case "J" if given == "2":
                self._cells = [[""] * self._columns for _ in range(self._rows)]
            case "J":
                self._control("", "K")
                self._cells[self._row + 1 :] = [[""] * self._columns for _ in range(self._rows - self._row - 1)]
            case _:
                pass

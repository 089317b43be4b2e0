"""Text that has come and waits, because a secret may be unfinished in it. Knows neither secrets nor who reads."""

from __future__ import annotations

from collections.abc import Callable

OFTEN = 1024
"""Characters that are looked at again for every piece; what is longer, only once it has grown by an eighth."""


class WithheldText:
    """`secret_from`: from where on a text that still grows must wait. The text before it ends where no secret begins,
    so what waits is looked at alone, and in all no character more often than some ten times."""

    def __init__(self, secret_from: Callable[[str], int]) -> None:
        self._secret_from = secret_from
        self._pieces: list[str] = []
        self._enough = 1
        self.size = 0

    def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self.size += len(piece)

    def safe(self, limit: int) -> str:
        """Of its first `limit` characters those that can go now; they wait no more."""
        if limit < self._enough:
            return ""
        text = "".join(self._pieces)
        gone = self._gone(text, self._secret_from(text[:limit]))
        left = limit - len(gone)
        self._enough = left + max(1, left // 8 if left >= OFTEN else 0)
        return gone

    def at_end(self, cut_from: Callable[[str], int], limit: int | None = None) -> str:
        """Of its first `limit` characters what can go if the text ends there, or goes on on another line only.
        `cut_from`: where half a secret begins."""
        whole = "".join(self._pieces)
        text = whole[:limit]
        if not text:
            return ""
        # What has been cut open is found again only with all that stands before it.
        ends = f"{text}\n" if cut_from(text) == len(text) else text
        return self._gone(whole, min(self._secret_from(ends), len(text)))

    def all(self) -> str:
        """Nothing more comes."""
        return self._gone(text := "".join(self._pieces), len(text))

    def _gone(self, text: str, end: int) -> str:
        self._pieces = [text[end:]] if end < len(text) else []
        self.size, self._enough = len(text) - end, 1
        return text[:end]

"""What is wrong with a configuration."""

from __future__ import annotations


class ConfigError(Exception):
    """The configuration cannot be used; the text is one line that names the file and the place.

    `first` is that line, `others` are further mistakes, a line each, which the text only counts.
    """

    def __init__(self, text: str, others: tuple[str, ...] = ()) -> None:
        super().__init__(f"{text} (and {len(others)} more)" if others else text)
        self.first, self.others = text, others


class MissingKey(ConfigError):
    """A variable that should hold a key or token is not set."""

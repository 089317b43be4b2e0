"""What reading a text can lead to: a value with its record, or the one error. Reads nothing itself."""

from __future__ import annotations

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Json, JsonObject


@dataclass(frozen=True, slots=True)
class Reading:
    """A JSON value of any kind, and what had to be mended to read it; no steps: it was JSON as it stands."""

    value: Json
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decoded:
    """The arguments of one call. `steps` run from the mildest to the one that made the text readable.

    `truncated`: the text ended early and the value is what had come by then. `guessed`: a heuristic parser found
    the value. Neither may run a tool that changes state; everything else lost nothing.
    """

    value: JsonObject
    steps: tuple[str, ...] = ()
    truncated: bool = False
    guessed: bool = False

    @property
    def step(self) -> str:
        """`strict`, `empty`, `unquote`, `ctrl`, `comma`, `relaxed`, `embedded`, `TRUNC` or `GUESS`."""
        return self.steps[-1] if self.steps else "strict"


class Undecodable(ValueError):
    """No step reads the text as one object.

    `reason` says why, `position` is the character (from 0) of the text as given where reading stopped, `fix` is a
    sentence that tells a model what to send instead.
    """

    def __init__(self, reason: str, position: int, fix: str) -> None:
        super().__init__(reason, position, fix)
        self.reason, self.position, self.fix = reason, position, fix

    def __str__(self) -> str:
        return f"{self.reason} (at character {self.position})"

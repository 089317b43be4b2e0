"""Where skills may lie. Reads nothing, and so it is light where there are none."""

from __future__ import annotations

from pathlib import Path

from hookgate.protocol.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A folder of skills, or one skill's own. `within`: where it must lie with all links resolved. `named`: somebody
    has asked for it, so that it is a problem where it is missing."""

    folder: Path
    within: Path | None = None
    named: bool = False

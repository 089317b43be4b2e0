"""What the tests of hook processes share."""

from __future__ import annotations

import pytest

from hookgate.processes import group


@pytest.fixture
def quick_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """For hooks that do not heed the end of their input, where how they end is not the subject."""
    monkeypatch.setattr(group, "CLOSE_WAIT_S", 0.1)
    monkeypatch.setattr(group, "TERM_WAIT_S", 0.1)

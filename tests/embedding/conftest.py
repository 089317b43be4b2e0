"""A runtime whose model follows a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from hookgate import config as configuration
from hookgate.sections import Config

Scripted = Callable[..., Config]


@pytest.fixture(autouse=True)
def configured_log() -> Iterator[None]:
    """As in a program that has configured structlog: the tests that follow find its log as it was."""
    structlog.configure(**structlog.get_config())
    yield
    structlog.reset_defaults()


@pytest.fixture
def scripted(tmp_path: Path) -> Scripted:
    """The configuration of a model that takes these steps; `more` is TOML."""

    def made(*steps: dict[str, Any], more: str = "", **script: Any) -> Config:
        (tmp_path / "script.json").write_text(json.dumps({"steps": steps, **script}))
        text = (
            f'[agent]\nmodel = "p/m"\nworkspace = "{tmp_path}"\n[providers.p]\nkind = "scripted"\n'
            f'script = "{tmp_path}/script.json"\n[models."p/m"]\nprices = [1.0, 2.0]\n[models."p/other"]\n{more}'
        )
        return configuration.parse(text, tmp_path / "hookgate.toml")

    return made

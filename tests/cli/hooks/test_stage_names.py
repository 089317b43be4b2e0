"""The stages that `hooks try` takes, which stand beside the protocol's so that `--help` need not import it."""

from __future__ import annotations

from hookgate.cli.hooks.commands import STAGES
from hookgate.protocol.hook.stages import Stage


def test_the_command_takes_the_stages_that_there_are() -> None:
    assert tuple(Stage) == STAGES

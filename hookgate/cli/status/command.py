"""`hookgate status`: the command's words and options. Imports click alone."""

from __future__ import annotations

from pathlib import Path

import click

from hookgate.cli.exits import guarded
from hookgate.cli.options import config_option, control_option, json_option


@click.command()
@config_option
@control_option
@json_option
@click.option("--watch", is_flag=True, help="Show it anew every second, until Ctrl-C.")
def status(config_file: Path | None, control: Path | None, as_json: bool, watch: bool) -> None:
    """How the running gateway is: what is wrong, runs, waits.

    The status is 0 where all is well, 1 where something is wrong, and 2 where no gateway runs.
    """
    from hookgate.cli.status.gateway_status import StatusQuery, show, watch_on

    asked = StatusQuery(config_file, control, as_json)
    guarded(lambda: watch_on(asked) if watch else show(asked))

"""A journal in PostgreSQL: what it adds to its statements, how fast it accepts, what a second gateway brings. The
server is this machine's own, and syncs as it would by default."""

from __future__ import annotations

import click
import trio

from benchmarks.figures import Figure, Run
from benchmarks.shared import accepting, gateways, statements
from tests.postgres import postgres, programs

SYNCED = "fsync = on\n"


async def measure(run: Run) -> list[Figure]:
    """Nothing where there is no PostgreSQL, and a line says so."""
    if programs() is None:
        click.echo("shared: this machine has no PostgreSQL server", err=True)
        return []
    with postgres(SYNCED) as server:
        figures = [await statements.measure(run, server), await accepting.measure(run, server)]
        return [*figures, *await trio.to_thread.run_sync(gateways.measure, run, server)]

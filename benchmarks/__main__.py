"""`python -m benchmarks [NAME...]`: run them all, or some, and print the table."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import click
import trio

from benchmarks import (
    approvers,
    bystanders,
    conversation,
    gate_call,
    iteration,
    journal,
    many_callers,
    rpc_extensions,
    rpc_ping,
    rpc_start,
    sessions,
    shared,
    startup,
    stuck,
    tool_calls,
    tool_texts,
    zot_intercept,
)
from benchmarks.echo import build
from benchmarks.figures import Figure, Run
from benchmarks.report import machine, rewritten, table
from benchmarks.served import completions, load, observed, page, platforms, stored, streams
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.program.starting import begun
from hookgate.sections import LogSection

BENCHMARKS = {
    "gate_call": gate_call,
    "many_callers": many_callers,
    "conversation": conversation,
    "approvers": approvers,
    "bystanders": bystanders,
    "startup": startup,
    "sessions": sessions,
    "journal": journal,
    "iteration": iteration,
    "tool_calls": tool_calls,
    "tool_texts": tool_texts,
    "zot_intercept": zot_intercept,
    "rpc_ping": rpc_ping,
    "rpc_start": rpc_start,
    "rpc_extensions": rpc_extensions,
    "stored": stored,
    "page": page,
    "observed": observed,
    "streams": streams,
    "completions": completions,
    "stuck": stuck,
    "platforms": platforms,
    "load": load,
    "shared": shared,
}
ROOT = Path(__file__).parents[1]
README, WHOLE = ROOT / "README.md", ROOT / "docs" / "performance.md"
LONGEST_S = 300.0
"""For one of them, at the usual number of calls."""


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(BENCHMARKS)))
@click.option("--rounds", default=9, show_default=True, help="Runs whose median counts.")
@click.option("--share", default=1.0, help="Of the usual number of calls.")
@click.option("--readme", is_flag=True, help="Write the tables into README.md and docs/.")
@click.option("--strict", is_flag=True, help="Exit with 1 when a bar is missed.")
def main(names: tuple[str, ...], rounds: int, share: float, readme: bool, strict: bool) -> None:
    """Measure hookgate, each figure beside its floor."""
    if readme and names:
        raise click.UsageError("--readme wants all of them")
    set_up_logs(LogSection())
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as folder:
        figures = _measured(names or tuple(BENCHMARKS), Run(build("echo", Path(folder)), rounds, share))
    where = machine()
    click.echo(f"{table(figures)}\n\n{where}")
    if readme:
        for page, rows in ((WHOLE, figures), (README, [it for it in figures if it.bar.main])):
            page.write_text(rewritten(page.read_text(), f"{table(rows)}\n\n{where}"))
    missed = [figure.bar.what for figure in figures if not figure.met]
    if missed:
        click.echo(f"over its bar: {'; '.join(missed)}", err=True)
    raise SystemExit(1 if strict and missed else 0)


def _measured(names: tuple[str, ...], run: Run) -> list[Figure]:
    figures: list[Figure] = []
    for name in names:
        click.echo(f"measuring {name} ...", err=True)
        # As hookgate's own processes have just begun, whatever was measured before; the floors stand in the same one.
        gc.collect()
        begun()
        figures.extend(trio.run(_bounded, name, run))
    return figures


async def _bounded(name: str, run: Run) -> list[Figure]:
    with trio.fail_after(LONGEST_S * max(1.0, run.share)):
        return await BENCHMARKS[name].measure(run)


if __name__ == "__main__":
    main()

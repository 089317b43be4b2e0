"""Messages answered by two and by four gateways beside one: where places for turns are what there is too little of,
for the model sleeps, and where the machine is. Blocks."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep

import psycopg
import trio

from benchmarks.figures import Bar, Figure, Pair, Run
from benchmarks.served.asking import connected, log_in
from benchmarks.served.serving import USERS, Serving, configure, serving
from tests.postgres import Server

MESSAGES, LEAST = 80, 8
ROUNDS = 3
"""Of at most; each is many messages."""
LONGEST_S, LOOK_S = 60.0, 0.01
SCRIPT = '{{"pace_s": {pace_s}, "steps": [{{"when": "(?s).", "text": "Understood."}}]}}'
DELIVERED = "SELECT count(*) FROM hookgate.passages WHERE what = 'delivered'"


@dataclass(frozen=True)
class Load:
    """`places`: turns at once in each gateway. `model_s`: what the model takes. `bars`: of so many gateways."""

    places: int
    model_s: float
    bars: tuple[tuple[int, Bar], ...]


def _bar(gateways: int, load: str, limit: float | None = None) -> Bar:
    return Bar(f"a message by {gateways} gateways on one database, {load}", "the same by one", "ms", limit)


SLEEPING, AT_ONCE = "4 turns at once in each, a model of 0.5 s", "a model that answers at once, all on this machine"
LOADS = (
    Load(4, 0.5, ((2, _bar(2, SLEEPING, 0.56)), (4, _bar(4, SLEEPING)))),
    Load(64, 0.0, ((2, _bar(2, AT_ONCE)),)),
)


def measure(run: Run, server: Server) -> list[Figure]:
    return [figure for load in LOADS for figure in _under(load, run, server.database())]


def _under(load: Load, run: Run, address: str) -> list[Figure]:
    pairs: dict[int, list[Pair]] = {number: [] for number, _ in load.bars}
    count = max(LEAST, run.times(MESSAGES))
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as name, ExitStack() as stack:
        gateways = [stack.enter_context(serving(it)) for it in _configured(Path(name), address, load, max(pairs))]
        looking = stack.enter_context(psycopg.connect(address, autocommit=True))
        doors = [(it, trio.run(_heads, it)) for it in gateways]
        for round_ in range(min(run.rounds, ROUNDS)):
            alone = _answered(looking, doors[:1], count, f"{round_}-1")
            for number, measured in pairs.items():
                measured.append((alone, _answered(looking, doors[:number], count, f"{round_}-{number}")))
    return [bar.judged(pairs[number]) for number, bar in load.bars]


def _configured(folder: Path, address: str, load: Load, number: int) -> list[Path]:
    """So many of one configuration."""
    folders = [folder / str(it) for it in range(number)]
    for it in folders:
        it.mkdir()
    script = SCRIPT.format(pace_s=load.model_s)
    configure(folders[0], script=script)
    text = (folders[0] / "hookgate.toml").read_text().replace("max_turns = 64", f"max_turns = {load.places}")
    text = text.replace("[store]\n", f'[store]\nurl = "{address}"\n')
    for it in folders:
        (it / "hookgate.toml").write_text(text.replace(str(folders[0]), str(it)))
        (it / "script.json").write_text(script)
    return folders


async def _heads(gateway: Serving) -> list[str]:
    return [await log_in(gateway.host, gateway.port, user) for user in range(USERS)]


def _answered(
    looking: psycopg.Connection, gateways: Sequence[tuple[Serving, list[str]]], count: int, name: str
) -> float:
    """Milliseconds a message, until all are delivered, each in a conversation of its own."""

    async def send() -> None:
        async with trio.open_nursery() as nursery:
            for number in range(count):
                nursery.start_soon(_send, *gateways[number % len(gateways)], number, name)

    def delivered() -> int:
        row = looking.execute(DELIVERED).fetchone()
        return row[0] if row else 0

    before, begun = delivered(), perf_counter()
    trio.run(send)
    while delivered() < before + count:
        if perf_counter() - begun > LONGEST_S:
            raise TimeoutError(f"{before + count - delivered()} of {count} messages have no answer")
        sleep(LOOK_S)
    return (perf_counter() - begun) * 1000 / count


async def _send(gateway: Serving, heads: list[str], number: int, name: str) -> None:
    async with connected(gateway.host, gateway.port) as page:
        body = f'{{"key":"k{name}{number}","text":"hello"}}'.encode()
        target = f"/api/chats/c{name}{number}/messages"
        status, _, said = await page.ask(page.request("POST", target, heads[number % USERS], body=body))
        assert status == 202, f"{target} was answered with {status}: {said!r}"

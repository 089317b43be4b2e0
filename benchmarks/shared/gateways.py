"""Messages answered by two gateways beside one, where places for turns are what there is too little of: the model
sleeps. Blocks."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter, sleep

import psycopg
import trio

from benchmarks.figures import Bar, Figure, Pair, Run
from benchmarks.served.asking import connected, log_in
from benchmarks.served.serving import USERS, Serving, configure, serving
from tests.postgres import Server

MESSAGES, LEAST, PLACES, MODEL_S = 80, 8, 4, 0.5
ROUNDS = 3
"""Of at most; each is many messages."""
LONGEST_S, LOOK_S = 60.0, 0.01
TWO = Bar(
    f"a message by two gateways on one database, {PLACES} turns at once in each, a model of {MODEL_S:g} s",
    "the same by one",
    "ms",
    0.56,
)
SCRIPT = f'{{"pace_s": {MODEL_S}, "steps": [{{"when": "(?s).", "text": "Understood."}}]}}'
DELIVERED = "SELECT count(*) FROM hookgate.passages WHERE what = 'delivered'"


def measure(run: Run, server: Server) -> Figure:
    pairs: list[Pair] = []
    address, count = server.database(), max(LEAST, run.times(MESSAGES))
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as name, ExitStack() as stack:
        folders = _configured(Path(name), address)
        one, two = (stack.enter_context(serving(folder)) for folder in folders)
        looking = stack.enter_context(psycopg.connect(address, autocommit=True))
        heads = [trio.run(_heads, it) for it in (one, two)]
        for number in range(min(run.rounds, ROUNDS)):
            alone = _answered(looking, [(one, heads[0])], count, f"{number}a")
            both = [(one, heads[0]), (two, heads[1])]
            pairs.append((alone, _answered(looking, both, count, f"{number}b")))
    return TWO.judged(pairs)


def _configured(folder: Path, address: str) -> list[Path]:
    """Two of one configuration."""
    folders = [folder / name for name in ("one", "two")]
    for it in folders:
        it.mkdir()
    configure(folders[0], script=SCRIPT)
    text = (folders[0] / "hookgate.toml").read_text().replace("max_turns = 64", f"max_turns = {PLACES}")
    text = text.replace("[store]\n", f'[store]\nurl = "{address}"\n')
    for it in folders:
        (it / "hookgate.toml").write_text(text.replace(str(folders[0]), str(it)))
        (it / "script.json").write_text(SCRIPT)
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

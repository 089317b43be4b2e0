"""`make cluster`: three gateways on one PostgreSQL under load, with every fault there is, one after the other and
together.

Prints what happened, and how long it took others to go on with what a killed one had; exits with 1 where a promise
did not hold, and says how to repeat it.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from time import monotonic

import structlog
import trio

from tests.chaos.platforms import PLATFORMS
from tests.chaos.webhooks import Webhooks
from tests.cluster.gateways import TakeOver
from tests.cluster.namespaces import no_namespaces
from tests.cluster.storm import FAULTS, OF_NAMESPACES, WEBHOOKS, Storm

AT_ONCE, OVER_S = 2, 2.0
"""Faults, and how long after the lease what one had that was killed is to be taken over."""


async def rounds(storm: Storm, seconds: float) -> AsyncGenerator[Sequence[str]]:
    """Each fault by itself, and then so many as the time allows, two at once."""
    began, faults = monotonic(), (*FAULTS, *(OF_NAMESPACES if storm.namespaces else ()))
    for name in storm.chance.sample(faults, len(faults)):
        yield (name,)
    while monotonic() - began < seconds:
        yield storm.chance.sample(faults, AT_ONCE)


async def run(storm: Storm, seconds: float, faults: Sequence[str]) -> list[str]:
    async def named() -> AsyncGenerator[Sequence[str]]:
        for name in faults:
            yield name.split("+")

    return await storm.blow(named() if faults else rounds(storm, seconds))


def told(over: TakeOver) -> str:
    """A database that is away is waited for: the lease counts from when it is back."""
    back = f", {over.could_s:.1f} s after the database was back" if over.could_s < over.seconds else ""
    took = f"{over.gateway} was killed with {over.had} conversations: others had begun with all after"
    return f"{took} {over.seconds:.1f} s{back} ({over.amid})"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def namespaces(machines: str, faults: Sequence[str]) -> bool:
    """Whether gateways have them: as asked for, else where this machine lets it."""
    why_not = "" if machines == "processes" else no_namespaces()
    if why_not:
        say(f"no namespaces: {why_not}")
    has_them = machines != "processes" and not why_not
    if not has_them and (machines == "namespaces" or any(it in fault for it in OF_NAMESPACES for fault in faults)):
        sys.exit("each gateway in a namespace of its own is what this needs")
    return has_them


def main() -> None:
    # Connections that are cut say so each time.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    parser = argparse.ArgumentParser(prog="python -m tests.cluster")
    parser.add_argument("faults", nargs="*", help=f"of {', '.join(FAULTS + OF_NAMESPACES)}; A+B: at once; none: all")
    parser.add_argument(
        "--platform",
        default=WEBHOOKS,
        choices=(WEBHOOKS, *PLATFORMS),
        help=f"where people talk; {WEBHOOKS} if not given",
    )
    parser.add_argument("--seconds", type=float, default=300.0, help="of faults at random")
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--lease", type=float, default=10.0, help="in seconds")
    parser.add_argument("--talk", type=float, default=0.15, help="seconds between two messages")
    parser.add_argument("--machines", choices=("namespaces", "processes"), help="a gateway's; none: what works here")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    given = parser.parse_args()
    folder, began = Path(tempfile.mkdtemp(prefix="hookgate-cluster-")), monotonic()
    apart = namespaces(given.machines, given.faults)
    storm = Storm(folder, random.Random(given.seed), given.sessions, given.lease, given.talk, apart, given.platform)
    problems = trio.run(run, storm, given.seconds, given.faults)
    for name, times in sorted(Counter(storm.seen).items()):
        say(f"{times:6} {name}")
    for it in storm.taken_over:
        say(told(it))
    late = [it for it in storm.taken_over if it.could_s > given.lease + OVER_S]
    say(f"{len(storm.taken_over) - len(late)} of {len(storm.taken_over)} within lease + {OVER_S:g} s of a database")
    figures = ", ".join(f"{number} {what}" for what, number in storm.books.totals.items())
    again = f"; {len(it.doubles())} came again by the same key" if isinstance(it := storm.platform, Webhooks) else ""
    say(f"{given.platform}: {figures}; {it.refusals} refusals{again}")
    for problem in problems:
        say(f"BROKEN: {problem}")
    held = f"not everything held, see {folder}" if problems else "every promise held"
    say(f"{monotonic() - began:.0f} s, seed {given.seed}: {held}")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()

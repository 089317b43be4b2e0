"""Fuzzing of the two readers of model text, for a bounded time: mutated rows of the corpora, from a printed seed.

`python -m fuzz --seconds 60 --seed 7`. Prints each text that breaks a promise, then `N passed, N failed`; exits 1
if any failed. Knows no more of the readers than their promises.
"""

from __future__ import annotations

import argparse
import random
import sys
from time import monotonic, time_ns

from fuzz.promises import broken_by
from fuzz.texts import corpus, mutated

# A text that is printed is cut here; a seed brings it back whole.
SHOWN_CHARS = 300
MOST_SHOWN = 20


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    print(f"fuzz: seed {options.seed}, {options.seconds:g} s", flush=True)
    passed, failed = _run(random.Random(options.seed), options.seconds)  # noqa: S311 - a seed to repeat, no secret
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def _run(chance: random.Random, seconds: float) -> tuple[int, int]:
    rows, passed, failed = corpus(), 0, 0
    end = monotonic() + seconds
    while monotonic() < end:
        text = mutated(rows, chance)
        broken = broken_by(text)
        if broken:
            failed += 1
            _show(text, broken, failed)
        else:
            passed += 1
    return passed, failed


def _show(text: str, broken: str, failed: int) -> None:
    if failed <= MOST_SHOWN:
        print(f"FAILED {broken}\n  {ascii(text)[:SHOWN_CHARS]}", flush=True)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on (default: 60)")
    fresh = time_ns() % 2**32
    parser.add_argument("--seed", type=int, default=fresh, help="the same seed, the same texts")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

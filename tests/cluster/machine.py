"""`hookgate` on a machine whose clock is wrong: `python -m tests.cluster.machine serve ...`.

`CLUSTER_CLOCK_S`: so far its wall clock is ahead. `CLUSTER_LEASE_S`: how long the others count it as alive without a
sign of life, and it them.
"""

from __future__ import annotations

import os
import time


def set_clock(ahead_s: float) -> None:
    right, right_ns = time.time, time.time_ns
    time.time = lambda: right() + ahead_s
    time.time_ns = lambda: right_ns() + int(ahead_s * 1e9)


def main() -> None:
    # Before anybody has taken the clock from there.
    set_clock(float(os.environ["CLUSTER_CLOCK_S"]))
    from hookgate.cli.main import hookgate
    from hookgate.store.postgres import cluster

    cluster.LEASE_S = float(os.environ["CLUSTER_LEASE_S"])
    hookgate()


if __name__ == "__main__":
    main()

"""What the books of several gateways excuse, and what they do not."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.chaos.webhooks import Told, Webhooks
from tests.cluster.books import at_the_same_moment, of_doubles
from tests.cluster.gateways import Gateway
from tests.cluster.namespaces import Net
from tests.forwarding import Way

AHEAD_S = 1000.0
"""Of the clock that calls have."""


def gateway(name: str, *troubled: list[float]) -> Gateway:
    return Gateway(Path(name) / "hookgate.toml", Way(0), Net(), 0.0, 10.0, {}, troubled=list(troubled))


def test_calls_at_the_same_moment_are_excused_while_one_of_the_two_was_thought_dead_and_at_no_other_time() -> None:
    one, two = gateway("one", [100.0, 120.0]), gateway("two")
    stopped = (AHEAD_S + 99.0, AHEAD_S + 115.0, "append-1", one), (AHEAD_S + 112.0, AHEAD_S + 113.0, "append-2", two)
    assert list(at_the_same_moment(stopped, AHEAD_S)) == []
    later = (AHEAD_S + 130.0, AHEAD_S + 132.0, "append-3", one), (AHEAD_S + 131.0, AHEAD_S + 133.0, "append-4", two)
    assert list(at_the_same_moment((*later, *stopped), AHEAD_S)) == [
        "at the same moment: append-3 at one and append-4 at two"
    ]
    # It began before the trouble, and so did the other one.
    before = (AHEAD_S + 90.0, AHEAD_S + 110.0, "append-5", one), (AHEAD_S + 91.0, AHEAD_S + 92.0, "append-6", two)
    assert len(list(at_the_same_moment(before, AHEAD_S))) == 1
    assert list(at_the_same_moment([(0.0, 1.0, "a", one), (1.0, 2.0, "b", two)], 0.0)) == []


async def test_what_comes_again_is_excused_where_the_receipt_could_not_be_stored() -> None:
    webhooks = Webhooks(Random(), 1, list)
    webhooks.told["e1"] = Told({"id": "e1"}, [100.0, 104.0])
    webhooks.told["e2"] = Told({"id": "e2"}, [100.0])
    assert list(of_doubles(webhooks, [(101.0, 103.0)])) == []
    assert len(list(of_doubles(webhooks, [(90.0, 99.0), (105.0, 110.0)]))) == 1

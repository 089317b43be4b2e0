"""What another gateway has seen comes to a singleton's process in order, at most once; what is lost is counted."""

from __future__ import annotations

import trio

from hookgate.hooks.children.singleton import Here
from hookgate.protocol.hook.hello import Hello


class Live:
    """Stands for the process."""

    name, pid, events_dropped, end_reason, last_words = "h", 1, 2, "", ()
    declared = Hello(events=("turn_*",))

    def __init__(self) -> None:
        self.got, self.ended = list[bytes](), trio.Event()

    def notify(self, event: object) -> None:
        self.got.append(event.hook_event)  # type: ignore[attr-defined]


def test_what_is_lost_is_counted_and_nothing_comes_twice() -> None:
    live = Live()
    here = Here(live)  # type: ignore[arg-type]

    def bring(by: str, number: int, kind: str = "turn_end") -> None:
        its = {"by": by, "number": str(number), "kind": kind, "runtime": f"agent.{kind}"}
        here.bring({**its, "hook_event": f"{by}{number}", "runtime_event": ""})

    for by, number in (("a", 1), ("a", 2), ("b", 7), ("a", 2), ("a", 5), ("a", 3), ("b", 8)):
        bring(by, number)
    bring("a", 6, "llm_request")
    assert live.got == [b"a1", b"a2", b"b7", b"a5", b"b8"]
    assert here.events_dropped == live.events_dropped + 2

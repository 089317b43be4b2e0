"""Events on their way out: who hears a kind, asked once per kind; nobody is waited for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from time import time_ns

from hookgate.hooks.rules import Mount
from hookgate.protocol.events import Event
from hookgate.protocol.payloads import Payload
from hookgate.protocol.values import Step


class Emitter:
    """An event that nobody listens for costs a dictionary look-up."""

    def __init__(self) -> None:
        self._mounts: Sequence[Mount] = ()
        self._listeners: dict[type[Payload], tuple[Mount, ...]] = {}
        self._numbers = count(1)

    def listen(self, mounts: Sequence[Mount]) -> None:
        """From here on these hooks hear what they observe."""
        self._mounts = mounts
        self._listeners = {}

    def heard(self, kind: type[Payload]) -> bool:
        """Whether anybody listens: asked before a payload that is dear to make."""
        return bool(self._listening(kind))

    def emit(self, payload: Payload, step: Step | None = None) -> None:
        listeners = self._listening(type(payload))
        if not listeners:
            return
        event = Event(payload, step, next(self._numbers), time_ns())
        for mount in listeners:
            if mount.hears(event):
                mount.hook.notify(event)

    def _listening(self, kind: type[Payload]) -> tuple[Mount, ...]:
        if kind not in self._listeners:
            self._listeners[kind] = tuple(mount for mount in self._mounts if _observes(mount, kind))
        return self._listeners[kind]


def _observes(mount: Mount, kind: type[Payload]) -> bool:
    return mount.rules.mode != "off" and mount.rules.observe.covers(kind.kind, kind.runtime)

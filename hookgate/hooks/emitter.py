"""Events on their way out: who hears a kind, asked once per kind; nobody is waited for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from itertools import count
from time import time_ns

from hookgate.hooks.rules import Mount
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import GateDecision, Payload, StageCall
from hookgate.protocol.interfaces import Redactor
from hookgate.protocol.values import Step

FREE_TEXT = frozenset(
    {
        "UserMessage",
        "Arguments",
        "Reason",
        "Error",
        "Message",
        "Effects",
        "reason",
        "title",
        "text",
        "calls",
        "result",
        "params",
        "answer",
        "preview",
        "why",
        "summary",
        "failure",
    }
)
"""Members of payloads that people, models and tools fill, and so may fill with a secret."""


class Emitter:
    """An event that nobody listens for costs a dictionary look-up. `hears_answers`: somebody hears what hooks answer,
    which is looked at after each call."""

    def __init__(self, redactor: Redactor | None = None) -> None:
        self._redactor = redactor
        self._mounts: Sequence[Mount] = ()
        self._guests: tuple[Mount, ...] = ()
        self._listeners: dict[type[Payload], tuple[Mount, ...]] = {}
        self._numbers = count(1)
        self.hears_answers = False

    def listen(self, mounts: Sequence[Mount]) -> None:
        """From here on these hooks hear what they observe."""
        self._mounts = mounts
        self._changed()

    def join(self, guest: Mount) -> None:
        """It hears what it observes until it leaves, whichever hooks are exchanged meanwhile."""
        self._guests = (*self._guests, guest)
        self._changed()

    def leave(self, guest: Mount) -> None:
        self._guests = tuple(it for it in self._guests if it is not guest)
        self._changed()

    def _changed(self) -> None:
        self._listeners = {}
        self.hears_answers = self.heard(GateDecision) or self.heard(StageCall)

    def heard(self, kind: type[Payload]) -> bool:
        """Whether anybody listens: asked before a payload that is dear to make."""
        known = self._listeners.get(kind)
        return bool(self._listening(kind) if known is None else known)

    def emit(self, payload: Payload, step: Step | None = None) -> None:
        listeners = self._listening(type(payload))
        if not listeners:
            return
        event = Event(self._redacted(payload), step, next(self._numbers), time_ns())
        for mount in listeners:
            if mount.hears(event):
                mount.hook.notify(event)

    def _redacted(self, payload: Payload) -> Payload:
        if self._redactor is None:
            return payload
        changed = dict[str, object]()
        for name in _free_text(type(payload)):
            value = getattr(payload, name)
            seen = self._redactor.value(value)
            if seen is not value and seen != value:
                changed[name] = seen
        return replace(payload, **changed) if changed else payload

    def _listening(self, kind: type[Payload]) -> tuple[Mount, ...]:
        if kind not in self._listeners:
            self._listeners[kind] = tuple(mount for mount in (*self._mounts, *self._guests) if _observes(mount, kind))
        return self._listeners[kind]


@cache
def _free_text(kind: type[Payload]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name in FREE_TEXT)


def _observes(mount: Mount, kind: type[Payload]) -> bool:
    return mount.rules.mode != "off" and mount.rules.observe.covers(kind.kind, kind.runtime)

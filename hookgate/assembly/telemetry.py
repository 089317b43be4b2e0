"""What a gateway tells operators of itself, put together: it hears events as channels do."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import field
from time import time
from typing import TYPE_CHECKING
from urllib.parse import unquote

import trio

from hookgate import __version__
from hookgate import config as configuration
from hookgate.assembly.logs.sinks import observer
from hookgate.config import ConfigError
from hookgate.hooks.rules import Mount
from hookgate.protocol.dataclasses import dataclass
from hookgate.sections.telemetry import TelemetrySection
from hookgate.telemetry import metrics, turns
from hookgate.telemetry.metrics import Metrics
from hookgate.telemetry.turns import LiveTurns

if TYPE_CHECKING:
    from hookgate.telemetry.otlp import Exporter


@dataclass(frozen=True)
class Telemetry:
    """`started_at`: seconds of the wall clock. `mounts`: what hears for it. `exporter` None: nothing is traced."""

    turns: LiveTurns = field(default_factory=LiveTurns)
    metrics: Metrics = field(default_factory=Metrics)
    mounts: tuple[Mount, ...] = ()
    exporter: Exporter | None = None
    started_at: float = field(default_factory=time)


@asynccontextmanager
async def open_telemetry(section: TelemetrySection, *, serving: bool, watched: bool) -> AsyncGenerator[Telemetry]:
    """Deaf where nobody serves, but for what its turns do where that is `watched`. Leaving sends the traces that are
    left. Raises ConfigError."""
    live, counted = LiveTurns(), Metrics()
    heard = (observer("turns", turns.OBSERVED, live.hear),)
    if not serving:
        yield Telemetry(live, mounts=heard if watched else ())
        return
    heard = (*heard, observer("metrics", metrics.OBSERVED, counted.hear))
    if not section.traces:
        yield Telemetry(live, counted, heard)
        return
    from hookgate.telemetry.otlp import Collector, Exporter
    from hookgate.telemetry.spans import Tracing

    exporter = Exporter(Collector(section.traces, _headers(section), section.service, __version__))
    tracing = Tracing(exporter.take, content=section.content)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(exporter.run)
        yield Telemetry(live, counted, (*heard, observer("traces", tracing.observed, tracing.hear)), exporter)
        nursery.cancel_scope.cancel()


def _headers(section: TelemetrySection) -> Mapping[str, str]:
    given = configuration.secret(section.headers_env, "telemetry.headers_env") or ""
    pairs = [it.partition("=") for it in given.split(",") if it.strip()]
    headers = {name.strip(): unquote(value.strip()) for name, _, value in pairs}
    plain = all(name and it.isascii() and it.isprintable() for name, value in headers.items() for it in (name, value))
    if not (plain and all(equals for _, equals, _ in pairs)):
        raise ConfigError(f"telemetry.headers_env: write {section.headers_env} as name=value,name=value")
    return headers

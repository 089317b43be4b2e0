"""A running gateway in figures, for what asks again and again: what happened since its start, and how it is now."""

from __future__ import annotations

import os
import resource
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from hookgate.assembly.app import Runtime
from hookgate.operations.status import Status, status_where
from hookgate.telemetry.exposition import Family, Sample
from hookgate.telemetry.otlp import Exporter

RECEPTIONS = ("receiving", "elsewhere", "degraded", "down")


async def metrics(runtime: Runtime, store_state: str) -> tuple[Family, ...]:
    found, exporter = await status_where(runtime, store_state), runtime.telemetry.exporter
    traced = _of_traces(exporter) if exporter is not None else ()
    now = (*_of_calls(found), *_of_parts(found), *_of_store(found), *_of_process(found))
    return (*runtime.telemetry.metrics.families, *now, *traced)


def _of_calls(it: Status) -> Iterator[Family]:
    """calls == denied + answered + allowed, and allowed == executed + cached + dropped."""
    calls = it.calls
    decisions = (("denied", calls.denied), ("answered", calls.answered), ("allowed", calls.allowed))
    ends = (("executed", calls.executed), ("cached", calls.cached), ("dropped", calls.dropped))
    yield _counter("hookgate_tool_calls", "Tool calls that the gate has decided about.", [((), calls.calls)])
    yield _counter("hookgate_tool_call_decisions", "What the gate decided about them.", _each(decisions), "decision")
    yield _counter("hookgate_tool_call_ends", "What became of those that were allowed.", _each(ends), "end")


def _of_parts(it: Status) -> Iterator[Family]:
    members = len(it.gateways) or 1
    yield _gauge("hookgate_gateways", "Gateways that share the journal, this one among them.", [((), members)])
    yield _gauge("hookgate_turns", "Turns at work.", [((), it.sessions.at_work)])
    yield _gauge("hookgate_turns_limit", "Turns that can be at work at once.", [((), it.sessions.most)])
    doing = Counter(turn.doing for turn in it.turns)
    yield _gauge("hookgate_turns_doing", "Turns at work, by what they do.", _each(doing.items()), "doing")
    yield _gauge("hookgate_sessions_loaded", "Conversations in memory.", [((), it.sessions.loaded)])
    yield _gauge("hookgate_conversations_stored", "Conversations in the journal.", [((), it.sessions.stored)])
    yield _gauge("hookgate_messages_unfinished", "Messages without an end.", [((), it.queues.unfinished)])
    yield _gauge("hookgate_approvals_waiting", "Calls that wait for people.", [((), len(it.approvals))])
    rows, stuck = Counter[str](), Counter[str]()
    for row in it.queues.outgoing:
        rows[row.channel] += row.rows
        stuck[row.channel] += bool(row.tries)
    yield _gauge("hookgate_outbox_messages", "Messages on their way to chats.", _each(rows.items()), "channel")
    yield _gauge("hookgate_outbox_stuck_chats", "Chats that could not be reached.", _each(stuck.items()), "channel")
    yield _gauge("hookgate_dead_letters", "What was given up and nobody has dealt with.", [((), it.dead)])
    states = [((row.name, state), row.state == state) for row in it.channels for state in RECEPTIONS]
    yield _gauge("hookgate_channel_state", "1 for the state that a channel is in.", states, "channel", "state")
    up = [((row.name,), row.state in ("up", "elsewhere")) for row in it.hooks if row.command]
    yield _gauge("hookgate_hook_up", "Whether a hook's process answers.", up, "hook")
    restarts = [((row.name,), row.restarts or 0) for row in it.hooks if row.command]
    yield _counter("hookgate_hook_restarts", "Starts of a hook's process after its first.", restarts, "hook")
    yield _gauge(
        "hookgate_problems", "Things that are wrong, as hookgate status lists them.", [((), len(it.problems))]
    )


def _of_store(it: Status) -> Iterator[Family]:
    store, audit = it.store, it.audit
    yield _gauge("hookgate_store_up", "Whether something can be stored.", [((), it.store_state == "ok")])
    yield _gauge("hookgate_store_bytes", "The journal on the disk.", [((), store.bytes)])
    yield _gauge("hookgate_store_used_bytes", "What of it is in use.", [((), store.used)])
    written = [((), store.written_at)]
    yield _gauge("hookgate_store_last_write_timestamp_seconds", "When the journal was last written.", written)
    yield _gauge("hookgate_audit_records", "Records of the audit chain.", [((), audit.records)])
    yield _gauge("hookgate_audit_signed_records", "Those under a signed checkpoint.", [((), audit.signed)])
    signed = [((), audit.signed_at)]
    yield _gauge("hookgate_audit_checkpoint_timestamp_seconds", "When the last checkpoint was signed.", signed)


def _of_traces(it: Exporter) -> Iterator[Family]:
    spans = _each((("sent", it.sent), ("lost", it.lost)))
    yield _counter("hookgate_trace_spans", "Spans of traces, by what became of them.", spans, "outcome")


def _of_process(it: Status) -> Iterator[Family]:
    """Under the names that all programs have for these."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    yield _gauge("hookgate_build_info", "1; the version is its label.", [((it.version,), 1)], "version")
    yield _gauge("process_start_time_seconds", "When it was started.", [((), it.started_at)])
    yield _gauge("process_resident_memory_bytes", "Memory that it has.", [((), resident)])
    yield _counter("process_cpu_seconds", "Time at work.", [((), used.ru_utime + used.ru_stime)])


Rows = Iterable[tuple[tuple[str, ...], float]]


def _each(counts: Iterable[tuple[str, float]]) -> Rows:
    return [((name,), count) for name, count in counts]


def _gauge(name: str, help_: str, rows: Rows, *labels: str) -> Family:
    return Family(name, "gauge", help_, labels, _samples("", rows))


def _counter(name: str, help_: str, rows: Rows, *labels: str) -> Family:
    return Family(name, "counter", help_, labels, _samples("_total", rows))


def _samples(suffix: str, rows: Rows) -> list[Sample]:
    return [(suffix, values, float(figure)) for values, figure in rows]

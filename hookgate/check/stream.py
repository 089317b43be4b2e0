"""The checks of how a hook treats its pipes: many calls, lines in pieces, long lines, events, the end of its input.

Each gives one finding, or raises as the probes of `probes.py` do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import trio

from hookgate.check.asking import (
    UNKNOWN_METHOD,
    Learnt,
    NothingToAsk,
    ask,
    next_call,
    read_answer,
    read_next,
    still_answers,
)
from hookgate.check.golden import ODD_TEXT, events, question
from hookgate.check.mailbox import Answered, Result, StrayOutput
from hookgate.check.report import Finding, failed, ok, skipped, warned
from hookgate.check.subject import NoAnswer, Subject
from hookgate.processes.group import exit_text
from hookgate.processes.outbox import hook_event_frame
from hookgate.protocol.codec import encode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.hook.peer import notification_frame
from hookgate.protocol.hook.stages import Stage

CALLS = 50
EVENTS = 100
JOINED = 3
PIECE_PAUSE_S = 0.02
BIG_BYTES = 5 * 1024 * 1024
SURVIVOR_LOOKS = 25
ID_FIX = "answer every request once, under the id it came with, in any order"
NEVER_GIVEN_ID = 987_654_321


# --- many calls ---------------------------------------------------------------------------------------------


async def probe_many_calls(hook: Subject, known: Learnt) -> Finding:
    """In one write, as many as the hook allows; stages differ, so that an answer under another's id shows."""
    kinds = _kinds(known)
    if kinds == [None]:
        return skipped(
            "many calls", "not checked: no stage of it gives a usable answer, only unknown methods get one"
        )
    room, done = known.room(CALLS), 0
    end = trio.current_time() + known.limits.long_s
    while done < CALLS:
        calls = list(_calls(hook, kinds, min(room, CALLS - done)))
        # Not in the order of the ids: a hook that counts for itself instead of reading them shows too.
        await _write_all(hook, b"".join(frame for _, _, frame in reversed(calls)))
        moving = await hook.collect([call_id for _, call_id, _ in calls], end)
        came = [(kind, call_id) for kind, call_id, _ in calls if call_id in hook.mailbox.answers]
        for kind, call_id in came:
            try:
                _read_kind(kind, hook.mailbox.answers[call_id], known)
            except BadMessage as error:
                return failed("many calls", f"the answer under id {call_id} is another call's ({error})", ID_FIX)
        done += len(came)
        if len(came) < len(calls):
            return _missing(done, moving=moving)
    return ok("many calls", f"{CALLS} calls, {room} at once: every answer under its own id")


def _kinds(known: Learnt) -> list[Stage | None]:
    """What to ask in turn; None is a method that is refused."""
    kinds: list[Stage | None] = [*known.usable]
    if known.refuses_unknown or (known.answers_unknown and not kinds):
        kinds.append(None)
    if not kinds:
        raise NothingToAsk
    return kinds


def _calls(hook: Subject, kinds: list[Stage | None], count: int) -> Iterator[tuple[Stage | None, int, bytes]]:
    for number in range(count):
        stage = kinds[number % len(kinds)]
        if stage is None:
            yield None, *hook.mailbox.request(UNKNOWN_METHOD, b"{}")
        else:
            yield stage, *hook.mailbox.request(stage.method, question(stage).framed_params(hook.patience_s))


def _read_kind(kind: Stage | None, answered: Answered, known: Learnt) -> None:
    """Raises BadMessage."""
    if kind is not None:
        read_answer(kind, answered)
    elif known.refuses_unknown and isinstance(answered, Result):
        raise BadMessage("an unknown method got a result")


def _missing(done: int, *, moving: bool) -> Finding:
    if moving:
        fix = "answer calls side by side (threads, tasks): hookgate waits 5 s for each by default"
        return warned("many calls", f"{done} of {CALLS} answered in time, the rest is slow", fix)
    return failed("many calls", f"{done} of {CALLS} calls answered, then nothing more came", ID_FIX)


async def _write_all(hook: Subject, data: bytes) -> None:
    try:
        with trio.fail_after(hook.patience_s):
            await hook.write(data)
    except trio.TooSlowError:
        raise NoAnswer(hook.patience_s) from None


# --- lines --------------------------------------------------------------------------------------------------


async def probe_split_lines(hook: Subject, known: Learnt) -> Finding:
    """Three pieces with pauses between them; one cut is inside a character."""
    call_id, frame = next_call(hook, known, ODD_TEXT)
    cut = frame.index("ü".encode()) + 1
    for piece in (frame[:10], frame[10:cut]):
        await _write_all(hook, piece)
        await trio.sleep(PIECE_PAUSE_S)
    read_next(known, await hook.exchange(frame[cut:], call_id))
    return ok("split lines", "a request that comes in pieces is read whole")


async def probe_joined_lines(hook: Subject, known: Learnt) -> Finding:
    calls = [next_call(hook, known) for _ in range(known.room(JOINED))]
    event = b"".join(hook_event_frame(event, 0) for event in events(1))
    data = event.join([b"", *(frame for _, frame in calls), b""])
    for call_id, _ in calls:
        read_next(known, await hook.exchange(data, call_id))
        data = b""
    return ok("joined lines", "requests and events that come in one piece are taken apart")


async def probe_big_line(hook: Subject, known: Learnt) -> Finding:
    seconds = known.limits.long_s
    line = "The quick brown fox jumps over the lazy dog.\n"
    text = line * (BIG_BYTES // len(line))
    if not known.usable:
        call_id, frame = next_call(hook, known)
        big = notification_frame("hook.event", encode({"Kind": "turn_start", "Meta": {}, "Payload": {"x": text}}))
        await hook.exchange(big + frame, call_id, seconds)
    else:
        asked = question(known.usable[0], text)
        read_answer(asked.stage, await ask(hook, asked, seconds))
    return ok("big line", f"a line of {BIG_BYTES // (1024 * 1024)} MB is read")


# --- notifications ------------------------------------------------------------------------------------------


async def probe_cancel(hook: Subject, known: Learnt) -> Finding:
    await still_answers(hook, known, _cancel(NEVER_GIVEN_ID))
    if not (known.declared and known.declared.cancel):
        return ok("cancel", "not declared; hook.cancel is ignored")
    call_id, frame = next_call(hook, known)
    # Answered all the same or not at all: both are right.
    await still_answers(hook, known, frame + _cancel(call_id))
    return ok("cancel", "declared; a cancelled call does no harm, and an unknown id is ignored")


def _cancel(call_id: int) -> bytes:
    return notification_frame("hook.cancel", encode({"id": call_id}))


async def probe_events(hook: Subject, known: Learnt) -> Finding:
    frames = b"".join(hook_event_frame(event, 0) for event in events(EVENTS))
    await still_answers(hook, known, frames)
    return ok("events", f"{EVENTS} events get no reply, and the next call is answered")


# --- stdout and the end -------------------------------------------------------------------------------------


def answers_finding(heard: StrayOutput) -> Finding:
    """About what all processes of the run answered once more: the next check may be the one that reads it."""
    if heard.twice:
        return failed("answers", f"{', '.join(heard.twice.values())} answered twice: {heard.second!r}", ID_FIX)
    return ok("answers", "none twice")


def stdout_finding(heard: StrayOutput) -> Finding:
    """About everything that all processes of the run wrote."""
    if heard.noise:
        shown = ", ".join(repr(line) for line in heard.lines)
        fix = "write nothing but answers to stdout: print to stderr, and look for libraries that print"
        return failed(
            "stdout", f"lines that are no JSON-RPC message ({heard.noise}, the first {heard.place}): {shown}", fix
        )
    if heard.methods:
        what = f"it sends {', '.join(sorted(heard.methods))}; hookgate offers no methods to hooks"
        return warned("stdout", what, "only answer what hookgate asks")
    if heard.unversioned:
        what = f'{heard.unversioned} answers lack "jsonrpc":"2.0"'
        return warned("stdout", what, "add it: hookgate does not mind, others do")
    return ok("stdout", "nothing but answers")


async def probe_end_of_input(hook: Subject, known: Learnt) -> Finding:
    seconds = known.limits.exit_s
    hook.pipes.close_stdin()
    with trio.move_on_after(seconds):
        await hook.pipes.process.wait()
    status = hook.pipes.process.returncode
    if status is None:
        fix = "leave when stdin ends: hookgate sends SIGTERM after 2 s, SIGKILL 1 s later"
        return failed("end of input", f"it still runs {seconds:g} s after its stdin was closed", fix)
    left = await _survivors(hook.pipes.process.pid)
    if left:
        fix = "end the processes that you start before you leave; hookgate kills them"
        return failed("end of input", f"it left running: {', '.join(left)}", fix)
    if status:
        return warned("end of input", exit_text(status), "exit with status 0 when stdin ends")
    return ok("end of input", "exits by itself, leaves nothing running")


async def _survivors(group: int) -> list[str]:
    """Processes of the group that stay; one that is about to leave gets a moment."""
    left = _members(group)
    for _ in range(SURVIVOR_LOOKS):
        if not left:
            break
        await trio.sleep(PIECE_PAUSE_S)
        left = _members(group)
    return left


def _members(group: int) -> list[str]:
    """Name and pid of each; where no /proc tells, whether there is any. Zombies have ended already."""
    if not Path("/proc/self/stat").exists():
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, 0)
            return ["a process of its group"]
        return []
    stats = (_stat(path) for path in Path("/proc").glob("[0-9]*/stat"))
    return [f"{name} (pid {pid})" for pid, name, state, of in stats if of == group and state not in "ZX"]


def _stat(path: Path) -> tuple[int, str, str, int]:
    """pid, name, state, process group. The name may hold blanks and brackets; the last one closes it."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return 0, "", "X", 0
    pid, _, rest = text.partition(" (")
    name, _, fields = rest.rpartition(") ")
    state, _, group, *_ = fields.split()
    return int(pid), name, state, int(group)

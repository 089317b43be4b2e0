"""Where messages of a running gateway are, for people who know something of one: found, and what each waits for."""

from __future__ import annotations

from collections.abc import Mapping

from hookgate.assembly.app import Runtime
from hookgate.loop.nested.within import task_agent
from hookgate.protocol.approval import usual_title
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.decisions import StoredRequest
from hookgate.protocol.journal.upkeep import FoundMessage, Leaving, Upkeep
from hookgate.protocol.journal.views import Passage
from hookgate.telemetry.turns import Doing

MAX_TEXT = 500
"""Of a message that is shown among others."""


@dataclass(frozen=True)
class Located:
    """`state` and `why` as in Whereabouts, `steps` the way that it came. `waits_for`: what has to happen before it
    goes on, in words that follow "waits"; empty: nothing. `until`: when that is over at the latest, in seconds of the
    wall clock; 0: not known."""

    message: str
    session: str
    sender: str
    text: str
    state: str
    waits_for: str
    until: float
    steps: tuple[Passage, ...]
    why: str = ""


async def find_messages(runtime: Runtime, upkeep: Upkeep, words: str = "", most: int = 100) -> tuple[Located, ...]:
    """By their ids, the platform's too, or what is in their text, chat or sender; what is unfinished first. No words:
    all of them. Secrets are hidden."""
    found = await upkeep.find(words.strip(), most)
    pending = {it.message: it for it in await runtime.agent.approvals.pending()}
    return tuple(_located(runtime, it, pending) for it in found)


def _located(runtime: Runtime, found: FoundMessage, pending: Mapping[str, StoredRequest]) -> Located:
    where, hidden = found.whereabouts, runtime.agent.around.redactor.text
    waits, until = _waits(runtime, found, pending.get(where.message))
    text = hidden(where.text)
    shown = text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"
    its = where.message, where.conversation.session, found.sender, shown
    return Located(*its, where.state, waits, until, where.passages, hidden(where.why))


def _waits(runtime: Runtime, found: FoundMessage, request: StoredRequest | None) -> tuple[str, float]:
    session = found.whereabouts.conversation.session
    match found.whereabouts.state:
        case "waiting" if request is not None:
            shown, task = request.shown, task_agent(request.conversation)
            whose = f", in the task of agent {task}" if task else ""
            return (
                f"for a person{whose}: {shown.title or usual_title(shown.call.name, shown.extension)}",
                request.expires_at,
            )
        case "sending" if found.leaving is not None:
            return _to_leave(runtime, found.leaving)
        case "queued":
            return _for_its_turn(runtime, session), 0.0
        case "running":
            return _within_its_turn(runtime, session), 0.0
        case _:
            return "", 0.0


def _to_leave(runtime: Runtime, leaving: Leaving) -> tuple[str, float]:
    channel = runtime.channels.get(leaving.channel)
    if channel is None:
        return f"for the channel {leaving.channel}, which is not open", 0.0
    if leaving.tries:
        tries = "once" if leaving.tries == 1 else f"{leaving.tries} times"
        return f"to be sent again, which has failed {tries}: {leaving.why}", leaving.again_at
    if channel.state.state != "receiving":
        return f"for the channel {leaving.channel}, which is {channel.state.state}: {channel.state.why}", 0.0
    return "for what goes to its chat before it", 0.0


def _for_its_turn(runtime: Runtime, session: str) -> str:
    channel, known = session.partition(":")[0], runtime.gateway.sessions.get(session)
    if channel not in runtime.channels:
        return f"for the channel {channel}, which is not open"
    if known is not None and known.busy and known.jobs.waiting:
        return "for the turn before it in its chat"
    most = runtime.settings.config.gateway.max_turns
    at_work = sum(it.busy for it in runtime.gateway.sessions.values())
    return f"for one of {most} turns to end" if at_work > most else "for its turn to begin"


def _within_its_turn(runtime: Runtime, session: str) -> str:
    now = runtime.telemetry.turns.doing(session)
    if now is None:
        return "for its turn to go on"
    task = f", in the task of agent {now.task_of}" if now.task_of else ""
    return f"{DOING[now.what].format(now.name)}{task}"


DOING: Mapping[Doing, str] = {
    "hooks": "for hooks at {}",
    "model": "for the model {}",
    "tool": "for the tool {}",
    "person": "for a person to decide about {}",
    "slot": "for another turn to end: no more of them work at once",
    "compacting": "for what is older to be summed up",
    "sending": "to be stored and sent",
}

"""A program that works with a journal until it is killed: `journal_writer.py FILE DURABILITY CHAT`.

It says what is stored, a line each: `accepted M1`, `intended 1.0 SESSION`, `answered M1`. Turns run side by side.
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

import trio

from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.journal.values import Arrival, CallRecord, Draft, Intent
from hookgate.protocol.values import Message, ToolCall, ToolResult
from hookgate.store.journal import StoredJournal, open_journal

SIDE_BY_SIDE = 4


async def main(file: Path, durability: str, prefix: str) -> None:
    async with (
        open_journal(file, durability) as journal,  # type: ignore[arg-type] - the test's own word
        trio.open_nursery() as nursery,
    ):
        for number in range(SIDE_BY_SIDE):
            nursery.start_soon(turns, journal, f"{prefix}{number}")


async def turns(journal: StoredJournal, name: str) -> None:
    chat = Chat("test", name)
    for number in count():
        accepted = await journal.intake.accept(
            Arrival(Inbound(chat, f"{number} {'x' * 500}"), "agent", f"{name}-{number}")
        )
        say(f"accepted {accepted.id}")
        claim = await journal.work.claim("writer", 60, accepted.conversation, accepted.id)
        assert claim is not None
        draft = Draft(
            Message("assistant", "", ()),
            (CallRecord(call=ToolCall("c", "ls", {}), unreadable=None, agent="agent", iteration=0, id="0"),),
        )
        (entry,) = await journal.work.append(claim, [draft])
        call = f"{entry.number}.0"
        await journal.work.intend(claim, Intent(call, "p"))
        say(f"intended {call} {accepted.conversation.session}")
        await journal.work.finish(claim, call, ToolResult("done"), 5)
        answer = Outbound(chat, f"answer to {accepted.id}")
        await journal.work.complete(claim, "answered", [Draft(Message("assistant", answer.text))], [answer])
        say(f"answered {accepted.id}")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    trio.run(main, Path(sys.argv[1]), sys.argv[2], sys.argv[3])

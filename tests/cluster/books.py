"""What must hold of several gateways once all has come to its end: what must hold of one, and that no conversation
was at two of them at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from hookgate.store.journal.tables import Tables
from hookgate.store.places import Database, open_look_at
from tests.chaos.books import Books
from tests.chaos.platform import Chats
from tests.chaos.webhooks import Webhooks
from tests.cluster.gateways import Gateway
from tests.crash.world import effects

ENDS = "('answered', 'refused', 'dropped', 'dead')"
OUTCOMES = f"""
    SELECT m.number, coalesce(string_agg(p.what, ' '), '') FROM messages m
    LEFT JOIN passages p ON p.message = m.number AND p.what IN {ENDS}
    WHERE m.kind = 'message' GROUP BY m.number HAVING count(p.what) <> 1
"""
RUNS = f"""
    SELECT m.conversation, m.number, p.what FROM passages p JOIN messages m ON m.number = p.message
    WHERE m.kind = 'message' AND p.what IN ('running', {ENDS[1:]} ORDER BY p.rowid
"""
SPENT = """
    SELECT count(*) FROM requests WHERE state = 'spent' AND instr(CAST(votes AS TEXT), '"approved":true') = 0
"""


def problems(books: Books, platform: Chats, gateways: Sequence[Gateway], database: Database) -> list[str]:
    books.deaths = [(begin, end) for it in gateways for begin, end in it.troubled]
    found = [*books.problems(database, *(it.folder for it in gateways))]
    if isinstance(platform, Webhooks):
        found += _of_doubles(platform, books.deaths)
    with open_look_at(database) as tables:
        found += _of_journal(tables)
    return [*found, *_of_places(books, gateways)]


def _of_journal(tables: Tables) -> Iterator[str]:
    for number, ends in tables.all(OUTCOMES):
        yield f"M{number} came to {ends or 'nothing'}"
    at_work = dict[int, int]()
    for conversation, message, what in tables.all(RUNS):
        before = at_work.get(conversation, message)
        if what != "running":
            at_work.pop(conversation, None)
        elif before != message:
            yield f"M{message} was begun while M{before} was worked on"
        else:
            at_work[conversation] = message
    if tables.one(SPENT) != (0,):
        yield "an approval was spent that nobody had given"


def _of_doubles(webhooks: Webhooks, deaths: Sequence[tuple[float, float]]) -> Iterator[str]:
    """Something came again, by its key, though nobody had died, or was away, between the sending and the receipt."""
    for told in webhooks.doubles():
        if not any(begin <= told.at[-1] and told.at[0] <= end for begin, end in deaths):
            yield f"came {len(told.at)} times, and nobody had died: {told.event}"


def _of_places(books: Books, gateways: Sequence[Gateway]) -> Iterator[str]:
    """Calls of one conversation that ran at the same moment: only where one of the two was thought dead."""
    chats, by_chat = {it.call: it.chat for it in books.said.values()}, defaultdict[str, list[_Run]](list)
    for gateway in gateways:
        for call, begin, end in effects(gateway.folder).spans:
            by_chat[chats[call]].append((begin, end, call, gateway))
    for runs in by_chat.values():
        runs.sort(key=lambda it: it[:2])
        for (_, end, call, one), (begin, _, other, two) in pairwise(runs):
            if begin < end and not (one.troubled or two.troubled):
                yield f"at the same moment: {call} at {one.name} and {other} at {two.name}"


_Run = tuple[float, float, str, Gateway]

"""What must hold of several gateways once all has come to its end: what must hold of one, and that no conversation
was at two of them at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from time import monotonic, time

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


Times = Sequence[tuple[float, float]]
"""Each from when to when, by the clock that never jumps."""


def problems(
    books: Books, platform: Chats, gateways: Sequence[Gateway], database: Database, away: Times
) -> list[str]:
    """`away`: when the database was."""
    books.deaths = [(begin, end) for it in gateways for begin, end in it.troubled]
    found = [*books.problems(database, *(it.folder for it in gateways))]
    if isinstance(platform, Webhooks):
        found += of_doubles(platform, [*books.deaths, *away])
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


def of_doubles(webhooks: Webhooks, troubles: Times) -> Iterator[str]:
    """Something came again, by its key, though between the sending and the receipt nobody had died, or was away, and
    the receipt could be stored."""
    for told in webhooks.doubles():
        if not _overlaps(troubles, told.at[0], told.at[-1]):
            yield f"came {len(told.at)} times, and nobody had died: {told.event}"


def _of_places(books: Books, gateways: Sequence[Gateway]) -> Iterator[str]:
    """Calls of one conversation that ran at the same moment: only while one of the two was thought dead."""
    chats, by_chat = {it.call: it.chat for it in books.said.values()}, defaultdict[str, list[Run]](list)
    for gateway in gateways:
        for call, begin, end in effects(gateway.folder).spans:
            by_chat[chats[call]].append((begin, end, call, gateway))
    for runs in by_chat.values():
        yield from at_the_same_moment(runs, time() - monotonic())


def at_the_same_moment(runs: Sequence[Run], ahead_s: float) -> Iterator[str]:
    """`ahead_s`: so far the clock that runs have is ahead of that which troubles have."""
    for (_, end, call, one), (begin, until, other, two) in pairwise(sorted(runs, key=lambda it: it[:2])):
        both = begin - ahead_s, min(end, until) - ahead_s
        if begin < end and not any(_overlaps(it.troubled, *both) for it in (one, two)):
            yield f"at the same moment: {call} at {one.name} and {other} at {two.name}"


def _overlaps(times: Sequence[Sequence[float]], since: float, until: float) -> bool:
    return any(begin <= until and since <= end for begin, end in times)


Run = tuple[float, float, str, Gateway]
"""A call: from when to when, which, and where."""

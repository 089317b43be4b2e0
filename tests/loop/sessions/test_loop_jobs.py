"""The queue of a conversation: the order of jobs, and how each of them can end."""

from __future__ import annotations

import trio

from hookgate.loop.sessions.jobs import MAX_QUEUED, Compaction, End, Job, Jobs, Prompt
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.journal.values import Accepted, Conversation

WORK = Compaction(Chat("test", "1"))


class Noting:
    """A giver that writes down what it hears of its job."""

    def __init__(self, heard: list[str], name: str) -> None:
        self._heard, self._name = heard, name

    def began(self, job: Job) -> None:
        self._heard.append(f"{self._name} began")

    def ended(self, job: Job, end: End) -> None:
        self._heard.append(" ".join(filter(None, (self._name, end.how, end.reason))))


def filled(*names: str) -> tuple[Jobs, list[Job], list[str]]:
    jobs, heard = Jobs(), list[str]()
    given = [Job(WORK, Noting(heard, name)) for name in names]
    assert all(jobs.offer(job) for job in given)
    return jobs, given, heard


async def test_jobs_are_taken_in_order_and_each_wakes_whoever_waits_for_it() -> None:
    jobs, (first, second), heard = filled("a", "b")

    async def before() -> None:
        await trio.lowlevel.checkpoint()
        heard.append("before a")

    first.before = before
    assert jobs.next is first
    assert jobs.take() is first
    await first.begin()
    # It may have stepped back since.
    await first.begin()
    assert (jobs.current, jobs.waiting, jobs.busy) == (first, 1, True)
    jobs.done(first, End("done"))
    with trio.fail_after(5):
        assert await first.wait() == End("done")
    assert (jobs.take(), second.end) == (second, None)
    jobs.done(second, End("failed", "why"))
    assert (jobs.take(), jobs.busy) == (None, False)
    with trio.fail_after(5):
        await jobs.idle()
    assert heard == ["a began", "before a", "a done", "b failed why"]


def test_messages_are_done_in_the_order_in_which_they_were_taken_in_whoever_finds_them_later() -> None:
    def job(number: int) -> Job:
        return Job(Prompt(Inbound(WORK.chat, ""), Accepted(f"M{number}", Conversation("test:1", "main"))))

    jobs, given = Jobs(), {number: job(number) for number in (7, 3, 9, 5, 11, 10)}
    assert jobs.offer(given[7])
    assert jobs.offer(given[3])
    assert jobs.offer(given[9], resumed=True)
    assert jobs.offer(given[5], resumed=True)
    compaction = Job(WORK)
    assert jobs.offer(compaction)
    assert jobs.offer(given[11])
    # What was left comes before whatever else was asked for since.
    assert jobs.offer(given[10], resumed=True)
    wanted = [given[3], given[5], given[7], given[9], given[10], compaction, given[11]]
    assert [jobs.take() for _ in wanted] == wanted


def test_a_cancelled_job_that_waits_never_begins_and_a_running_one_is_cut_off() -> None:
    jobs, (first, second, third), heard = filled("a", "b", "c")
    jobs.take()
    jobs.cancel(second)
    assert (heard, jobs.waiting) == (["b cancelled"], 1)
    jobs.cancel(first)
    assert (first.scope.cancel_called, first.end, jobs.current) == (True, None, first)
    jobs.done(first, End("cancelled"))
    assert jobs.take() is third


def test_cancelling_all_that_waits_leaves_the_queue_at_rest() -> None:
    jobs, (only,), heard = filled("a")
    jobs.cancel(only)
    assert (heard, jobs.busy, jobs.take()) == (["a cancelled"], False, None)


def test_what_is_refused_ends_in_its_turn_and_what_comes_later_is_not() -> None:
    jobs, (first, second), _ = filled("a", "b")
    jobs.take()
    jobs.refuse("enough")
    later = Job(WORK)
    jobs.offer(later)
    assert (first.refused, second.refused, later.refused) == ("", "enough", "")


def test_what_is_dropped_ends_at_once_and_is_counted() -> None:
    jobs, (running, *_), heard = filled("a", "b", "c")
    jobs.take()
    assert jobs.drop() == 2
    assert (heard, jobs.current) == (["b dropped", "c dropped"], running)
    jobs.done(running, End("dropped"))
    running.finish(End("done"))
    assert heard[-1] == "a dropped"


def test_a_full_queue_takes_no_more_and_every_job_wakes() -> None:
    jobs, woken = Jobs(), list[int]()
    jobs.wake = lambda: woken.append(1)
    assert all(jobs.offer(Job(WORK)) for _ in range(MAX_QUEUED))
    assert not jobs.offer(Job(WORK))
    assert len(woken) == MAX_QUEUED

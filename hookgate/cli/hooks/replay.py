"""`hookgate hooks replay`: what a hook decides differently about what was recorded, and whether that may pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from hookgate.channels.printable import printable
from hookgate.cli.hooks.recorded import calls_in, recorded_in
from hookgate.cli.hooks.subjects import Named, own_tools, plan_of, quiet, telling
from hookgate.cli.hooks.wording import cut, subject_of
from hookgate.cli.printing import counted, say, say_json
from hookgate.config import ConfigError
from hookgate.mistakes import close
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.rehearsal.recording import Broken
from hookgate.rehearsal.replay import Deviation, Difference, Gone, Outcome, Replay, Tally


@dataclass(frozen=True)
class Passing:
    """`strict`: nothing may differ. `broken`: lines that cannot be read may be left out."""

    strict: bool = False
    broken: bool = False

    def status(self, tally: Tally) -> int:
        """1 where what was held goes on now, the hook could not be asked to the end, or not all could be asked."""
        failed = tally.looser or tally.gone or (tally.broken and not self.broken) or (self.strict and tally.different)
        return 1 if failed else 0


async def replay_file(file: Path, named: Named, of: str, passing: Passing, *, as_json: bool) -> int:
    """The exit status. Raises ConfigError."""
    quiet()
    hook = _chosen(file, calls_in(file), of or named.name)
    plan, config = plan_of(named)

    def tell(told: Deviation) -> None:
        say_json(_members(told)) if as_json else say(_line(told, file))

    tally = await Replay(plan, hook, tell, telling(named, plan), own_tools(config)).run(recorded_in(file))
    status = passing.status(tally)
    if as_json:
        say_json({"hook": hook, "passed": not status, **vars(tally)})
    else:
        for line in _summary(hook, tally):
            say(line)
    return status


def _chosen(file: Path, calls: Mapping[str, int], wanted: str) -> str:
    """Raises ConfigError: what a hook has never been asked shows nothing of it."""
    if not calls:
        raise ConfigError(f"{file}: there is no stage call in it")
    if wanted in calls:
        return wanted
    there = ", ".join(f"{hook} ({counted(count, 'call')})" for hook, count in calls.items())
    if wanted:
        hint = "; --hook NAME takes another one's"
        raise ConfigError(f"{file}: no calls of {wanted!r}{close(wanted, calls)}: there are those of {there}{hint}")
    if len(calls) > 1:
        raise ConfigError(f"{file}: several hooks were asked: say --hook, one of {there}")
    return next(iter(calls))


# --- people -------------------------------------------------------------------------------------------------


def _line(told: Deviation, file: Path) -> str:
    match told:
        case Broken(line=line, why=why):
            return f"{file}:{line}: broken, left out: {printable(why)}"
        case Gone(line=line, why=why):
            return f"{file}:{line}: the hook was lost here: {printable(why)}"
        case Difference(recorded=recorded):
            about = f"{recorded.question.stage} {recorded.question.tool}".rstrip()
            now = f"{_worded(told.after)}{_why(told)}"
            mark = f"{_marked(told)}  " if told.looser else ""
            said = f"\n    {subject_of(recorded.question)}"
            return f"{file}:{recorded.line}: {mark}{about}: {_worded(told.before)} -> {now}{said}"


def _marked(told: Difference) -> str:
    if told.uncertain:
        return "NOT HELD"
    return "NOW ANSWERED" if told.after.decision == "answered" else "NOW ALLOWED"


def _worded(outcome: Outcome) -> str:
    match outcome.decision:
        case "allowed":
            return "allowed"
        case "denied" if outcome.reason:
            by = f" by {outcome.detail['by']}" if "by" in outcome.detail else ""
            return f"denied{by} ({cut(printable(outcome.reason))})"
        case decision:
            shown = cut(printable(encode(outcome.detail).decode()))
            return decision if shown == "{}" else f"{decision} {shown}"


def _why(told: Difference) -> str:
    perhaps = ", or run where the tool is not its own" if told.uncertain else ""
    if told.failed:
        return f"{perhaps}, since it gave no usable answer: {printable(told.failed)}"
    return f"{perhaps}, since it is not asked: {printable(told.unasked)}" if told.unasked else perhaps


def _summary(hook: str, tally: Tally) -> Iterator[str]:
    held = f", {tally.looser} of them where it was held or answered and goes on now" if tally.looser else ""
    different = f"{tally.different or 'none'} answered differently{held}"
    yield f"{counted(tally.asked, 'call')} of {hook} asked again, {different}."
    if tally.redacted:
        yield f"In {tally.redacted} of them marks stand for secrets, so what the hook makes of those is not tried."
    if tally.broken:
        yield f"{counted(tally.broken, 'line')} could not be read."
    if tally.left:
        yield f"{counted(tally.left, 'call')} could not be asked about, since the hook was given up."


# --- programs -----------------------------------------------------------------------------------------------


def _members(told: Deviation) -> dict[str, object]:
    match told:
        case Broken(line=line, why=why):
            return {"line": line, "broken": why}
        case Gone(line=line, why=why):
            return {"line": line, "lost": why}
        case Difference(recorded=recorded, before=before, after=after):
            sides = {
                name: {"decision": it.decision, **it.detail} for name, it in (("before", before), ("after", after))
            }
            more = {"failed": told.failed, "unasked": told.unasked}
            about = {"line": recorded.line, "stage": recorded.question.stage, "tool": recorded.question.tool}
            return {**about, "looser": told.looser, **sides, **{name: it for name, it in more.items() if it}}

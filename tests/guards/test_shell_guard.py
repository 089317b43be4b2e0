"""The shell policy: which command lines each profile lets run, and what hostile ones cost."""

from __future__ import annotations

from itertools import chain
from shlex import quote

import pytest

from hookgate.guards.shell.guard import ShellGuard
from hookgate.guards.shell.policy import Profile, judge
from hookgate.guards.shell.tree import MAX_BYTES, MAX_OPERATORS
from hookgate.protocol.hook.answers import CONTINUE, Deny
from hookgate.protocol.hook.stages import Question, Stage
from tests.cost import linear
from tests.guards.asking import STEP, call
from tests.guards.shell_lines import CHANGES, LOOKS, NEVER, RELAXED, lines

PROFILES: tuple[Profile, ...] = ("relaxed", "standard", "read_only")
TABLE = [
    (line, allowed)
    for block, allowed in ((LOOKS, PROFILES), (CHANGES, PROFILES[:2]), (RELAXED, PROFILES[:1]), (NEVER, ()))
    for line in lines(block)
]


@pytest.mark.parametrize(("line", "allowed"), TABLE, ids=[line[:60] for line, _ in TABLE])
def test_each_profile_allows_what_the_table_says(line: str, allowed: tuple[Profile, ...]) -> None:
    assert tuple(profile for profile in PROFILES if judge(line, profile) is None) == allowed


def test_the_table_is_long_enough_to_mean_something() -> None:
    assert len(TABLE) > 300
    assert len({line for line, _ in TABLE}) == len(TABLE)


@pytest.mark.parametrize(
    ("line", "profile", "rule", "words"),
    [
        ("cd src && ls", "standard", "cd", "`cd` is not needed: paths are relative to the workspace"),
        ("ls > out", "standard", "redirect", "Use write"),
        ("curl x | sh", "relaxed", "piped_code", "Put it into a file with write"),
        ('echo "a', "relaxed", "syntax", "Check quotes"),
        ("rm x", "read_only", "write", "`rm` writes files"),
        ("mkdir x", "read_only", "state", "`mkdir` changes state"),
        ("ls | xargs cat", "read_only", "wrapper", "Run the command itself"),
        ("git push", "read_only", "git", "`git push` changes the repository"),
        ("$X", "read_only", "unknown", "Write its name out"),
        ("ls\0rm", "relaxed", "size", "NUL"),
        ("x" * (MAX_BYTES + 1), "relaxed", "size", "KiB"),
        ("a|" * MAX_OPERATORS + "a>/dev/null", "relaxed", "size", "operators"),
    ],
)
def test_a_refusal_names_its_rule_and_what_to_do_instead(line: str, profile: Profile, rule: str, words: str) -> None:
    refusal = judge(line, profile)
    assert refusal is not None
    assert refusal.rule == rule
    assert words in refusal.reason


def test_commands_in_commands_are_judged_eight_deep() -> None:
    assert judge("sudo " * 8 + "ls", "standard") is None
    assert judge("sudo " * 8 + "cd x", "standard") is not None
    refusal = judge("sudo " * 9 + "ls", "standard")
    assert refusal is not None
    assert refusal.rule == "depth"


def test_the_line_in_a_line_is_judged_as_deep() -> None:
    line, rules = "cd x", list[str]()
    for wrapper in ("sh -c", "sh -c", "bash -ec", "sh -c", "env sh -c", "sudo env sh -c"):
        line = f"{wrapper} {quote(line)}"
        refusal = judge(line, "standard")
        rules.append(refusal.rule if refusal else "")
    assert rules == ["cd"] * 5 + ["depth"]


UNITS = (
    *("(", "$(", "a|", "a=(", ">", "${", "<<a ", "{ ", "`", "'", '"', "\\", "[", "a[", "a;", "a ", "a\n", "é", "\0"),
    *("if ", "case x in ", "cat <<A\n", "sudo ", "sh -c ls;", "find -exec a ;", "((", "<(", "f(){ ", "[[ ", "#\n"),
)


@pytest.mark.parametrize("unit", UNITS)
def test_hostile_lines_are_judged_in_bounded_time(unit: str) -> None:
    with linear():
        for size in (1 << 20, MAX_BYTES - 8):
            judge(unit * (size // len(unit.encode())), "read_only")
        each = max(1, sum(unit.count(it) for it in "|&<>(){}[$`"))
        judge((unit * (MAX_OPERATORS // each))[:MAX_BYTES], "read_only")


async def test_the_guard_judges_the_command_of_bash_and_nothing_else() -> None:
    guard = ShellGuard("standard")

    async def judged(name: str, **arguments: object) -> object:
        made = call(name, **arguments)  # type: ignore[arg-type]
        return await guard.before_tool(Question(Stage.BEFORE_TOOL, STEP, made))

    refused = await judged("bash", command="cd x", background=True)
    assert isinstance(refused, Deny)
    assert refused.reason.startswith("shell policy, rule cd: `cd` is not needed")
    assert refused.reason.endswith(".")
    assert refused.kind == "permission"
    assert await judged("bash", command="ls") is CONTINUE
    assert await judged("bash", command=7) is CONTINUE
    assert await judged("other", command="cd x") is CONTINUE
    # Long enough for a thread.
    assert isinstance(await judged("bash", command="echo " + "x " * 2000 + "; cd y"), Deny)
    assert await judged("bash", command="echo " + "x " * 2000) is CONTINUE


def test_every_command_of_the_table_is_parsed_once_and_alone() -> None:
    """Two threads judge at the same time: nothing is shared between them."""
    from concurrent.futures import ThreadPoolExecutor

    some = [line for line, _ in TABLE][::7]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda line: judge(line, "standard"), some * 4))
    assert together == list(chain.from_iterable([[judge(line, "standard") for line in some]] * 4))

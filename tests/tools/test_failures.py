"""Each kind of failure: whose fault it is, whether to try again, what the model is told."""

from __future__ import annotations

from typing import get_args

import pytest

from hookgate.protocol.values import Fault, FaultKind
from hookgate.protocol.values.effects import ProcessEffect
from hookgate.tools.errors import ToolError
from hookgate.tools.failures import HINTS, failed, failure, faulted, meant, removed, success


def test_every_kind_has_its_row_and_nobody_can_change_it() -> None:
    assert set(HINTS) == set(get_args(FaultKind))
    with pytest.raises(TypeError):
        HINTS["fatal"] = HINTS["unknown"]  # type: ignore[index]


@pytest.mark.parametrize("kind", get_args(FaultKind))
def test_a_failure_names_kind_place_and_reason_and_hints_on_its_own_line(kind: FaultKind) -> None:
    lines = failure(kind, "op", "why").for_llm.split("\n")
    assert lines == [f"ERROR ({kind}) op: why", *([HINTS[kind]] if HINTS[kind] else [])]


def test_when_to_come_back_is_told_and_kept() -> None:
    result = failed("fetch", ToolError("transient", "", "429", retry_after_s=12.5))
    assert result.error == Fault("transient", "fetch", "429", retry_after_s=12.5)
    assert result.for_llm.endswith("Try once more, or check the state first. Wait 12.5 s first.")
    assert faulted(Fault("unknown", "op", "why", retry_after_s=1)).for_llm.endswith("\nWait 1 s first.")


def test_of_several_failures_the_worst_is_told_whole() -> None:
    group = ExceptionGroup("", [OSError("io"), ToolError("permission", "inner", "no", denied_by="rule:x")])
    assert failed("op", group).error == Fault("permission", "inner", "no", "rule:x")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


def test_an_error_that_cannot_be_printed_is_a_result_too() -> None:
    result = failed("op", Unprintable())
    assert result.error is not None
    assert result.error.reason == "Unprintable: an error that cannot be printed"


def test_a_removed_tool_is_told_apart_from_one_that_never_was() -> None:
    result = removed("search")
    assert result.error == Fault("not_found", "search", "search was removed during this turn")


def test_success_is_never_empty_and_exit_code_zero_is_not_unknown() -> None:
    effect = ProcessEffect("true", exit_code=0)
    result = success(data={"exit_code": 0}, effects=(effect,))
    assert (result.for_llm, result.is_error, result.error) == ('{"exit_code":0}', False, None)
    assert (success().for_llm, success("text").for_llm) == ("ok", "text")
    assert effect != ProcessEffect("true", exit_code=None)


@pytest.mark.parametrize(
    ("written", "known", "guess"),
    [
        ("file_path", ["path", "limit"], " (did you mean path?)"),
        ("Path", ["path"], " (did you mean path?)"),
        ("oldText", ["old_text", "new_text"], " (did you mean old_text?)"),
        ("new-text", ["old_text", "new_text"], " (did you mean new_text?)"),
        ("zzz", ["path"], ""),
        ("", ["path"], ""),
        ("path", [], ""),
    ],
)
def test_what_was_meant(written: str, known: list[str], guess: str) -> None:
    assert meant(written, known) == guess

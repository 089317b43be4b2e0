"""Says, or refuses, where a call edits a file that looks like a test: the quickest way to make a test pass."""

from __future__ import annotations

from hookgate.guards.paths import changed_path, inside, looks_like_test
from hookgate.guards.remembered import SpecOf, advised, called, finished
from hookgate.protocol.hook.answers import CONTINUE, Answer, Deny, Modify
from hookgate.protocol.hook.stages import Question
from hookgate.protocol.values import ToolCall


class TestEditGuard:
    # Test runners collect classes by their name.
    __test__ = False

    def __init__(self, root: str, refuse: bool, spec_of: SpecOf) -> None:
        self._root = root
        self._refuse = refuse
        self._spec_of = spec_of

    async def before_tool(self, question: Question) -> Answer:
        path = self._test_path(called(question))
        if path is None or not self._refuse:
            return CONTINUE
        return Deny(f"{path} looks like a test, and tests are not to be changed. Change the code that it tests.")

    async def after_tool(self, question: Question) -> Answer:
        done = finished(question)
        path = self._test_path(done.call)
        if path is None or done.result.is_error:
            return CONTINUE
        advice = f"{path} looks like a test. Change a test only where what it asks for has changed, and say so."
        return Modify({"for_llm": advised(done.result.for_llm, advice)})

    def _test_path(self, call: ToolCall) -> str | None:
        path = changed_path(call, self._spec_of)
        return path if path is not None and looks_like_test(inside(path, self._root)) else None

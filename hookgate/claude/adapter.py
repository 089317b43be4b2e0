"""Questions of the gate as events of Claude Code, and what its commands say as answers of a hook. Knows no pipe.

A call is judged before_tool and remembered until approve_tool, where a person can be asked: what Claude Code decides
in one step are two stages here. What others have changed meanwhile is judged again, as it will run.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import trio

from hookgate.claude.running import run_shell
from hookgate.claude.saying import CommandFailed, HookOutput, read, together
from hookgate.claude.settings import OBSERVED, STAGES, Handler, Settings
from hookgate.claude.tools import NotCarried, changed, names_of, told
from hookgate.processes.last_words import WARNING
from hookgate.protocol.codec import canonical, encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Json

Members = Mapping[str, Any]
REMEMBERED = 4096
_OURS = frozenset(stage for stages in STAGES.values() for stage in stages)


class UnknownMethod(Exception):
    """What a hook answers with -32601."""


@dataclass(frozen=True)
class _Judged:
    """A call as the commands have judged it: its name and arguments, in one spelling."""

    call: bytes
    said: HookOutput


class Adapter:
    """Commands run in the current folder, the project's, and are told of the workspace. `tell`: a line for people.
    `spawn`: runs what nobody waits for."""

    def __init__(
        self, settings: Settings, lifeline: int, tell: Callable[[str], None], spawn: Callable[..., None]
    ) -> None:
        self._settings, self._workspace = settings, os.getcwd()
        self._lifeline, self._tell, self._spawn = lifeline, tell, spawn
        self._judged = OrderedDict[tuple[str, str], _Judged]()

    async def answer(self, method: str, params: Members) -> dict[str, Any]:
        """The result of a call. Raises UnknownMethod, CommandFailed."""
        match method:
            case "hook.hello":
                offered = cast("list[str]", params.get("stages") or [])
                self._workspace = str(params.get("workspace") or self._workspace)
                return {"ok": True, "name": "claude", "stages": [it for it in offered if it in _OURS], "cancel": True}
            case "hook.before_tool":
                return await self._before_tool(params)
            case "hook.approve_tool":
                return await self._approve_tool(params)
            case "hook.after_tool":
                return await self._after_tool(params)
            case "hook.on_message":
                return await self._on_message(params)
            case _:
                raise UnknownMethod(method)

    def hear(self, params: Members) -> None:
        """Commands about what has happened run on their own; what they say has no effect."""
        kind, meta, payload = params.get("Kind"), _object(params, "Meta"), _object(params, "Payload")
        for event, theirs in OBSERVED.items():
            below = bool(meta.get("ParentTurnID"))
            if theirs != kind or (kind == "turn_end" and below is (event == "Stop")):
                continue
            names = ("permission_prompt",) if event == "Notification" else ()
            more: dict[str, Json] = {"stop_hook_active": False}
            if event == "Notification":
                message = f"A person is asked about {payload.get('tool', 'a call')}: {payload.get('title', '')}"
                more = {"message": message, "notification_type": "permission_prompt"}
            for handler in self._settings.of(event, *names):
                self._spawn(self._unheeded, handler, self._given(event, str(meta.get("SessionKey", "")), more))

    # --- stages ---

    async def _before_tool(self, params: Members) -> dict[str, Any]:
        said, arguments = await self._judge(params), params["arguments"]
        if said.decision == "stop":
            return {"action": "abort_turn", "reason": said.reason}
        if said.decision == "block":
            return {"action": "deny_tool", "reason": said.reason}
        answer: dict[str, Any] = {"action": "continue"}
        if said.updated is not None:
            try:
                arguments = self._changed(params, said.updated)
            except NotCarried as error:
                return {"action": "deny_tool", "reason": f"a hook asks for a change that has no counterpart: {error}"}
            answer = {"action": "modify", "call": {"arguments": arguments}}
        self._judged[_key(params)] = _Judged(_call(params["tool"], arguments), said)
        while len(self._judged) > REMEMBERED:
            self._judged.popitem(last=False)
        return answer

    async def _approve_tool(self, params: Members) -> dict[str, Any]:
        judged = self._judged.pop(_key(params), None)
        said = judged.said if judged is not None else HookOutput()
        if judged is None or judged.call != _call(params["tool"], params["arguments"]):
            said = await self._judge(params)
            if said.updated is not None and self._changed(params, said.updated) != params["arguments"]:
                return {"approved": False, "reason": "a hook asks for a change of what others have changed since"}
        if said.decision in ("block", "stop"):
            return {"approved": False, "reason": said.reason}
        return {"ask": {"title": said.reason}} if said.decision == "ask" else {"approved": True}

    async def _judge(self, params: Members) -> HookOutput:
        said = await self._said("PreToolUse", params, {})
        if said.context:
            self._tell(f"PreToolUse: additionalContext has no effect here: {said.context}")
        return said

    async def _after_tool(self, params: Members) -> dict[str, Any]:
        result, failed = params["result"], params["result"].get("is_error") is True
        text = str(result.get("for_llm", ""))
        response: dict[str, Json] = {"content": text, "stdout": text, "stderr": "", "interrupted": False}
        if failed:
            said = await self._said("PostToolUseFailure", params, {"error": text, "is_interrupt": False})
        else:
            said = await self._said("PostToolUse", params, {"tool_response": response})
        if said.decision == "stop":
            return {"action": "abort_turn", "reason": said.reason}
        words = said.reason if said.decision == "block" else ""
        parts = [text if said.output is None else said.output, said.context, words]
        after = "\n\n".join(part for part in parts if part)
        return {"action": "continue"} if after == text else {"action": "modify", "result": {"for_llm": after}}

    async def _on_message(self, params: Members) -> dict[str, Any]:
        text = str(params["message"].get("text", ""))
        said = await self._run(self._settings.of("UserPromptSubmit"), params, {"prompt": text})
        if said.decision != "pass":
            return {"action": "drop", "reason": said.reason}
        if not said.context:
            return {"action": "continue"}
        return {"action": "modify", "message": {"text": f"{text}\n\n{said.context}"}}

    # --- commands ---

    async def _said(self, event: str, params: Members, more: Mapping[str, Json]) -> HookOutput:
        """About a call. Raises CommandFailed."""
        tool, names = params["tool"], names_of(params["tool"])
        handlers = self._settings.of(event, *names)
        about: dict[str, Json] = {
            "tool_name": names[0],
            "tool_input": told(tool, params["arguments"], self._workspace),
            "tool_use_id": str(params.get("tool_call_id", "")),
        }
        return await self._run(handlers, params, {**about, **more})

    async def _run(self, handlers: Sequence[Handler], params: Members, more: Mapping[str, Json]) -> HookOutput:
        """All at once; the first failure of one ends the others. Raises CommandFailed."""
        said: dict[int, HookOutput] = {}
        failures: list[CommandFailed] = []

        async def run(place: int, handler: Handler, given: bytes) -> None:
            try:
                said[place] = await self._one(handler, given)
            except CommandFailed as error:
                failures.append(error)
                nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            for place, handler in enumerate(handlers):
                given = self._given(handler.event, str(_object(params, "meta").get("SessionKey", "")), more)
                if handler.waits:
                    nursery.start_soon(run, place, handler, given)
                else:
                    self._spawn(self._unheeded, handler, given)
        if failures:
            raise failures[0]
        result = together([said[place] for place in sorted(said)])
        for remark in result.remarks:
            self._tell(remark)
        return result

    async def _one(self, handler: Handler, given: bytes) -> HookOutput:
        try:
            ran = await run_shell(handler.command, given, handler.timeout_s, self._lifeline)
        except OSError as error:
            raise CommandFailed(f"{handler.command[:80]!r} cannot be started: {error.strerror}") from None
        return read(handler.command, ran, handler.timeout_s, prints_context=handler.event == "UserPromptSubmit")

    async def _unheeded(self, handler: Handler, given: bytes) -> None:
        """What it decides comes too late, or is not asked for."""
        try:
            said = await self._one(handler, given)
        except CommandFailed as error:
            self._tell(f"{handler.event}: {error}")
            return
        except trio.Cancelled:
            self._tell(f"{WARNING}{handler.event}: {handler.command[:80]!r} was cut off: hookgate ends")
            raise
        if said.decision != "pass":
            self._tell(
                f"{handler.event}: {handler.command[:80]!r} wants to {said.decision}, without effect: {said.reason}"
            )

    def _given(self, event: str, session: str, more: Mapping[str, Json]) -> bytes:
        common: dict[str, Json] = {
            "session_id": session,
            "transcript_path": "",
            "cwd": self._workspace,
            "permission_mode": "default",
            "hook_event_name": event,
        }
        return encode({**common, **more})

    def _changed(self, params: Members, updated: Mapping[str, Json]) -> dict[str, Json]:
        before = told(params["tool"], params["arguments"], self._workspace)
        return changed(params["tool"], params["arguments"], before, updated)


def _object(members: Members, name: str) -> dict[str, Any]:
    value = members.get(name)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _key(params: Members) -> tuple[str, str]:
    return str(_object(params, "meta").get("TurnID", "")), str(params.get("tool_call_id", ""))


def _call(tool: str, arguments: object) -> bytes:
    return canonical([tool, arguments])

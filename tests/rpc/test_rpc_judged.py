"""`hookgate rpc` where a hook answers in the model's place, or keeps what it has said from the chat."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cli.rpc_client import Frame, one, open_rpc, scripted, types

# Answers at the door what asks for the hours, and keeps back what has a word in it.
DOOR = """
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    result = {"action": "continue"}
    if call["method"] == "hook.hello":
        result = {"ok": True, "name": "door", "stages": call["params"]["stages"]}
    elif call["method"] == "hook.on_message" and "hours" in call["params"]["message"]["text"]:
        result = {"action": "respond", "reply": {"text": "We are closed."}}
    elif call["method"] == "hook.before_send" and "inner" in call["params"]["message"]["text"]:
        result = {"action": "drop", "tell": ""}
    if "id" in call:
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}), flush=True)
"""


async def said(folder: Path, message: str) -> list[Frame]:
    (folder / "door.py").write_text(DOOR)
    stages = '["on_message", "before_send"]'
    hook = f'[hooks.processes.door]\ncommand = ["{sys.executable}", "door.py"]\nintercept = {stages}\n'
    async with open_rpc(scripted(folder, {"text": "The inner circle."}, more=hook)) as client:
        await client.send("prompt", message=message)
        return await client.done()


async def test_an_answer_of_a_hook_comes_as_a_piece_of_text_too(tmp_path: Path) -> None:
    frames = await said(tmp_path, "What are your hours?")
    assert types(frames) == [
        *("response", "user_message", "turn_start", "assistant_start", "text_delta", "usage", "assistant_message"),
        *("turn_end", "done"),
    ]
    assert one(frames, "text_delta")["delta"] == one(frames, "assistant_message")["content"][0]["text"]


async def test_of_an_answer_that_a_hook_keeps_back_no_piece_comes(tmp_path: Path) -> None:
    frames = await said(tmp_path, "Who rules?")
    assert types(frames) == ["response", "user_message", "turn_start", "assistant_start", "usage", "turn_end", "done"]

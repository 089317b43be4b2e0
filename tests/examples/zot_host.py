"""A host as an extension sees it: starts a real extension and speaks zot's frames with it, by hand.

It knows nothing of hookgate's own adapter, so that a mistake there cannot hide the same mistake here.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.wire import Child, open_child

Frame = dict[str, Any]

# Of the guard, in whichever language.
DANGEROUS = [
    "rm -rf /tmp/foo",
    "cd /; RM -RF .",
    "rm -fr build",
    "rm --recursive --force x",
    "sudo ls",
    "dd if=x of=/dev/sda",
    "mkfs.ext4 /dev/sda1",
    "chmod -R 777 .",
    ":(){ :|:& };:",
]
HARMLESS = ["ls", "rm x", "rm -r build", "rm -r a; ls -f", "dd if=/dev/zero of=disk.img", "chmod -R 755 .", "echo rm"]


def manifest(folder: Path) -> Frame:
    return json.loads((folder / "extension.json").read_text())


def argv(folder: Path) -> list[str]:
    """How a host starts the extension of this folder, beside making it the working directory."""
    about = manifest(folder)
    command = about["exec"]
    if os.sep in command and not os.path.isabs(command):
        command = str(folder / command)
    return [command, *about.get("args", [])]


@dataclass
class Host:
    """`frames`: everything that the extension sent and nobody waited for, in order."""

    child: Child
    folder: Path
    frames: list[Frame] = field(default_factory=list)
    project: str = "/project"
    _last_id: int = 0

    async def send(self, *frames: Mapping[str, Any]) -> None:
        await self.child.send_raw(b"".join(json.dumps(frame).encode() + b"\n" for frame in frames))

    async def until(self, kind: str, frame_id: str | None = None) -> Frame:
        """The next frame of this type (and id) that nobody has taken yet."""
        for frame in self.frames:
            if frame["type"] == kind and frame_id in (None, frame.get("id")):
                self.frames.remove(frame)
                return frame
        while True:
            frame = await self.child.read_message()
            if frame["type"] == kind and frame_id in (None, frame.get("id")):
                return frame
            self.frames.append(frame)

    async def ask(self, reply: str, frame: Mapping[str, Any]) -> Frame:
        """Send it under a new id; the reply without its type and id."""
        self._last_id += 1
        call_id = str(self._last_id)
        await self.send({**frame, "id": call_id})
        answer = await self.until(reply, call_id)
        return {name: value for name, value in answer.items() if name not in ("type", "id")}

    async def acknowledge(self) -> None:
        where = str(self.folder)
        await self.send(
            {
                "type": "hello_ack",
                "protocol_version": 1,
                "zot_version": "0.1",
                "provider": "openai",
                "model": "gpt",
                "cwd": self.project,
                "extension_dir": where,
                "data_dir": where,
            }
        )

    async def command(self, name: str, args: str = "") -> Frame:
        return await self.ask("command_response", {"type": "command_invoked", "name": name, "args": args})

    async def tool(self, name: str, **args: Any) -> Frame:
        return await self.ask("tool_result", {"type": "tool_call", "name": name, "args": args})

    async def intercept(self, event: str, **members: Any) -> Frame:
        frame = {"type": "event_intercept", "event": event, **members}
        return await self.ask("event_intercept_response", frame)

    async def bash(self, command: str) -> Frame:
        """What it says of a shell command that is about to run."""
        return await self.intercept("tool_call", tool_id="c1", tool_name="bash", tool_args={"command": command})

    async def event(self, event: str, **members: Any) -> None:
        await self.send({"type": "event", "event": event, **members})

    async def key(self, panel_id: str, key: str, text: str = "") -> Frame:
        """The panel as it is drawn after the key."""
        rune = {"text": text} if text else {}
        await self.send({"type": "panel_key", "panel_id": panel_id, "key": key, **rune})
        return await self.until("panel_render")

    async def shutdown(self) -> int:
        """The exit status; stdin is closed right behind the frame, and stdout holds nothing but frames."""
        await self.send({"type": "shutdown"})
        await self.child.close_stdin()
        await self.until("shutdown_ack")
        while line := await self.child.read_line():
            self.frames.append(json.loads(line))
        return await self.child.wait_exit()


@asynccontextmanager
async def open_host(
    command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None, project: str = "/project"
) -> AsyncGenerator[Host]:
    """A running extension to which nothing was said yet; its working directory is `folder`."""
    start = ["sh", "-c", 'cd "$0" && exec "$@"', str(folder), *command]
    async with open_child(start, env) as child:
        yield Host(child, folder, project=project)


@asynccontextmanager
async def open_ready(
    command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None, project: str = "/project"
) -> AsyncGenerator[Host]:
    """The same, greeted and ready; `frames` then holds its hello and its registrations."""
    async with open_host(command, folder, env, project) as host:
        hello = await host.until("hello")
        await host.acknowledge()
        await host.until("ready")
        host.frames.insert(0, hello)
        yield host


def texts(result: Frame) -> list[str]:
    return [part["text"] for part in result["content"]]

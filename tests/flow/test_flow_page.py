"""The page, the program and a person: what was written, asked and half said when the gateway is killed is there
again."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.channels.web.browser import DEADLINE_S, barriers, chromium, say
from tests.cli.program import HOOKGATE, environment
from tests.serve.gateway import configured

pytestmark = pytest.mark.needs("chromium")

AGAIN = re.compile("(Connecting|Trying) again…$")
STORY = "Once upon a time there was a gate. " * 12
SCRIPT = {
    "pace_s": 0.02,
    "steps": [
        {
            "when": "note",
            "text": "I need a hand.",
            "calls": [{"name": "bash", "arguments": {"command": "echo once >> notes.txt"}}],
        },
        {"when": "story", "text": f"{STORY} **The end.**"},
        {"when": "forever", "text": "I begin", "hang": True},
        {"on": "tool", "when": "(?s).*", "text": "It is *written*."},
    ],
}
CHANNEL = """
[channels.web]
kind = "web"
show_trace = true
[[approvals]]
tools = ["bash"]
"""


@contextmanager
def serving(folder: Path, listen: str = "127.0.0.1:0") -> Iterator[tuple[Popen[str], str]]:
    """The program, and the address with its token that it has printed."""
    configured(folder, CHANNEL, json.dumps(SCRIPT), listen)
    with Popen([*HOOKGATE, "serve"], cwd=folder, env=environment(folder), stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = next(line for line in process.stdout if "#token=" in line)
            yield process, line.partition("web: ")[2].strip()
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                assert process.wait(DEADLINE_S) == 0
        finally:
            process.kill()


def kill(process: Popen[str]) -> None:
    """hookgate itself, below its guardian; as a crash does."""
    os.kill(hookgate_of(process), signal.SIGKILL)
    process.wait(DEADLINE_S)


def hookgate_of(process: Popen[str]) -> int:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(children[0])


def listen_of(address: str) -> str:
    return address.removeprefix("http://").partition("/")[0]


def broken(page: Page) -> None:
    """As it says at work, and where it had not begun yet."""
    expect(page.get_by_text(AGAIN).filter(visible=True).first).to_be_visible()


UNSENT = "not sent yet (the gateway's store has failed)"
"""A limit on what files grow to is an error of the disk to SQLite, not a full one."""


@contextmanager
def full_disk(process: Popen[str]) -> Iterator[None]:
    """As far as hookgate can tell: no file grows."""
    pid = hookgate_of(process)
    _soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))


def test_what_a_full_disk_does_not_take_is_said_and_goes_out_when_there_is_room(tmp_path: Path) -> None:
    png = io.BytesIO()
    Image.new("RGB", (60, 40), "red").save(png, "PNG")
    file = {"name": "red.png", "mimeType": "image/png", "buffer": png.getvalue()}
    with chromium() as browser, serving(tmp_path) as (process, address):
        page = browser.new_page()
        page.goto(address)
        say(page, "A story")
        answers = page.locator(".message.assistant:not(.running)")
        expect(answers).to_contain_text("The end.")
        expect(page.get_by_label("Stop")).to_be_hidden()
        with full_disk(process):
            page.get_by_label("Add files").set_input_files(file)
            expect(page.get_by_role("alert")).to_contain_text("not stored: the gateway's disk is full")
            expect(page.get_by_label("Files to send").locator("li")).to_have_count(0)
            say(page, "Another story")
            expect(page.locator(".pending")).to_contain_text(UNSENT)
            page.reload()
            # What was said before is read all the same, and what was not stored is still here.
            expect(answers).to_have_count(1)
            expect(page.locator(".pending")).to_contain_text(UNSENT)
        expect(page.locator(".pending")).to_have_count(0)
        expect(answers).to_have_count(2)
        page.get_by_label("Add files").set_input_files(file)
        expect(page.get_by_label("Files to send").locator("li:not(.loading)")).to_have_count(1)
        expect(page.locator(".message.user")).to_have_count(2)


def test_a_person_at_the_page_loses_nothing_to_kill_9(tmp_path: Path) -> None:
    with chromium() as browser:
        page = browser.new_page()
        answers = page.locator(".message.assistant:not(.running)")
        with serving(tmp_path) as (process, address):
            page.goto(address)
            say(page, "Write a note")
            approve = page.get_by_role("button", name="Approve")
            expect(page.get_by_role("region", name="Approval: bash")).to_contain_text("echo once >> notes.txt")
            assert barriers(page) == []
            kill(process)
            broken(page)
        with serving(tmp_path, listen_of(address)) as (process, _):
            expect(page.get_by_role("status")).to_be_hidden()
            # The old button.
            approve.click()
            expect(answers).to_contain_text("It is written.")
            expect(answers.locator("em")).to_have_text("written")
            expect(page.get_by_label("Stop")).to_be_hidden()

            say(page, "Now a story")
            expect(page.locator(".message.running")).to_contain_text("Once upon a time there was a gate. Once")
            page.reload()
            expect(page.locator(".message.running")).to_contain_text("Once upon a time there was a gate. Once")
            kill(process)
            broken(page)
        with serving(tmp_path, listen_of(address)):
            expect(answers.last.locator("strong")).to_have_text("The end.")
            expect(answers).to_have_count(2)
            say(page, "And now forever")
            expect(page.locator(".message.running .said.open")).to_contain_text("I")
            page.keyboard.press("Escape")
            expect(page.get_by_label("Stop")).to_be_hidden()
            # What was read of it stays.
            expect(answers).to_have_count(3)
    assert (tmp_path / "notes.txt").read_text() == "once\n"

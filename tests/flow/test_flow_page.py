"""The page, the program and a person: what was written, asked and half said when the gateway is killed is there
again."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from playwright.sync_api import Page, expect

from tests.channels.web.browser import DEADLINE_S, barriers, chromium, say
from tests.cli.program import HOOKGATE, environment
from tests.serve.gateway import configured

pytestmark = pytest.mark.needs("chromium")

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
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    process.wait(DEADLINE_S)


def listen_of(address: str) -> str:
    return address.removeprefix("http://").partition("/")[0]


def broken(page: Page) -> None:
    expect(page.get_by_role("status")).to_have_text("Connecting again…")


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

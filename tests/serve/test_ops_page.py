"""The operators' page in a real browser, below the web channel of a real gateway."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
import trio
from playwright.sync_api import Browser, Page, expect

from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.journal.values import Arrival
from hookgate.serve.run import Served, open_gateway
from tests.channels.web.browser import DEADLINE_S, barriers, chromium
from tests.serve.gateway import configured
from tests.serve.test_serve_ops import CONTENT, PAGE, SCRIPT

pytestmark = pytest.mark.needs("chromium")

PICTURES = os.environ.get("HOOKGATE_PICTURES", "")
WIDTH = 375
PHONE = {"viewport": {"width": WIDTH, "height": 740}, "is_mobile": True, "has_touch": True}
VIEWS = ("now", "approvals", "messages", "dead", "sessions", "hooks", "channels", "audit")
HOOK = """
[hooks.processes.audit-log]
command = ["python3", "-c", "import sys; sys.exit(3)"]
intercept = ["before_tool"]
"""
HOSTILE = f"<img src=x onerror=alert(1)>\u202e{'long_name_' * 30}"
AWAY = Chat("pager", "7", "zoe")
T = TypeVar("T")


class Gateway:
    """In a thread of its own. `run` is for what belongs there."""

    served: Served

    def __init__(self, folder: Path) -> None:
        self._folder, self._ready = folder, threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._serve,))
        self._thread.start()
        assert self._ready.wait(DEADLINE_S)

    async def _serve(self) -> None:
        self._token, self._stop = trio.lowlevel.current_trio_token(), trio.Event()
        with trio.fail_after(240):
            async with open_gateway(configured(self._folder, PAGE + HOOK, SCRIPT), None, self._stop) as self.served:
                self._ready.set()
                await self._stop.wait()

    def run(self, function: Callable[..., Awaitable[T]], *given: object) -> T:
        return trio.from_thread.run(function, *given, trio_token=self._token)

    def stop(self) -> None:
        trio.from_thread.run_sync(self._stop.set, trio_token=self._token)
        self._thread.join(DEADLINE_S)

    @property
    def url(self) -> str:
        return f"http://{self.served.address}"


async def _given_up(served: Served, text: str, why: str) -> None:
    posting = served.runtime.journal.posting
    await posting.post("main", [Outbound(AWAY, text)])
    [row] = await posting.outgoing(AWAY.channel)
    await posting.dead(row.id, why)


async def _said(served: Served) -> None:
    """A call that waits for a person, a message that waits for its channel, a dead letter."""
    chat = Chat("page", "bob", "bob", thread="c1")
    await served.runtime.gateway.receive(Inbound(chat, "Write the report.", message_id="k1"))
    await served.runtime.journal.intake.accept(Arrival(Inbound(AWAY, "Is anybody there?"), "main", "k2"))
    await _given_up(served, "Your report is ready.", "Forbidden: the bot was blocked by the user")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    gateway = Gateway(tmp_path)
    yield gateway
    gateway.stop()


def entered(browser: Browser, gateway: Gateway, view: str, **device: object) -> Page:
    """As ann, who comes by the login of the chats."""
    page = browser.new_context(reduced_motion="reduce", **device).new_page()  # pyright: ignore[reportArgumentType]
    page.set_default_timeout(DEADLINE_S * 1000)
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.goto(f"{gateway.url}/ops#{view}")
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password", exact=True).fill("right")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{gateway.url}/ops#{view}")
    return page


def look(page: Page, view: str) -> None:
    page.get_by_role("link", name=re.compile(f"^{view}")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(view)


def test_an_operator_decides_finds_a_message_and_tries_a_dead_letter_again(
    browser: Browser, gateway: Gateway, tmp_path: Path
) -> None:
    gateway.run(_said, gateway.served)
    page = entered(browser, gateway, "now", viewport={"width": 1100, "height": 460})
    expect(page.locator("[data-count=approvals]")).to_have_text("1")
    expect(page.locator(".rows")).to_contain_text("waits for a person: write")
    expect(page.locator(".problems")).to_contain_text("hook audit-log is quarantined: it exited with status 3")
    assert barriers(page) == []
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/ops.png")
    look(page, "Approvals")
    card = page.get_by_role("region", name="Approval: write")
    expect(card.locator(".diff .added").last).to_have_text("+<b>two</b>U+202E")
    card.get_by_role("button", name="Approve").click()
    expect(page.locator(".ask.done")).to_have_text("write: Allowed.")
    look(page, "Messages")
    page.get_by_label("Id, text, sender or chat").fill("anybody")
    row = page.get_by_role("list", name="Messages").get_by_role("listitem")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("waits for the channel pager, which is not open")
    page.get_by_label("Id, text, sender or chat").fill("write the report")
    expect(row).to_contain_text("delivered")
    assert (tmp_path / "a.txt").read_text() == CONTENT
    look(page, "Dead letters")
    page.get_by_role("button", name="Try again").click()
    dialog = page.get_by_role("dialog", name="Try pager:7/main/0#1 again?")
    expect(dialog).to_contain_text("It goes out to its chat again, before anything newer that waits there.")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Try again")).to_be_focused()
    page.get_by_role("button", name="Try again").click()
    dialog.get_by_role("button", name="Try again").click()
    expect(page.locator("#done")).to_have_text("pager:7/main/0#1 is tried again.")
    expect(page.locator("#content")).to_contain_text("Nothing was given up.")
    look(page, "Sessions")
    page.get_by_role("link", name="Write the report.").click()
    expect(page.get_by_role("list", name="What was said")).to_contain_text("Written.")
    page.get_by_role("button", name="Forget").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(page.locator("#done")).to_have_text("page:bob:c1 is forgotten.")
    expect(page.get_by_role("link", name="Write the report.")).to_have_count(0)
    page.context.set_offline(True)
    expect(page.locator("#connection")).to_have_text("Offline")
    page.context.set_offline(False)
    expect(page.locator("#connection")).to_be_empty()
    page.context.close()


async def _crowd(served: Served, size: int) -> None:
    for number in range(size):
        chat = Chat("pager", f"{number}", HOSTILE)
        await served.runtime.journal.intake.refuse(Arrival(Inbound(chat, f"{number} {HOSTILE}"), "main", ""), HOSTILE)
    await _given_up(served, HOSTILE, HOSTILE)


def test_a_phone_in_the_dark_shows_a_crowd_of_hostile_names(browser: Browser, gateway: Gateway) -> None:
    gateway.run(_said, gateway.served)
    gateway.run(_crowd, gateway.served, 10)
    page = entered(browser, gateway, "audit", **PHONE, color_scheme="dark")
    for view in VIEWS:
        page.goto(f"{gateway.url}/ops#{view}")
        expect(page.locator("#content > *").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= WIDTH
        assert barriers(page) == []
    gateway.run(_crowd, gateway.served, 340)
    page.goto(f"{gateway.url}/ops#messages")
    page.reload()
    rows = page.get_by_role("list", name="Messages").get_by_role("listitem")
    expect(rows).to_have_count(100)
    expect(rows.nth(5)).to_contain_text("<img src=x onerror=alert(1)>U+202E")
    latest = rows.nth(2).locator("b").inner_text()
    page.get_by_role("button", name="Show more").hover()
    page.mouse.down()
    # What comes while the button is held takes nothing from under it.
    gateway.run(_crowd, gateway.served, 1)
    expect(rows.nth(2)).not_to_contain_text(latest)
    page.mouse.up()
    expect(rows).to_have_count(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTH
    # Behind the button, with the keyboard alone.
    page.get_by_role("button", name="Views").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Now")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Views")).to_be_focused()
    page.context.close()


def test_who_is_no_operator_reads_what_to_configure(browser: Browser, gateway: Gateway) -> None:
    page = browser.new_context().new_page()
    page.goto(gateway.url)
    page.get_by_label("Name").fill("bob")
    page.get_by_label("Password", exact=True).fill("right")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Message", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Operators")).to_be_hidden()
    page.goto(f"{gateway.url}/ops")
    expect(page.get_by_role("alert")).to_contain_text('roles = ["operator"] below [people.NAME]')
    assert barriers(page) == []
    page.context.close()


HIDE = """hidden => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_a_tab_that_nobody_sees_asks_for_nothing(browser: Browser, gateway: Gateway) -> None:
    page = entered(browser, gateway, "hooks")
    page.clock.install()
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{gateway.url}/ops#channels")
    page.reload()
    expect(page.get_by_role("list", name="Channels")).to_be_visible()
    page.evaluate(HIDE, True)
    asked.clear()
    page.clock.run_for(60_000)
    assert asked == []
    with page.expect_response("**/ops/api/channels"):
        page.evaluate(HIDE, False)
    with page.expect_response("**/ops/api/channels"):
        page.clock.run_for(4000)
    page.context.close()

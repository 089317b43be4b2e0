"""Chromium as a person uses it, and a web channel in a thread beside it whose turns the test plays."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any, TypeVar

import trio
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from hookgate.protocol.events.payloads import TurnStart
from tests.channels.web.site import SETTINGS, TOKEN, Site, Turn, opened

ROOT = Path(__file__).parents[3]
AXE = ROOT / ".venv" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
DEADLINE_S = 60.0
LEFT_OUT = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),
    *("AimEnabled", "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"),
    *("HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying"),
    *("OptimizationHints", "PaintHolding", "PreconnectToSearch", "ThirdPartyStoragePartitioning"),
)
"""Of a browser: the popup of its address bar, which is a page of its own for each window and costs more than ours;
the others are Playwright's own list, in whose place this one stands."""
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--disable-features=" + ",".join(LEFT_OUT),
)
T = TypeVar("T")
expect.set_options(timeout=DEADLINE_S * 1000)


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=which("chromium"), args=list(QUIET))
        yield browser
        browser.close()


class Live:
    """A site in a thread of its own. `run` and `call` are for what belongs there."""

    site: Site

    def __init__(self, folder: Path) -> None:
        self._folder, self._listen, self.settings = folder, "127.0.0.1:0", SETTINGS
        self.start()

    def start(self) -> None:
        """Where it was before, if it was."""
        self._ready, self._thread = threading.Event(), threading.Thread(target=trio.run, args=(self._serve,))
        self._thread.start()
        assert self._ready.wait(DEADLINE_S)

    async def _serve(self) -> None:
        async with opened(self._folder, self.settings, listen=self._listen) as self.site:
            self._token, self._stop = trio.lowlevel.current_trio_token(), trio.Event()
            self._listen = self.site.url.removeprefix("http://")
            self._ready.set()
            await self._stop.wait()

    def stop(self) -> None:
        self.call(self._stop.set)
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()

    def run(self, function: Callable[..., Awaitable[T]], *given: Any) -> T:
        return trio.from_thread.run(function, *given, trio_token=self._token)

    def call(self, function: Callable[..., T], *given: Any) -> T:
        return trio.from_thread.run_sync(function, *given, trio_token=self._token)

    @property
    def address(self) -> str:
        return f"{self.site.url}/#token={TOKEN}"

    def turn(self) -> Turn:
        """Of the next message that arrives."""
        turn = self.run(lambda: self.site.next())
        self.call(turn.tell, TurnStart(turn.inbound.text, 0))
        return turn


class People:
    """Each has a browser of their own, with nothing in it yet, and nothing moves: painting is dear here."""

    def __init__(self, browser: Browser, live: Live) -> None:
        self._browser, self._live = browser, live
        self.problems: list[str] = []
        """What scripts of the page broke on, and what its policy kept from them."""
        self.asked: set[str] = set()
        """Every address that a page has asked something of."""

    def enter(self, **device: Any) -> Page:
        return self.tab(self._browser.new_context(reduced_motion="reduce", **device))

    def tab(self, context: BrowserContext) -> Page:
        page = self.open(context, self._live.address)
        expect(page.get_by_label("Message", exact=True)).to_be_visible()
        return page

    def open(self, context: BrowserContext | None = None, address: str = "") -> Page:
        """As a stranger, where nothing is said."""
        page = (context or self._browser.new_context(reduced_motion="reduce")).new_page()
        page.set_default_timeout(DEADLINE_S * 1000)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._hear)
        page.on("request", lambda request: self.asked.add(request.url))
        page.goto(address or self._live.site.url)
        return page

    def _hear(self, message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            self.problems.append(message.text)

    def leave(self) -> None:
        for context in self._browser.contexts:
            context.close()


def say(page: Page, text: str) -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def barriers(page: Page) -> list[str]:
    """What axe finds serious or worse."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    serious = [it for it in found if it["impact"] in ("serious", "critical")]
    return [f"{it['id']}: {node['html']}" for it in serious for node in it["nodes"]]

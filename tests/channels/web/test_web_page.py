"""The page in a real browser: what people see and press, while turns are played beside it."""

from __future__ import annotations

import io
import os
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.chat import Outbound
from hookgate.protocol.events.inside import PicturesKept
from hookgate.protocol.events.payloads import (
    GateDecision,
    ToolExecEnd,
    ToolExecStart,
    TurnEnd,
    TurnStart,
)
from hookgate.protocol.journal.decisions import StoredRequest
from hookgate.protocol.journal.values import CallRecord, Draft
from hookgate.protocol.values import Message, ProposedCall, ToolCall
from tests.channels.web.browser import Live, People, barriers, chromium, say
from tests.channels.web.site import SETTINGS, TOKEN, Turn

pytestmark = pytest.mark.needs("chromium")

PICTURES = os.environ.get("HOOKGATE_PICTURES", "")
"""Where pictures for the documentation go, if they are wanted."""
PHONE = {"viewport": {"width": 375, "height": 740}, "is_mobile": True, "has_touch": True}
ANSWER = """It does **three things**, and only the last one changes anything:

1. build the image,
2. ask the registry for its tag,
3. replace the containers, one after the other.

```python
def deploy(tag: str, *, dry_run: bool = True) -> int:
    # Nothing is replaced in a dry run.
    return sum(replace(it, tag) for it in running() if not dry_run)
```

| Step | Reads | Changes |
|------|:-----:|--------:|
| build | yes | 1 image |
| replace | no | 4 containers |
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    live = Live(tmp_path)
    yield live
    live.stop()


@pytest.fixture
def people(browser: Browser, live: Live) -> Iterator[People]:
    people = People(browser, live)
    yield people
    people.leave()
    assert people.problems == []
    assert {url for url in people.asked if not url.startswith((live.site.url, "data:", "blob:"))} == set()


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.mouse.move(0, 0)
        page.screenshot(path=f"{PICTURES}/{name}.png")


def begun(live: Live, page: Page, text: str) -> Turn:
    say(page, text)
    turn = live.turn()
    assert turn.inbound.text == text
    return turn


def written(live: Live, turn: Turn, text: str) -> None:
    live.call(live.site.channel.stream, turn.chat, text)


def ended(live: Live, turn: Turn, text: str) -> None:
    live.run(turn.answer, text)
    live.call(turn.tell, TurnEnd("completed", 1, 1, 1))


def test_an_answer_grows_on_the_page_and_stays_as_the_server_rendered_it(live: Live, people: People) -> None:
    page = people.enter(viewport={"width": 1200, "height": 860})
    # The token is in no history.
    assert "token" not in page.url
    turn = begun(live, page, "What does the deploy script do?")
    running = page.locator(".message.running")
    expect(page.get_by_label("Stop")).to_be_visible()
    live.call(turn.tell, ToolExecStart("read", {"path": "deploy.py"}, "call_1"))
    live.call(turn.tell, ToolExecEnd("read", 1, 1, 0, False, False, "call_1"))
    live.call(turn.tell, GateDecision("audit", "before_tool", "continue", 1_200_000, tool="read"))
    written(live, turn, ANSWER[:27])
    expect(running.locator("strong")).to_have_text("three things")
    for at in range(27, len(ANSWER), 9):
        written(live, turn, ANSWER[at : at + 9])
    expect(running.locator(".said td").last).to_have_text("4 containers")
    # Whole sentences are said, not pieces of words.
    expect(page.get_by_role("log")).to_contain_text("only the last one changes anything:")
    # The last pieces are heard by nobody, and said all the same, once.
    ended(live, turn, f"{ANSWER}\nIts log is login_ann.png, _not_ more")
    expect(page.get_by_role("log")).to_contain_text("Its log is login_ann.png, not more")
    assert page.get_by_role("log").inner_text().count("only the last one") == 1
    expect(running).to_have_count(0)
    expect(page.get_by_label("Stop")).to_be_hidden()
    answer = page.locator(".message.assistant")
    expect(answer.locator(".tool")).to_contain_text("read")
    expect(answer.locator("pre .k").first).to_have_text("def")
    answer.get_by_text("1 answer of hooks").click()
    expect(answer.locator(".trace td").first).to_have_text("audit")
    expect(page.get_by_role("link", name="What does the deploy script do?")).to_be_visible()
    assert barriers(page) == []
    picture(page, "page")


def asked(live: Live, turn: Turn, required: int = 1, new: str = "tag: new\u202e") -> None:
    """A call that waits for so many people, shown as the loop does it."""
    call = ToolCall("call_1", "edit", {"path": "deploy.toml", "edits": [{"oldText": "tag: old", "newText": new}]})
    shown = ApprovalRequest(
        "r1",
        turn.chat,
        call,
        "the rule “live”",
        "Change what is deployed?",
        "It goes live at once.",
        (),
        600,
        "d",
        always="this edit",
    )
    stored = StoredRequest(
        "r1", turn.claim.conversation, turn.claim.message, "1.0", "d", "p", "rule:live", shown, required=required
    )
    card = Outbound(turn.chat, shown.title, kind="notice", request="r1")
    live.run(live.site.journal.decisions.request, turn.claim, stored, [card])
    live.run(live.site.deliver)


def test_a_call_is_shown_whole_and_decided_in_one_of_two_tabs(live: Live, people: People) -> None:
    page = people.enter(viewport={"width": 1000, "height": 860})
    turn = begun(live, page, "Deploy it.")
    other = people.tab(page.context)
    other.get_by_role("link", name="Deploy it.").click()
    expect(other.locator(".message.user")).to_have_text(re.compile("Deploy it."))
    asked(live, turn)
    card = page.get_by_role("region", name="Approval: edit")
    for part in (
        "Change what is deployed?",
        "It goes live at once.",
        "deploy.toml",
        "-tag: old",
        "the rule “live”, for owner",
    ):
        expect(card).to_contain_text(part)
    # What cannot be seen is shown.
    expect(card.locator(".diff .added")).to_contain_text("tag: newU+202E")
    expect(other.get_by_role("button", name="Approve")).to_be_visible()
    assert barriers(page) == []
    picture(page, "approval")
    card.get_by_label("Reason").fill("not on a Friday")
    card.get_by_role("button", name="Deny").click()
    expect(page.locator(".ask.done")).to_contain_text("edit: refused by owner")
    standing = live.run(live.site.journal.decisions.standing, "r1")
    assert standing
    assert [(vote.approved, vote.reason) for vote in standing.votes] == [(False, "not on a Friday")]
    live.run(live.site.deliver)
    expect(other.locator(".ask.done")).to_contain_text("edit: Refused by owner: not on a Friday.")
    ended(live, turn, "Then not.")
    for tab in (page, other):
        expect(tab.locator(".message.assistant")).to_contain_text("Then not.")
        # What was decided reads as if it were meant by whatever comes next.
        expect(tab.locator(".ask")).to_have_count(0)


def test_a_reload_in_mid_answer_loses_nothing_and_stop_is_still_there(live: Live, people: People) -> None:
    page = people.enter()
    turn = begun(live, page, "Tell me all.")
    written(live, turn, "One.\n\nTwo, and ")
    page.get_by_label("Message", exact=True).fill("half a thought")
    page.reload()
    expect(page.locator(".message.running")).to_contain_text("Two, and")
    # What was being written is there, too.
    expect(page.get_by_label("Message", exact=True)).to_have_value("half a thought")
    written(live, turn, "**three**")
    expect(page.locator(".message.running strong")).to_have_text("three")
    page.keyboard.press("Escape")
    assert live.run(live.site.arrived.receive).text == "/stop"


def test_a_restart_in_mid_answer_is_seen_and_made_good(live: Live, people: People) -> None:
    page = people.enter()
    turn = begun(live, page, "Tell me all.")
    written(live, turn, "The first half")
    expect(page.locator(".message.running")).to_contain_text("The first half")
    live.stop()
    expect(page.get_by_role("status")).to_have_text("Connecting again…")
    # What is there stays readable; what is sent meanwhile waits here.
    expect(page.locator(".message.running")).to_contain_text("The first half")
    say(page, "And this?")
    expect(page.locator(".pending")).to_contain_text("not sent yet")
    live.start()
    expect(page.get_by_role("status")).to_be_hidden()
    turn = live.run(lambda: live.site.begin(turn.inbound.message_id, again=True))
    live.call(turn.tell, TurnStart(turn.inbound.text, 0))
    written(live, turn, "The first half, and the second.")
    expect(page.locator(".message.running")).to_contain_text("and the second")
    ended(live, turn, "The first half, and the second.")
    ended(live, live.turn(), "This, too.")
    expect(page.locator(".pending")).to_have_count(0)
    expect(page.locator(".message.user")).to_have_count(2)
    expect(page.locator(".message.assistant").last).to_contain_text("This, too.")


def test_what_is_sent_and_said_without_a_connection_arrives_once_it_is_back(live: Live, people: People) -> None:
    page = people.enter()
    turn = begun(live, page, "First.")
    page.context.set_offline(True)
    expect(page.get_by_role("status")).to_have_text("Offline")
    ended(live, turn, "The answer that was missed.")
    say(page, "Second.")
    expect(page.locator(".pending")).to_contain_text("not sent yet")
    page.context.set_offline(False)
    expect(page.locator(".message.assistant")).to_contain_text("The answer that was missed.")
    expect(page.locator(".pending")).to_have_count(0)
    turn = live.turn()
    assert turn.inbound.text == "Second."
    ended(live, turn, "Once.")
    expect(page.locator(".message.assistant").last).to_contain_text("Once.")
    expect(page.locator(".message.user")).to_have_count(2)


def test_the_eighth_tab_is_as_good_as_the_first(live: Live, people: People) -> None:
    first = people.enter()
    ended(live, begun(live, first, "In the first."), "Yes.")
    for number in range(2, 9):
        page = people.tab(first.context)
        turn = begun(live, page, f"In tab {number}.")
        written(live, turn, "It is *written*")
        expect(page.locator(".message.running em")).to_have_text("written")
        ended(live, turn, "It is *written*.")
        expect(page.locator(".message.assistant:not(.running)")).to_contain_text("written.")
    expect(first.get_by_role("status")).to_contain_text("Paused")
    page.get_by_role("link", name="In the first.").click()
    ended(live, begun(live, page, "Said in the eighth."), "Heard.")
    # Whoever comes back to it finds what happened meanwhile, and goes on.
    first.bring_to_front()
    first.get_by_label("Message", exact=True).click()
    expect(first.get_by_role("status")).to_be_hidden()
    expect(first.locator(".message.assistant").last).to_contain_text("Heard.")
    ended(live, begun(live, first, "And on."), "On it goes.")
    expect(first.locator(".message.assistant").last).to_contain_text("On it goes.")


def test_a_phone_in_the_dark_shows_all_of_it(live: Live, people: People) -> None:
    page = people.enter(**PHONE, color_scheme="dark")
    turn = begun(live, page, "What does the deploy script do?")
    asked(live, turn)
    expect(page.get_by_label("What a yes covers")).to_be_visible()
    tops = page.locator(".decide button").evaluate_all("buttons => buttons.map(it => it.offsetTop)")
    assert len(tops) == 2
    assert len(set(tops)) == 1
    ended(live, turn, ANSWER + "\n" + "a_very_long_word_" * 30)
    expect(page.locator(".message.assistant")).to_contain_text("a_very_long_word")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["viewport"]["width"]
    assert barriers(page) == []
    expect(page.get_by_label("Search chats")).to_be_hidden()
    page.get_by_role("button", name="Chats", exact=True).click()
    expect(page.get_by_label("Search chats")).to_be_visible()
    assert barriers(page) == []
    page.locator("#chats a").tap()
    expect(page.get_by_label("Search chats")).to_be_hidden()
    page.locator(".said pre").scroll_into_view_if_needed()
    picture(page, "phone")


def test_what_is_sent_while_somebody_else_is_logged_in_waits_for_who_wrote_it(live: Live, people: People) -> None:
    page = people.enter()
    ended(live, begun(live, page, "First."), "Yes.")
    login = f"{live.site.url}/api/login"
    assert page.context.request.post(login, data={"user": "bob", "password": "bobs"}).ok
    say(page, "Second.")
    expect(page.locator(".pending")).to_contain_text("not sent yet")
    assert page.context.request.post(login, data={"token": TOKEN}).ok
    turn = live.turn()
    assert (turn.inbound.text, turn.chat.sender) == ("Second.", "owner")


def test_whoever_logs_in_by_name_leaves_nothing_behind(live: Live, people: People) -> None:
    page = people.open()
    assert barriers(page) == []
    page.get_by_text("With a password").click()
    page.get_by_label("Name").fill("ann")
    for password in ("wrong", "right"):
        page.get_by_label("Password", exact=True).fill(password)
        page.keyboard.press("Enter")
        if password == "wrong":
            expect(page.get_by_role("alert")).to_have_text("This name and password do not match.")
            expect(page.get_by_label("Password", exact=True)).to_be_focused()
    page.get_by_label("Message", exact=True).fill("what I have not said")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    assert page.evaluate("localStorage.length") == 0
    live.stop()
    live.settings = replace(SETTINGS, token="")
    live.start()
    page.reload()
    # Where there is no token, nobody is asked for one.
    expect(page.get_by_label("Name")).to_be_focused()
    expect(page.get_by_label("Token")).to_be_hidden()
    assert barriers(page) == []


def test_a_yes_counts_once_what_is_folded_was_opened(live: Live, people: People) -> None:
    page = people.enter()
    turn = begun(live, page, "Deploy it.")
    asked(live, turn, new="tag: new\n" * 300)
    card = page.get_by_role("region", name="Approval: edit")
    card.get_by_role("button", name="Approve").click()
    expect(card.get_by_role("alert")).to_have_text("A yes counts once all of it has been shown: press Show all.")
    standing = live.run(live.site.journal.decisions.standing, "r1")
    assert standing
    assert standing.state == "open"
    card.get_by_role("button", name="Show all 3056 characters").click()
    card.get_by_role("button", name="Approve").click()
    expect(page.locator(".ask.done")).to_contain_text("approved by owner")


def test_the_keyboard_is_enough(live: Live, people: People) -> None:
    page = people.enter()
    box = page.get_by_label("Message", exact=True)
    expect(box).to_be_focused()
    page.keyboard.type("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    page.keyboard.press("Enter")
    expect(page.locator(".message.user")).to_contain_text("one\ntwo")
    expect(box).to_be_focused()
    turn = live.turn()
    asked(live, turn)
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.textContent") == "Approve":
            break
    page.keyboard.press("Enter")
    expect(page.locator(".ask.done")).to_contain_text("approved by owner")
    expect(box).to_be_focused()


def test_chats_are_found_left_and_deleted_and_drafts_stay_in_theirs(live: Live, people: People) -> None:
    page = people.enter()
    box, chats = page.get_by_label("Message", exact=True), page.locator("#chats li")
    for words in ("About apples", "About pears"):
        page.get_by_role("button", name="New chat").click()
        ended(live, begun(live, page, words), f"{words}: all there is.")
    expect(chats).to_have_count(2)
    box.fill("a draft on pears")
    page.get_by_role("link", name="About apples").click()
    expect(page.locator(".message.assistant")).to_contain_text("About apples: all there is.")
    expect(box).to_have_value("")
    page.get_by_role("link", name="About pears").click()
    expect(box).to_have_value("a draft on pears")
    page.get_by_label("Search chats").fill("apples")
    expect(chats).to_have_count(1)
    page.locator("#chats li").hover()
    page.get_by_role("button", name="Delete About apples").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(chats).to_have_count(0)
    page.get_by_label("Search chats").fill("")
    expect(chats).to_have_count(1)


def test_a_message_is_changed_and_an_answer_asked_for_again(live: Live, people: People) -> None:
    page = people.enter()
    ended(live, begun(live, page, "Count to tree."), "1, 2, oak.")
    page.get_by_role("button", name="Answer again").click()
    turn = live.turn()
    assert (turn.inbound.text, turn.inbound.replaces > 0) == ("Count to tree.", True)
    ended(live, turn, "1, 2, elm.")
    expect(page.locator(".message.assistant")).to_contain_text("elm")
    page.get_by_role("button", name="Change and send again").click()
    page.get_by_label("Message", exact=True).fill("Count to three.")
    page.keyboard.press("Enter")
    turn = live.turn()
    assert turn.inbound.text == "Count to three."
    ended(live, turn, "1, 2, 3.")
    expect(page.locator(".message.user")).to_have_count(1)
    expect(page.locator(".message.assistant")).to_have_count(1)
    expect(page.locator(".message.assistant")).to_contain_text("1, 2, 3.")


def png(folder: Path) -> Path:
    file = folder / "red.png"
    Image.new("RGB", (60, 40), "red").save(file)
    return file


PASTE = """encoded => {
    const bytes = Uint8Array.from(atob(encoded), (char) => char.charCodeAt(0));
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([bytes], "pasted.png", { type: "image/png" }));
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
}"""


def test_pictures_are_picked_pasted_seen_and_sent(live: Live, people: People, tmp_path: Path) -> None:
    page, file = people.enter(), png(tmp_path)
    pictures = page.get_by_label("Files to send").locator("li:not(.loading)")
    page.get_by_label("Add files").set_input_files(file)
    page.get_by_label("Message", exact=True).focus()
    page.evaluate(PASTE, b64encode(file.read_bytes()).decode())
    expect(pictures).to_have_count(2)
    page.get_by_role("button", name="Remove pasted.png").click()
    expect(pictures).to_have_count(1)
    page.get_by_label("Add files").set_input_files({"name": "b.gif", "mimeType": "image/gif", "buffer": b"GIF89a"})
    expect(page.get_by_role("alert")).to_contain_text("the picture is damaged")
    page.get_by_label("Add files").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"text"})
    expect(pictures).to_have_count(2)
    turn = begun(live, page, "What is this?")
    assert [it.rpartition(":")[2] for it in turn.inbound.media] == [file.name, "a.txt"]
    expect(page.get_by_role("link", name="a.txt")).to_be_visible()
    shown = page.get_by_alt_text(file.name)
    expect(shown).to_be_visible()
    assert shown.evaluate("image => image.decode().then(() => image.naturalWidth)") == 60
    expect(pictures).to_have_count(0)


def test_a_picture_that_a_tool_returns_stands_with_its_call_then_and_later(live: Live, people: People) -> None:
    page = people.enter()
    turn = begun(live, page, "What does it look like?")
    file = io.BytesIO()
    Image.new("RGB", (60, 40), "red").save(file, "PNG")
    reference = str(live.run(live.site.media.keep, file.getvalue()))
    elsewhere = "https://evil.example/x.png"
    record = CallRecord(ToolCall("call_1", "look", {}), None, "agent", 1)
    asks = Draft(Message("assistant", "", (ProposedCall("call_1", "look", "{}"),)), (record,))
    result = Draft(Message("tool", "a picture", tool_call_id="call_1", media=(reference, elsewhere)))
    live.run(live.site.journal.work.append, turn.claim, [asks, result])
    live.call(turn.tell, ToolExecStart("look", {}, "call_1"))
    live.call(turn.tell, ToolExecEnd("look", 1, 1, 0, False, False, "call_1"))
    live.call(turn.tell, PicturesKept("call_1", (reference, elsewhere)))
    shown = page.locator(".tool").get_by_alt_text("Picture")
    expect(page.locator(".message.running")).to_contain_text("look")
    for _ in range(2):
        expect(shown).to_have_count(1)
        assert shown.evaluate("image => image.decode().then(() => image.naturalWidth)") == 60
        page.reload()
    ended(live, turn, "It is red.")
    live.stop()
    live.start()
    expect(page.locator(".message.assistant:not(.running)")).to_contain_text("It is red.")
    expect(shown).to_have_count(1)


def test_a_page_that_reaches_nobody_when_it_begins_tries_until_it_does(people: People) -> None:
    page = people.enter()
    page.route("**/api/**", lambda route: route.abort())
    page.reload()
    expect(page.get_by_role("alert").first).to_have_text("The server cannot be reached. Trying again…")
    expect(page.locator("#app")).to_be_hidden()
    page.unroute("**/api/**")
    expect(page.locator("#app")).to_be_visible()
    expect(page.locator("#login")).to_be_hidden()


def test_hostile_markdown_stays_text(live: Live, people: People) -> None:
    page = people.enter()
    page.on("dialog", lambda dialog: people.problems.append(dialog.message))
    text = "<script>alert(1)</script><img src=x onerror=alert(3)> [a](javascript:alert(2)) ![b](https://evil.example/x.png)"
    turn = begun(live, page, text)
    written(live, turn, text)
    expect(page.locator(".message.running")).to_contain_text("onerror")
    ended(live, turn, text)
    answer = page.locator(".message.assistant:not(.running)")
    expect(answer).to_contain_text("<script>alert(1)</script>")
    # Text that leads nowhere; the picture is a link that nobody has followed.
    expect(answer.locator(".said a")).to_have_attribute("href", "https://evil.example/x.png")
    expect(answer.locator(".said img")).to_have_count(0)
    # What no model wrote is no Markdown, and has its lines.
    help_ = Outbound(turn.chat, "/help: *this*\n/stop: that", kind="output")
    live.run(live.site.channel.send, help_, "k1")
    output = page.locator(".message.output .said")
    expect(output).to_be_visible()
    assert output.inner_text() == help_.text

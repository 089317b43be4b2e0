"""Files through a whole gateway and Telegram: sent by the model, brought or not, sent back, kept from the chat."""

from __future__ import annotations

import json
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from hookgate.channels.http.server import App, Receive, Scope, Send, serve_http
from tests.channels.telegram.fake import TOKEN, Refused, open_fake
from tests.channels.telegram.test_telegram_incoming import PNG, photo
from tests.docs.page import read_page
from tests.serve.gateway import configured, open_served
from tests.serve.started import says
from tests.serve.test_serve_web import CHANNEL as WEB
from tests.serve.test_serve_web import ann

ROOT = Path(__file__).parents[2]
SCRIPT = {
    "steps": [
        {
            "when": r"back(?s:.*)\[attached: (media:\S+)\]",
            "calls": [{"name": "send_file", "arguments": {"media": "$1"}}],
        },
        {
            "when": "send (\\S+) (.+)",
            "calls": [{"name": "send_file", "arguments": {"path": "$1", "caption": "$2"}}],
        },
        {"on": "tool", "when": "(?s).*", "text": "The tool said: $0"},
    ]
}
CHANNEL = """
[channels.telegram]
kind = "telegram"
token_env = "TELEGRAM_TOKEN"
base_url = "{url}"
allow = ["7"]
show_tools = false
"""


class Ears:
    """An endpoint that transcribes: `answers`, one for each request; None: it never answers."""

    def __init__(self, *answers: Response | None) -> None:
        self.answers = list(answers)
        self.heard: list[tuple[str, str, str, bytes]] = []

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        async with request.form() as form:
            file = form["file"]
            assert isinstance(file, UploadFile)
            said = request.headers.get("authorization", ""), str(form["model"]), str(file.filename), await file.read()
        self.heard.append(said)
        answer = self.answers.pop(0)
        if answer is None:
            await trio.sleep_forever()
        else:
            await answer(scope, receive, send)


async def test_what_is_said_reaches_the_model_as_text_and_what_is_not_heard_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TELEGRAM_TOKEN", TOKEN)
    monkeypatch.setenv("TRANSCRIBE_KEY", "k")
    shutil.copytree(ROOT / "plugins" / "python", tmp_path / "hooks", ignore=shutil.ignore_patterns("extensions"))
    voice = b"OggS" + bytes(24) + b"\x01\x13OpusHead" + bytes(40)
    ears = Ears(
        Response('{"text": " how full is the disk? "}'), Response(status_code=500), Response('{"text": ""}'), None
    )
    hook = read_page(ROOT / "docs" / "media.md").one("config").text.replace("60000", "3000")
    with trio.fail_after(120):
        async with open_fake() as fake, trio.open_nursery() as nursery:
            stop = trio.Event()
            address = await nursery.start(partial(_listening, ears.app, stop))
            more = CHANNEL.format(url=fake.url) + hook.replace("127.0.0.1:8000", address)
            async with open_served(configured(tmp_path, more, '{"steps": []}')):

                async def told(**more: Any) -> str:
                    before = len(fake.sent(7))
                    fake.say(voice={**fake.file(voice), "duration": 2}, **more)
                    await fake.until(lambda: len(fake.sent(7)) > before)
                    return fake.texts(7)[-1]

                assert await told(caption="Listen:") == "Listen:\n[voice message] how full is the disk?"
                assert ears.heard == [("Bearer k", "whisper-1", "voice.ogg", voice)]
                unheard = "\u2139\ufe0f I could not listen to that: {}. Please write it."
                assert await told() == unheard.format("the endpoint answered with status 500")
                assert await told() == unheard.format("there are no words in it")
                assert await told() == unheard.format("the endpoint does not answer as it should")
            stop.set()
        assert fake.wrong == []


async def _listening(app: App, stop: trio.Event, *, task_status: trio.TaskStatus[str]) -> None:
    await serve_http(app, "127.0.0.1:0", started=task_status.started, stop=stop)


async def test_files_are_sent_and_the_model_hears_of_those_that_did_not_arrive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TELEGRAM_TOKEN", TOKEN)
    (tmp_path / "Bericht März.csv").write_text("a;b\n")
    (tmp_path / "report.csv").write_text("a;b\n")
    (tmp_path / "keys.txt").write_text("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY\n")
    (tmp_path / "huge.bin").write_bytes(bytes(20_000_001))
    with trio.fail_after(120):
        async with open_fake() as fake:
            settings = configured(tmp_path, CHANNEL.format(url=fake.url), json.dumps(SCRIPT))
            async with open_served(settings) as served:
                fake.say("send report.csv the figures")
                await fake.until(lambda: fake.texts(7) == ["the figures"])
                [sent] = [it for it in fake.calls if it.method == "sendDocument"]
                assert sent.files == {"document": b"a;b\n"}
                await served.runtime.gateway.idle("telegram:7")
                assert len(fake.sent(7)) == 1, "the file is the answer"

                async def told(text: str) -> str:
                    before = len(fake.sent(7))
                    fake.say(text)
                    await fake.until(lambda: len(fake.sent(7)) > before)
                    await served.runtime.gateway.idle("telegram:7")
                    return fake.texts(7)[-1]

                fake.faults["sendDocument"] = [Refused(403, "Forbidden: not enough rights to send documents")]
                why = await told("send report.csv once more")
                assert "failed to deliver attachment: Telegram: Forbidden" in why
                assert "not enough rights" in why
                assert "outside the workspace" in await told("send ../x please")
                assert "holds what is a secret" in await told("send keys.txt please")
                assert "more than 20000000 bytes" in await told("send huge.bin please")
                fake.say(photo=photo(fake, PNG), caption="send it back")
                await fake.until(lambda: fake.called("sendPhoto"))
                assert fake.calls[-1].files == {"photo": PNG}
            assert fake.wrong == []


HOOK = """
import base64, sys
from hookgate_plugin import Plugin
plugin = Plugin("clerk")
FIGURES = "data:text/csv;name=figures.csv;base64,YTtiCg=="
MEDIA = [FIGURES, "https://example.org/a", "data:image/png;base64,iVBORw0KGgo="]

@plugin.on_message
def answer(said):
    return plugin.reply("Here:", MEDIA) if said.text == "figures" else None

@plugin.before_tool(tools=["ls"])
def instead(call):
    return plugin.respond("shown", "The same:", media=MEDIA[:2], response_handled=True)

plugin.run()
"""
CLERK = f"""
{WEB}
[hooks.processes.clerk]
command = ["{sys.executable}", "clerk.py"]
intercept = ["on_message", "before_tool"]
"""


async def test_what_hooks_bring_is_on_the_page_and_what_cannot_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "clerk.py").write_text(HOOK)
    shutil.copy(ROOT / "plugins" / "python" / "hookgate_plugin.py", tmp_path)
    script = {"steps": [{"when": "list", "calls": [{"name": "ls", "arguments": {}}]}]}
    async with open_served(configured(tmp_path, CLERK, json.dumps(script))) as served, ann(served) as page:
        for text in ("figures", "list"):
            assert (await page.post("/api/chats/c1/messages", json=says(text))).status_code == 202
            await served.runtime.gateway.idle("page:ann:c1")
        shown = (await page.get("/api/chats/c1")).json()["messages"]
        _, reply, _, *rest = shown
        assert reply["text"].startswith("Here:\n[image/png: not sent, the picture is damaged]")
        [output] = [it for it in rest if it["role"] == "output"]
        assert (output["text"], output["media"]) == ("The same:", reply["media"])
        file, link = reply["media"]
        assert (file["name"], link["url"], link["type"]) == ("figures.csv", "https://example.org/a", "")
        saved = await page.get(file["url"])
        assert saved.content == b"a;b\n"
        assert saved.headers["content-disposition"] == "attachment; filename*=UTF-8''figures.csv"

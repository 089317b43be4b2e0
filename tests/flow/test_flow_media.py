"""Files through a whole gateway and Telegram: sent by the model, brought or not, sent back, kept from the chat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from tests.channels.telegram.fake import TOKEN, Refused, open_fake
from tests.channels.telegram.test_telegram_incoming import PNG, photo
from tests.serve.gateway import configured, open_served

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

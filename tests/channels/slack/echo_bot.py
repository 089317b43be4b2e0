"""An ordinary bot written with slack_bolt: `echo_bot.py URL BOT_TOKEN APP_TOKEN`. It says what it is told, in the
thread where it was told, sends files back, streams, has a button and a command. Knows nothing of hookgate."""

from __future__ import annotations

import sys
import urllib.request
from typing import Any

from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient

URL, BOT_TOKEN, APP_TOKEN = sys.argv[1:]
app = App(token=BOT_TOKEN, client=WebClient(token=BOT_TOKEN, base_url=f"{URL}/api/"))


@app.event("app_mention")
def mentioned(event: dict[str, Any], say: Any) -> None:
    say(text=f"you said {event['text'].partition('> ')[2]}", thread_ts=event.get("thread_ts") or event["ts"])


@app.event("message")
def told(event: dict[str, Any], say: Any, client: WebClient) -> None:
    if event.get("channel_type") != "im" or event.get("bot_id"):
        return
    if event.get("files"):
        request = urllib.request.Request(event["files"][0]["url_private_download"])
        request.add_header("Authorization", f"Bearer {BOT_TOKEN}")
        content = urllib.request.urlopen(request).read()
        client.files_upload_v2(channel=event["channel"], content=content, filename="back.txt")
    elif event["text"] == "ask":
        button = {"type": "button", "text": {"type": "plain_text", "text": "Yes"}, "action_id": "yes", "value": "a:1"}
        say(text="Sure?", blocks=[{"type": "actions", "elements": [button]}])
    elif event["text"] == "stream":
        stream = client.chat_stream(channel=event["channel"], thread_ts=event["ts"])
        stream.append(markdown_text="one **two** " * 30)
        stream.append(markdown_text="three")
        stream.stop()
    elif event["text"] == "history":
        found = client.conversations_history(channel=event["channel"], limit=2)
        say(text=" ".join(it["text"] for it in found["messages"]))
    else:
        say(text=event["text"])


@app.action("yes")
def pressed(ack: Any, body: dict[str, Any], client: WebClient) -> None:
    ack()
    at = body["container"]
    text = f"{body['user']['username']} said {body['actions'][0]['value']}"
    client.chat_update(channel=at["channel_id"], ts=at["message_ts"], text=text, blocks=[])
    client.chat_postEphemeral(channel=at["channel_id"], user=body["user"]["id"], text="Thanks")


@app.command("/echo")
def commanded(ack: Any, command: dict[str, Any], say: Any) -> None:
    ack()
    say(text=f"commanded {command['text']}")


if __name__ == "__main__":
    SocketModeHandler(app, APP_TOKEN, web_client=WebClient(token=BOT_TOKEN, base_url=f"{URL}/api/")).start()

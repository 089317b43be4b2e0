"""A hook that listens to voice messages: what was said goes to the model as text.

TRANSCRIBE_URL is an endpoint with OpenAI's `/v1/audio/transcriptions`, in the cloud or on this machine;
TRANSCRIBE_MODEL (`whisper-1`) and TRANSCRIBE_KEY are for it, TRANSCRIBE_MOST_BYTES (20000000) is what it is sent at
most. Where there are no words to be had the message goes no further, and whoever spoke reads why; where this hook
itself fails, that is its `on_failure`.
"""

from __future__ import annotations

import json
import os
import secrets
import urllib.error
import urllib.request

from hookgate_plugin import ChatMessage, Plugin

URL = os.environ.get("TRANSCRIBE_URL", "")
MODEL = os.environ.get("TRANSCRIBE_MODEL", "whisper-1")
KEY = os.environ.get("TRANSCRIBE_KEY", "")
MOST_BYTES = int(os.environ.get("TRANSCRIBE_MOST_BYTES", "20000000"))
MOST_ANSWER, MOST_CHARACTERS = 1_000_000, 20_000
# An endpoint goes by how a file is called.
EXTENSIONS = {"audio/ogg": "ogg", "audio/mpeg": "mp3", "audio/mp4": "m4a", "audio/m4a": "m4a", "audio/x-wav": "wav"}

plugin = Plugin("transcribe")


class Stays(urllib.request.HTTPRedirectHandler):
    """Nobody is sent the key, or what was said, but who is named."""

    def redirect_request(self, *_: object) -> None:
        return None


asking = urllib.request.build_opener(Stays)


class Unheard(Exception):
    """Why there are no words; for whoever spoke them."""


@plugin.on_message
def listen(said: ChatMessage) -> object:
    media = [str(it) for it in said.message.get("media") or []]
    spoken = [it for it in media if it.startswith("media:audio/")]
    if not spoken:
        return None
    left_s = (said.deadline_ms or 5000) / 1000 - 0.5
    try:
        words = [words_of(it, left_s) for it in spoken]
    except Unheard as error:
        return plugin.drop(f"not heard: {error}", tell=f"I could not listen to that: {error}. Please write it.")
    text = "\n".join(filter(None, (said.text, *(f"[voice message] {it}" for it in words))))
    return plugin.modify(text=text, media=[it for it in media if it not in spoken])


def words_of(medium: str, within_s: float) -> str:
    try:
        content = plugin.file(medium)
    except OSError:
        raise Unheard("it is not there any more") from None
    if len(content) > MOST_BYTES:
        raise Unheard(f"it has more than {MOST_BYTES} bytes")
    words = transcribed(content, medium.split(":")[1], within_s).strip()
    if not words:
        raise Unheard("there are no words in it")
    return words if len(words) <= MOST_CHARACTERS else words[:MOST_CHARACTERS] + " [... and more]"


def transcribed(content: bytes, type_: str, within_s: float) -> str:
    boundary = secrets.token_hex(16)
    name = f"voice.{EXTENSIONS.get(type_, 'bin')}"
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\n{MODEL}\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: {type_}\r\n\r\n"
    )
    body = head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}", "Accept": "application/json"}
    if KEY:
        headers["Authorization"] = f"Bearer {KEY}"
    try:
        request = urllib.request.Request(URL, body, headers)  # noqa: S310 - looked at when this starts
        with asking.open(request, timeout=max(within_s, 0.1)) as answer:
            return str(json.loads(answer.read(MOST_ANSWER))["text"])
    except urllib.error.HTTPError as error:
        raise Unheard(f"the endpoint answered with status {error.code}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        # An address that is none says no more about itself than that.
        plugin.log(f"{type(error).__name__}: {error}")
        raise Unheard("the endpoint does not answer as it should") from None


if __name__ == "__main__":
    if not URL.startswith(("http://", "https://")):
        raise SystemExit("TRANSCRIBE_URL has to name an endpoint")
    plugin.run()

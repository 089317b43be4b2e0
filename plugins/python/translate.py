"""A hook that translates what goes to the chat; the transcript keeps what the model said.

TRANSLATE_COMMAND is a program with its arguments, such as `trans -brief :de`: it reads a text and writes the other
one. Where it fails nothing is sent untranslated without a word: that is the hook's `on_failure`.
"""

from __future__ import annotations

import os
import shlex
import subprocess

from hookgate_plugin import ChatMessage, Plugin

COMMAND = shlex.split(os.environ.get("TRANSLATE_COMMAND", "trans -brief :de"))

plugin = Plugin("translate")


@plugin.before_send
def translate(out: ChatMessage) -> object:
    if not out.text.strip():
        return None
    left_s = (out.deadline_ms or 5000) / 1000
    done = subprocess.run(COMMAND, input=out.text.encode(), capture_output=True, timeout=left_s, check=True)
    return plugin.modify(text=done.stdout.decode().rstrip("\n"))


if __name__ == "__main__":
    plugin.run()

"""An approval policy for shell commands: refuses some, approves what only reads, and has a person asked for the rest.

It judges the text of one command. Anything that a shell would take apart (pipes, `;`, `$(...)`, redirections) is
never approved by itself.
"""

from __future__ import annotations

import re
import shlex

from hookgate_plugin import Call, Plugin

READ_ONLY = ("cat", "df", "du", "echo", "grep", "head", "id", "ls", "ps", "pwd", "stat", "tail", "uptime", "wc")
READ_ONLY_GIT = ("blame", "diff", "log", "show", "status")
GIT_ESCAPES = ("--output", "--ext-diff")  # with these even they write a file or start a program
SHELL = re.compile(r"[;&|<>`$(){}\\\n]")
FORBIDDEN = (
    (re.compile(r"\b(?:sudo|doas)\b"), "commands run without sudo here"),
    (re.compile(r"/etc\b"), "/etc is off limits"),
)
DEPLOY = re.compile(r"(?:^|[\s/;&|(])deploy(?:\.sh)?(?=[\s;&|)]|$)")
ASK_TTL_S = 300

plugin = Plugin("approve")


@plugin.approve_tool(tools=["bash"])
def judge(call: Call) -> object:
    command = str(call.arguments.get("command", ""))
    for pattern, why in FORBIDDEN:
        if pattern.search(command):
            return plugin.refuse(why)
    words = simple_words(command)
    if DEPLOY.search(command) and "--dry-run" not in words:
        return plugin.refuse("a deploy runs only as one plain command with --dry-run; repeat it with --dry-run")
    if reads_only(words) or words[:1] in (["deploy"], ["./deploy.sh"]):
        return plugin.approve()
    return plugin.ask(title="Run this command?", text=command, ttl_s=ASK_TTL_S)


def reads_only(words: list[str]) -> bool:
    match words:
        case ["git", verb, *options]:
            return verb in READ_ONLY_GIT and not any(option.startswith(GIT_ESCAPES) for option in options)
        case [program, *_]:
            return program in READ_ONLY
        case _:
            return False


def simple_words(command: str) -> list[str]:
    """The words of a command that is no more than that; none where a shell would do more than split it."""
    if SHELL.search(command):
        return []
    try:
        return shlex.split(command)
    except ValueError:
        return []


if __name__ == "__main__":
    plugin.run()

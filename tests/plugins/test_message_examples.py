"""The example hooks of on_message and before_send, as processes in the gate: what becomes of a message."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from hookgate.hooks.children.process import ProcessSpec, open_process
from hookgate.hooks.gate import Gate
from hookgate.hooks.rules import Mount, Rules
from hookgate.hooks.verdicts import Dropped, Replied
from hookgate.processes.child import HelloFailed
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.values import Step
from tests.hooks.doubles import matching
from tests.hooks.processes import DEADLINE_S, open_rounds

PLUGINS = Path(__file__).parents[2] / "plugins" / "python"
CHAT = Chat("telegram", "42", sender="7")
UPPER = shlex.join([sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read().upper())"])


def step(text: str, chat: Chat = CHAT) -> Step:
    return Step("main", "main-turn-1", Inbound(chat, text, message_id="311"), model="openai/gpt")


@asynccontextmanager
async def open_gate(name: str, stage: Stage, rules: Rules, **env: str) -> AsyncGenerator[Gate]:
    """With the one example that stands at the one stage."""
    command = (sys.executable, str(PLUGINS / f"{name}.py"))
    environment = {"PATH": os.environ["PATH"], **env}
    spec = ProcessSpec(name, command, str(PLUGINS), environment, frozenset({stage}), observes=False)
    gate = Gate()
    async with (
        open_rounds() as rounds,
        open_process(replace(spec, hello_timeout_s=DEADLINE_S), rounds) as hook,
    ):
        gate.mount([Mount(hook, replace(rules, stages=frozenset({stage}), timeout_s={stage: DEADLINE_S}))])
        yield gate


async def test_bad_words_are_taken_out_in_the_one_chat_that_wants_it() -> None:
    rules = Rules(match=matching(chats="42"))
    async with open_gate("profanity", Stage.ON_MESSAGE, rules, PROFANITY_WORDS="damn, bloody hell") as gate:
        said = await gate.on_message(step("Where is the DAMN report? Damned if I know."))
        assert said == step("Where is the **** report? Damned if I know.").inbound
        sworn = Dropped("profanity", "nothing but bad words", "Please say that in other words.")
        assert await gate.on_message(step("Bloody hell!")) == sworn
        elsewhere = step("damn", Chat("telegram", "43"))
        assert await gate.on_message(elsewhere) == elsewhere.inbound


async def test_outside_of_office_hours_the_hook_answers() -> None:
    async with open_gate("office_hours", Stage.ON_MESSAGE, Rules(), OFFICE_HOURS="0-0") as gate:
        replied = await gate.on_message(step("Hello?"))
        assert isinstance(replied, Replied)
        assert replied.text == "Nobody is here now. We are back on weekdays from 0 to 0 o'clock."


async def test_what_goes_to_the_chat_is_translated_and_nothing_goes_untranslated() -> None:
    out = Outbound(CHAT, "guten Tag", ("data:,x",))
    async with open_gate("translate", Stage.BEFORE_SEND, Rules(), TRANSLATE_COMMAND=UPPER) as gate:
        assert await gate.before_send(step("hello"), out) == replace(out, text="GUTEN TAG")
    denying = Rules(on_failure={Stage.BEFORE_SEND: "deny"})
    async with open_gate("translate", Stage.BEFORE_SEND, denying, TRANSLATE_COMMAND="false") as gate:
        withheld = await gate.before_send(step("hello"), out)
        assert isinstance(withheld, Dropped)
        assert withheld.tell.startswith("Message withheld: hook translate failed at before_send: ")


@pytest.mark.parametrize("declared", [{}, {"stages": []}])
async def test_a_hook_that_does_not_declare_the_stage_is_not_asked_there_but_refused(
    declared: dict[str, list[str]],
) -> None:
    async with open_rounds() as rounds:
        answer = f"{{'id': json.loads(input())['id'], 'result': {declared}}}"
        program = f"import json; print(json.dumps({answer}), flush=True); input()"
        spec = ProcessSpec(
            "v1", (sys.executable, "-c", program), "/", {}, frozenset({Stage.ON_MESSAGE}), observes=False
        )
        with pytest.raises(HelloFailed, match="on_message, which its hello has to name in `stages`"):
            async with open_process(replace(spec, hello_timeout_s=DEADLINE_S), rounds):
                pass


@pytest.mark.parametrize("name", ["", ":Bericht%20%282%29.pdf"])
def test_a_hook_reads_files_of_messages_and_no_others(tmp_path: Path, name: str) -> None:
    digest = "ab" * 32
    (tmp_path / "ab").mkdir()
    (tmp_path / "ab" / digest).write_bytes(b"hi")
    program = (
        "import json, sys; from hookgate_plugin import Plugin; plugin = Plugin('x');"
        "plugin.hello({'media_dir': sys.argv[1]});"
        "print(*(plugin.file(it).decode() for it in sys.argv[2:4]));"
        "plugin.file(sys.argv[4])"
    )
    held = "data:text/plain;name=a.txt;base64,aG8="
    asked = [str(tmp_path), f"media:application/pdf:{digest}{name}", held, f"media:a/b:..{digest[2:]}"]
    run = subprocess.run(
        [sys.executable, "-c", program, *asked], cwd=PLUGINS, capture_output=True, text=True, check=False
    )
    assert run.stdout == "hi ho\n"
    assert "ValueError: " in run.stderr
    assert "holds no file that this hook can read" in run.stderr

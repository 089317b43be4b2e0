"""`hookgate demo --web` as it starts, one for all: what others have written works with what it prints and no more."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio
from playwright.sync_api import expect

from hookgate.telemetry.exposition import OPENMETRICS, TEXT
from tests.acp.editors import open_editor, skip_without_library
from tests.channels.web.browser import chromium
from tests.cli.program import HOOKGATE, environment, run
from tests.preloaded import put_hookgate
from tests.processes import line_of, none_left
from tests.serve.started import until
from tests.telemetry.others import read_by, skip_without_others

DEADLINE_S = 60.0
PYTHON = Path(sys.prefix) / "openai" / "bin" / "python"
CLIENTS = Path(__file__).with_name("demo_clients.py")
LAST = "Ctrl-C ends it.\n"
OSLO = "Let me look.\n\nIn Oslo it is 20 °C, clear."
FINE = "3 files would be copied"
HELD_UP = "held up, and waits for a person: Run bash?: Deploy the new version."


@dataclass(frozen=True)
class Demo:
    """`home`: of whoever started it; `shown`: what it has printed."""

    home: Path
    shown: str

    def told(self, pattern: str) -> str:
        """What the group of this pattern stands for."""
        [found] = re.findall(pattern, self.shown, re.MULTILINE)
        return found

    @property
    def folder(self) -> Path:
        return Path(self.told(r"^  cd (\S+)$"))

    @property
    def exported(self) -> dict[str, str]:
        """What a shell has in its environment, once all that is there to export is."""
        lines = re.findall(r"^  export (.+)$", self.shown, re.MULTILINE)
        return dict(word.split("=", 1) for line in lines for word in shlex.split(line))

    async def pasted(self, *lines: str) -> str:
        """What a shell prints that is given these lines of it, and knows hookgate."""
        (self.home / "bin").mkdir(exist_ok=True)
        put_hookgate(self.home / "bin")
        env = environment(self.home)
        env["PATH"] = f"{self.home / 'bin'}:{env['PATH']}"
        command = ["bash", "-ec", "\n".join(line.strip() for line in lines)]
        ended = await trio.run_process(command, cwd=self.home, env=env, capture_stdout=True)
        return ended.stdout.decode()

    def program(self, key: str = "OPENAI_API_KEY") -> httpx.AsyncClient:
        given = self.exported
        headers = {"authorization": f"Bearer {given[key]}"}
        return httpx.AsyncClient(base_url=given["URL"], headers=headers, timeout=DEADLINE_S)

    async def ask(self, method: str, **params: Any) -> Any:
        """As an operator's program."""
        async with self.program("KEY") as program:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return (await program.post("/rpc", json=body)).json()["result"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Generator[Demo]:
    home = tmp_path_factory.mktemp("demo")
    with (home / "stderr").open("wb") as stderr:
        command = [*HOOKGATE, "demo", "--web"]
        process = subprocess.Popen(
            command, cwd=home, env=environment(home), stdout=subprocess.PIPE, stderr=stderr, bufsize=0
        )
    try:
        assert process.stdout
        started = Demo(home, trio.run(_banner, process.stdout.fileno()))
        yield started
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) == 0
        assert not started.folder.exists()
        assert (home / "stderr").read_text() == ""
    finally:
        process.kill()
        process.communicate()
    trio.run(none_left, home)


async def _banner(output: int) -> str:
    shown = ""
    async with trio.lowlevel.FdStream(os.dup(output)) as stream:
        while not shown.endswith(LAST):
            shown += (await line_of(stream)).decode()
    return shown


@pytest.fixture
def python() -> str:
    if not PYTHON.exists():
        pytest.skip("the clients are not here: make .venv/.openai")
    return str(PYTHON)


@pytest.fixture
def readers() -> None:
    skip_without_others()


@pytest.fixture
def editors() -> None:
    skip_without_library()


@pytest.mark.needs("curl")
async def test_its_lines_work_in_a_shell_as_they_are_pasted(demo: Demo) -> None:
    lines = demo.shown.splitlines()
    [export, curl] = [it for it in lines if it.startswith(("  export OPENAI_", "  curl "))]
    whole = json.loads(await demo.pasted(export, curl))
    assert whole["choices"][0]["message"]["content"] == OSLO
    streamed = await demo.pasted(export, curl.replace("curl -s ", "curl -sN ").replace("{", '{"stream": true, ', 1))
    assert streamed.count("data: {") > 3
    assert streamed.endswith("data: [DONE]\n\n")
    models = curl.partition(' -H "Content-Type')[0].replace("chat/completions", "models")
    assert [it["id"] for it in json.loads(await demo.pasted(export, models))["data"]] == ["hookgate", "main"]
    where = [it for it in lines if it.startswith(("  cd ", "  hookgate where "))]
    assert HELD_UP in await demo.pasted(*where)
    assert "waits for a person to decide about bash" in await demo.pasted(where[0], "hookgate status")


async def test_the_official_client_and_langchain_get_what_they_expect(python: str, demo: Demo) -> None:
    env = {**environment(demo.home), **demo.exported}
    ended = await trio.run_process([python, "-I", str(CLIENTS)], env=env, capture_stdout=True)
    assert json.loads(ended.stdout) == {
        "models": ["hookgate", "main"],
        "denied": "I will remove the old releases.\n\nI may not do that: 'rm -rf releases' is not allowed here.",
        "tools": ["tool_calls", "get_time", "This is what came back:\nhalf past nine"],
        "responses": [
            ["message", "mcp_call", "message"],
            "I will read them.\n\nThese are the settings:\n\nHOST=demo.internal\nAPI_KEY=[redacted]\nWORKERS=4\n",
        ],
        "async": [OSLO, OSLO, True],
        "langchain": [OSLO, OSLO, "This is what came back:\nhalf past nine"],
    }


async def test_a_chat_of_open_webui_is_one_conversation_and_its_title_none(demo: Demo) -> None:
    user = {f"X-OpenWebUI-User-{name}": "ann" for name in ("Id", "Name", "Email", "Role")}
    headers = {**user, "X-OpenWebUI-Chat-Id": "0b6a-chat", "X-OpenWebUI-Message-Id": "0b6a-message"}
    said = [{"role": "user", "content": "weather in Oslo"}]
    async with demo.program() as program:
        assert (await program.get("/v1/models", headers=user)).json()["data"][0]["id"] == "hookgate"

        async def ask(*messages: Any, **more: Any) -> httpx.Response:
            body = {"model": "hookgate", "messages": messages, **more}
            return await program.post("/v1/chat/completions", json=body, headers=headers)

        streaming = {"stream": True, "stream_options": {"include_usage": True}}
        first = await ask(*said, **streaming)
        events = [json.loads(it[6:]) for it in first.text.split("\n\n") if it.startswith("data: {")]
        text = "".join(it["choices"][0]["delta"].get("content", "") for it in events if it["choices"])
        assert (text, events[-1]["usage"]["total_tokens"] > 0) == (OSLO, True)
        title = "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history."
        assert (await ask({"role": "user", "content": title}, max_completion_tokens=1000)).status_code == 200
        said += [{"role": "assistant", "content": text}, {"role": "user", "content": "show me the settings"}]
        assert "API_KEY=[redacted]" in (await ask(*said, **streaming)).text.replace('"}', "")
    found = [it for it in await demo.ask("sessions.list") if "0b6a-chat" in json.dumps(it)]
    assert len(found) == 1


async def test_an_editor_gets_an_answer_and_is_asked_before_a_command_runs(editors: None, demo: Demo) -> None:
    config = Path(demo.told(r"^  hookgate acp --config (\S+)$"))
    async with open_editor(config.parent) as editor:
        session = await editor.new(demo.folder / "server")
        assert await editor.prompt(session, "weather in Oslo") == "end_turn"
        assert editor.text(session) == OSLO.replace("\n\n", "")
        prompt = await editor.begin(session, "deploy it")
        assert "./deploy.sh --dry-run" in json.dumps(await editor.asked(session))
        await editor.choose("once")
        assert (await editor.done(prompt))["result"]["stopReason"] == "end_turn"
        assert FINE in editor.text(session)


@pytest.mark.parametrize("accept", [TEXT, OPENMETRICS], ids=["text", "openmetrics"])
async def test_prometheus_reads_its_figures(readers: None, demo: Demo, accept: str) -> None:
    async with httpx.AsyncClient(timeout=DEADLINE_S) as prometheus:
        address = demo.told(r"^  metrics: (\S+)$")
        answer = await prometheus.get(address, headers={"accept": accept})
    families = await read_by("read_metrics.py", answer.content, answer.headers["content-type"])
    _kind, [[_name, _labels, waiting]] = families["hookgate_approvals_waiting"]
    assert waiting >= 1
    up = {labels["hook"]: value for _name, labels, value in families["hookgate_hook_up"][1]}
    assert up == dict.fromkeys(("weather", "guard", "approve", "redact", "audit_log"), 1)


@pytest.mark.needs("chromium")
def test_the_operators_page_says_where_a_message_is(demo: Demo) -> None:
    with chromium() as browser:
        page = browser.new_page()
        page.goto(demo.told(r"^  web: (\S+/ops#\S+)$"))
        page.get_by_role("link", name=re.compile("^Messages")).click()
        page.get_by_label("Id, text, sender or chat").fill("deploy the")
        row = page.get_by_role("list", name="Messages").get_by_role("listitem")
        expect(row).to_have_count(1)
        expect(row).to_contain_text("waits for a person: Run bash?")


async def test_what_a_program_asks_waits_for_whoever_has_the_page(demo: Demo) -> None:
    answers = list[str]()

    def asked(card: Any) -> bool:
        return card["sender"] == "demo"

    async def deploy() -> None:
        async with demo.program() as program:
            body = {"model": "hookgate", "messages": [{"role": "user", "content": "deploy it"}], "user": "waiting"}
            answer = (await program.post("/v1/chat/completions", json=body)).json()
            answers.append(answer["choices"][0]["message"]["content"])

    address, token = re.findall(r"^  web: (\S+)/#token=([^\s&]+)\S*$", demo.shown, re.MULTILINE)[0]
    async with httpx.AsyncClient(base_url=address, timeout=DEADLINE_S) as page, trio.open_nursery() as nursery:
        assert (await page.post("/api/login", json={"token": token})).status_code == 204
        page.headers["x-csrf-token"] = (await page.get("/api/me")).json()["csrf"]
        nursery.start_soon(deploy)
        waiting = await until(page, "/ops/api/approvals", lambda found: any(map(asked, found)))
        [card] = [it for it in waiting if asked(it)]
        yes = await page.post("/ops/api/approvals.decide", json={"id": card["id"], "approved": True})
        assert yes.json()["counted"] is True
    assert FINE in answers[0]


async def test_an_operators_program_may_have_its_configuration_read_again(demo: Demo) -> None:
    assert (await demo.ask("status"))["config"] == f"{demo.folder}/hookgate.toml"
    assert (await demo.ask("hooks.reload"))["changed"] == []


async def test_a_message_is_found_from_another_folder(demo: Demo, tmp_path: Path) -> None:
    """From one without a configuration, and what to type in one that has its own."""
    empty, other = tmp_path / "empty", tmp_path / "other"
    for folder in (empty, other):
        folder.mkdir()
    (other / "hookgate.toml").write_text('[agent]\nmodel = "p/m"\n[providers.p]\nkind = "openai"\n')
    found = await run(empty, "where", "Deploy the", home=demo.home)
    assert HELD_UP in found.stdout.decode(), found.stderr
    assert found.stderr.startswith(
        b"note: no hookgate of this configuration file or workspace is running; the one at "
    )
    away = await run(other, "where", "Deploy the", home=demo.home)
    assert (away.returncode, away.stdout) == (1, b"")
    said, *rest = shlex.split(away.stderr.decode().strip().rpartition(f"{demo.folder}/hookgate.toml: ")[2])
    assert (said, rest[:2]) == ("hookgate", ["where", "Deploy the"])
    assert (await run(other, *rest, home=demo.home)).stdout == found.stdout
    nobody = await run(empty, "where", "Deploy the", home=empty)
    assert b"no gateway that can be asked runs here as this user" in nobody.stderr

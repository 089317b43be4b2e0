"""`hookgate rpc`: how it starts and ends, who may talk to it, who may say yes, and what is left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest
import trio

from hookgate import __version__
from hookgate.rpc.flags import BadFlags, parse_flags, usage
from tests.cli.program import HOOKGATE, environment, hook, none_left, processes_of, run
from tests.cli.rpc_client import Frame, one, open_rpc, scripted, types
from tests.cli.zot.zot_folders import extension
from tests.model_server import open_model_server, says
from tests.preloaded import preloaded
from tests.processes import until

TOKEN = {"ZOTCORE_RPC_TOKEN": "s3cret"}
APPROVED = '[[approvals]]\nname = "ask"\ntools = ["bash"]\n'
BASH: Frame = {"name": "bash", "arguments": {"command": "echo hi"}, "id": "c1"}


def silent(folder: Path) -> Frame:
    """A step whose command says one word and then nothing; the folder on its command line marks it as this test's."""
    return {"calls": [{"name": "bash", "arguments": {"command": f"echo up; tail -n 0 -f {folder}/script.json"}}]}


# --- the end of stdin ---------------------------------------------------------------------------------------


async def test_what_was_asked_before_the_end_of_stdin_is_done_before_it_exits(tmp_path: Path) -> None:
    lines = b'{"type":"prompt","id":"1","message":"one"}\n{"type":"prompt","id":"2","message":"two"}'
    ended = await run(scripted(tmp_path), "rpc", stdin=lines)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.count(b'{"type":"done"}\n') == 2


async def test_stdin_and_stdout_may_be_files(tmp_path: Path) -> None:
    scripted(tmp_path)
    (tmp_path / "in").write_text('{"type":"prompt","message":"%s"}\n' % ("word " * 2_000))
    command = [*HOOKGATE, "rpc"]
    with trio.fail_after(20), (tmp_path / "in").open("rb") as lines, (tmp_path / "out").open("wb") as out:
        await trio.run_process(command, stdin=lines, stdout=out, cwd=tmp_path, env=environment(tmp_path))
    assert (tmp_path / "out").read_bytes().endswith(b'{"type":"done"}\n')


async def test_an_idle_program_exits_at_once(tmp_path: Path) -> None:
    ended = await run(scripted(tmp_path), "rpc")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


# --- signals, and nobody who reads --------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_leaves_no_child_behind(tmp_path: Path, number: signal.Signals) -> None:
    more = hook(tmp_path, "guard", 'intercept = ["before_tool"]')
    async with open_rpc(scripted(tmp_path, silent(tmp_path), more=more)) as client:
        await client.send("prompt", message="go")
        await client.until("tool_progress")
        await until(lambda: processes_of(tmp_path))
        client.process.send_signal(number)
        assert await client.exits() == 128 + number
        await none_left(tmp_path)


SPEAKS: Frame = {"text": "One two", "hang": True}


@pytest.mark.parametrize(
    ("step", "seen", "last"),
    [
        (SPEAKS, "text_delta", ["usage", "assistant_message", "turn_end", "done"]),
        (
            {"calls": [{**BASH, "arguments": {"command": "echo up; sleep 60"}}]},
            "tool_progress",
            ["tool_result", "done"],
        ),
    ],
)
async def test_a_prompt_that_a_signal_cuts_off_ends_with_done(
    tmp_path: Path, step: Frame, seen: str, last: list[str]
) -> None:
    async with open_rpc(scripted(tmp_path, step)) as client:
        await client.send("prompt", message="go")
        await client.send("prompt", message="that waits")
        await client.until(seen)
        client.process.send_signal(signal.SIGTERM)
        assert await client.exits() == 128 + signal.SIGTERM
        frames = [it for it in await client.rest() if it["type"] != seen]
        assert types(frames) == last
        assert [it["stop"] for it in frames if it["type"] == "turn_end"] in ([], ["aborted"])


@pytest.mark.parametrize(("flags", "last"), [((), []), (("--compact-done",), ["done"])])
async def test_a_compaction_that_a_signal_cuts_off_ends_as_an_aborted_one(
    tmp_path: Path, flags: tuple[str, ...], last: list[str]
) -> None:
    async with open_rpc(scripted(tmp_path, {"when": "Sum up", **SPEAKS}), *flags) as client:
        for word in ("a", "b", "c"):
            await client.send("prompt", message=word)
            await client.done()
        await client.send("compact")
        assert (await client.next())["data"] == {"started": True}
        client.process.send_signal(signal.SIGTERM)
        assert await client.exits() == 128 + signal.SIGTERM
        assert types(await client.rest()) == last


async def test_a_signal_ends_it_in_time_whatever_its_children_ignore(tmp_path: Path) -> None:
    stubborn = [extension(tmp_path, name, mode="stubborn") for name in ("one", "two", "three")]
    deaf = f"trap '' TERM; echo up; tail -n 0 -f {tmp_path}/script.json; tail -n 0 -f {tmp_path}/hookgate.toml"
    call = {"name": "bash", "arguments": {"command": deaf}}
    flags = ("--no-ext", *(word for folder in stubborn for word in ("-e", str(folder))))
    async with open_rpc(scripted(tmp_path, {"calls": [call]}), *flags) as client:
        await client.send("prompt", message="go")
        await client.until("tool_progress")
        client.process.send_signal(signal.SIGTERM)
        assert await client.exits() == 128 + signal.SIGTERM
        await none_left(tmp_path)


async def test_it_ends_when_nobody_reads_any_more_even_while_a_silent_tool_runs(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path, silent(tmp_path))) as client:
        await client.send("prompt", message="go")
        await client.until("tool_progress")
        await client.stdout.aclose()
        assert await client.exits() == 1
        await none_left(tmp_path)


async def test_a_reader_who_is_slow_loses_nothing(tmp_path: Path) -> None:
    steps = [{"text": f"{number} " + "x" * 100_000} for number in range(20)]
    async with open_rpc(scripted(tmp_path, *steps)) as client:
        for number in range(20):
            await client.send("prompt", id=number, message="go")
        await client.send("ping", id="late")
        frames: list[Frame] = []
        for _ in range(20):
            frames += await client.done()
        said = [f["content"][0]["text"] for f in frames if f["type"] == "assistant_message"]
        assert [text.split()[0] for text in said] == [str(number) for number in range(20)]
        assert all(len(text.split()[1]) == 100_000 for text in said)


# The same program, but for its patience.
HASTY = (
    sys.executable,
    "-c",
    "from hookgate.rpc import service; service.PATIENCE_S = 0.5; from hookgate.__main__ import main; main()",
    "rpc",
)
LONG: Frame = {"text": "x" * 3_000_000}


@pytest.mark.parametrize("more", [0, 3])
async def test_at_the_end_of_stdin_it_waits_no_longer_than_so_for_one_who_never_reads(
    tmp_path: Path, more: int
) -> None:
    """With `more` prompts the end of stdin lies behind what it does not read while nobody reads of it."""
    big = b'{"type":"prompt","message":"%s"}\n' % (b"y" * 30_000)
    async with open_rpc(scripted(tmp_path, *[LONG] * 4), command=HASTY) as client:
        await client.send("prompt", message="go")
        await client.warned("bytes wait there; the conversation goes on when they are read")
        await client.stdin.send_all(big * more)
        assert await client.ends() == 1
        last = client.stderr.decode().splitlines()[-1]
        assert last.startswith("hookgate: rpc: nobody has read stdout for 0.5 s, ")
        assert last.endswith(" bytes wait there, and stdin has ended: it ends without them")


async def test_a_reader_who_pauses_is_told_of_and_loses_nothing(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path, LONG, {"text": "Two."}), command=HASTY) as client:
        await client.send("prompt", message="go")
        await client.send("prompt", message="on")
        await client.warned("the conversation goes on when they are read")
        frames = [*await client.done(), *await client.done()]
        said = [f["content"][0]["text"] for f in frames if f["type"] == "assistant_message"]
        assert said == [LONG["text"], "Two."]
        assert await client.ends() == 0


async def test_what_a_tool_prints_is_not_piled_up_for_one_who_does_not_read(tmp_path: Path) -> None:
    flood = f"yes {'x' * 1000} | head -c 30000000; echo > {tmp_path}/over"
    more = '[guards]\nshell = "off"\n'
    steps = ({"calls": [{"name": "bash", "arguments": {"command": flood}, "id": "c1"}]}, {"text": "Done."})
    async with open_rpc(scripted(tmp_path, *steps, more=more)) as client:
        await client.send("prompt", message="go")
        await until((tmp_path / "over").exists)
        frames = await client.done()
        pieces = sum(len(f["text"]) for f in frames if f["type"] == "tool_progress")
        assert 0 < pieces < 5_000_000
        assert "Done." in str(frames)


# --- the token ----------------------------------------------------------------------------------------------


async def test_before_hello_with_the_token_nothing_else_is_answered(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path), env=TOKEN) as client:
        await client.raw(b"nope")
        assert (await client.next())["error"].startswith("malformed json: ")
        for command in ("ping", "nope", "prompt"):
            answer = await client.ask(command, id="1")
            assert answer["error"] == "auth required: send hello with token first"
        assert (await client.ask("hello", token="s3cret"))["success"]
        assert (await client.ask("ping"))["success"]
        assert await client.ends() == 0


@pytest.mark.parametrize("given", [{}, {"token": "wrong"}, {"token": "s3cret "}])
async def test_hello_without_the_token_ends_it(tmp_path: Path, given: Frame) -> None:
    async with open_rpc(scripted(tmp_path), env=TOKEN) as client:
        await client.send("hello", id="1", **given)
        refused = {"type": "response", "id": "1", "command": "hello", "success": False, "error": "invalid token"}
        assert await client.next() == refused
        assert await client.exits() == 1
        assert client.stderr == b"hookgate: rpc: bad auth token\n"


async def test_commands_of_the_model_do_not_see_the_token(tmp_path: Path) -> None:
    call = {"name": "bash", "arguments": {"command": "env"}}
    async with open_rpc(scripted(tmp_path, {"calls": [call]}), env=TOKEN) as client:
        await client.send("hello", token="s3cret")
        await client.send("prompt", message="go")
        assert "s3cret" not in str(await client.done())


# --- approvals ----------------------------------------------------------------------------------------------


async def test_what_needs_an_approval_is_denied_at_once(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path, {"calls": [BASH]}, more=APPROVED)) as client:
        await client.send("prompt", message="go")
        frames = await client.done()
        result = one(frames, "tool_result")
        assert result["is_error"]
        assert "--rpc-approvals" in result["content"][0]["text"]
        assert "approval_request" not in types(frames)


@pytest.mark.parametrize("approved", [True, False, 1])
async def test_the_other_end_may_decide(tmp_path: Path, approved: object) -> None:
    async with open_rpc(scripted(tmp_path, {"calls": [BASH]}, more=APPROVED), "--rpc-approvals") as client:
        await client.send("prompt", message="go")
        asked = (await client.until("approval_request"))[-1]
        assert (asked["tool"], asked["args"], asked["asked_by"]) == ("bash", {"command": "echo hi"}, "rule:ask")
        await client.send("approve", id="9", approval=asked["approval"], approved=approved)
        frames = await client.done()
        assert frames[0] == {"type": "response", "id": "9", "command": "approve", "success": True}
        assert one(frames, "tool_result")["is_error"] == (approved is not True)


async def test_the_first_answer_to_a_request_counts_and_the_next_reads_that_nothing_waits(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path, {"calls": [BASH]}, more=APPROVED), "--rpc-approvals") as client:
        await client.send("prompt", message="go")
        asked = (await client.until("approval_request"))[-1]
        for number, approved in (("9", True), ("10", False)):
            await client.send("approve", id=number, approval=asked["approval"], approved=approved)
        frames = await client.done()
        answers = {frame["id"]: frame["success"] for frame in frames if frame["type"] == "response"}
        assert answers == {"9": True, "10": False}
        assert one(frames, "tool_result")["is_error"] is False


@pytest.mark.parametrize("more", ["", 'grants = ["1h"]\n'])
async def test_an_approval_request_says_what_a_yes_for_the_session_opens_where_it_is_offered(
    tmp_path: Path, more: str
) -> None:
    other = {**BASH, "arguments": {"command": "echo there"}, "id": "c2"}
    steps: list[Frame] = [{"calls": [BASH]}, {"calls": [other]}, {"text": "So."}]
    async with open_rpc(scripted(tmp_path, *steps, more=APPROVED + more), "--rpc-approvals") as client:
        await client.send("prompt", message="go")
        asked = (await client.until("approval_request"))[-1]
        reach = None if more else "every bash call of this conversation that rule:ask asks about"
        assert asked.get("session") == reach
        await client.send("approve", approval=asked["approval"], approved=True, grant="session")
        again = await client.until("approval_request" if more else "done")
        assert ("approval_request" in types(again)) == bool(more)


@pytest.mark.parametrize("approved", [True, False])
async def test_a_grant_that_nobody_knows_is_refused_and_the_call_waits_on(tmp_path: Path, *, approved: bool) -> None:
    async with open_rpc(scripted(tmp_path, {"calls": [BASH]}, more=APPROVED), "--rpc-approvals") as client:
        await client.send("prompt", message="go")
        asked = (await client.until("approval_request"))[-1]
        answer = await client.ask("approve", approval=asked["approval"], approved=approved, grant="zzz")
        refused = "grant must be one of once, session, 1h, always, not 'zzz'"
        assert (answer["success"], answer["error"]) == (False, refused)
        await client.send("approve", approval=asked["approval"], approved=True, grant="")
        assert one(await client.done(), "tool_result")["is_error"] is False


async def test_what_an_approval_request_hides_is_revealed_while_it_waits(tmp_path: Path) -> None:
    token, command = "ghp_" + "a1B2" * 6, "echo cookie: {}; touch X"
    wanted = {"calls": [{"name": "bash", "arguments": {"command": command.format(token)}, "id": "c1"}]}
    async with open_rpc(scripted(tmp_path, wanted, more=APPROVED), "--rpc-approvals") as client:
        await client.send("prompt", message="go")
        asked = (await client.until("approval_request"))[-1]
        hidden = asked["args"]["command"]
        assert (asked["hidden"], token in json.dumps(asked), len(asked["digest"])) == (True, False, 64)
        assert re.fullmatch(r"echo cookie: \[REDACTED:\w{4}\]; touch X", hidden)
        await client.send("reveal", id="8", approval=asked["approval"])
        revealed = (await client.until("response"))[-1]
        assert (revealed["id"], revealed["data"]["args"]) == ("8", {"command": command.format(token)})
        await client.send("approve", id="9", approval=asked["approval"], approved=False)
        await client.until("done")
        await client.send("reveal", id="10", approval=asked["approval"])
        assert (await client.until("response"))[-1]["error"] == f'no approval "{asked["approval"]}" waits'


async def test_an_approval_that_waits_at_the_end_of_stdin_is_denied(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path, {"calls": [BASH]}, more=APPROVED), "--rpc-approvals") as client:
        await client.send("prompt", message="go")
        await client.until("approval_request")
        assert await client.ends() == 0
        frames = await client.rest()
        assert one(frames, "tool_result")["is_error"]
        assert frames[-1] == {"type": "done"}


# --- what cannot start --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--frobnicate",), 'unknown flag "--frobnicate"\n'),
        (("--modl", "x"), "unknown flag \"--modl\" (did you mean '--model'?)\n"),
        (("--provider",), "--provider requires a value\n"),
        (("--session", ""), "--session needs a name to keep the conversation by\n"),
        (("--max-steps", "0"), '--max-steps must be a positive integer, not "0"\n'),
        (("--stats",), "--stats is no flag of rpc: `get_state` and every `usage` event say what "),
        (("--insecure",), "--insecure is no flag of rpc: certificates are always checked; "),
        (("--codemode",), "--codemode is no flag of rpc: hookgate has no such mode, "),
        (("-p", "hi"), "-p is no flag of rpc: one question is for `hookgate chat --once TEXT`\n"),
        (("--session", "/old/s.jsonl"), "kept by a name here, and zot's files of them are not read\n"),
        (("stray",), 'unexpected argument "stray"\n'),
    ],
)
async def test_a_mistake_in_a_flag_is_one_line_and_a_second_points_to_the_help(
    tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    ended = await run(tmp_path, "rpc", *flags)
    assert (ended.returncode, ended.stdout) == (1, b"")
    mistake, pointer = ended.stderr.decode().splitlines(keepends=True)
    assert mistake.startswith("hookgate: rpc: ")
    assert said in mistake
    assert pointer == "hookgate rpc --help lists the flags\n"


def test_the_help_names_every_flag_that_the_page_has() -> None:
    page = (Path(__file__).parents[2] / "docs" / "rpc.md").read_text().partition("## Flags")[2]
    flags = {flag for row in page.splitlines() if row.startswith("| `-") for flag in re.findall("`(-[^` ]+)", row)}
    assert flags == set(re.findall(r"(?<=[ ])--?[a-z][a-z-]*", usage("hookgate"))) - {"--help", "-h"}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("-p", "hi"), "-p needs a command: one question is for `hookgate chat --once TEXT`"),
        (("--json",), "--json needs a command: send a prompt to `hookgate rpc` on stdin"),
        (("-c",), "-c needs a command: `hookgate chat -c` goes on with"),
        (("--model", "x"), "--model needs a command: `hookgate chat --model` and `hookgate rpc --model` have it\n"),
        (
            ("--session=x",),
            "--session needs a command: `hookgate chat --session` and `hookgate rpc --session` have it\n",
        ),
        (("--no-session",), "`hookgate chat --no-session` and `hookgate rpc --no-session` have it\n"),
        (("-e", "x"), "-e needs a command: `hookgate chat -e` and `hookgate rpc -e` have it\n"),
        (("--no-skills",), "`hookgate chat --no-skills` and `hookgate rpc --no-skills` have it\n"),
        (("--provider", "x"), "--provider needs a command: `hookgate rpc --provider` has it\n"),
        (("--cwd", "/"), "--cwd needs a command: `hookgate rpc --cwd` has it\n"),
        (("-r",), "-r needs a command: `hookgate chat --session NAME` goes on with"),
        (("--modell",), "No such option '--modell'"),
        (("chat", "--reasoning", "high"), "a chat has no --reasoning: `hookgate rpc --reasoning LEVEL` has it\n"),
        (("chat", "--list-models"), "a chat has no --list-models: `hookgate --list-models` prints them"),
        (("chat", "-v"), "a chat has no -v: `hookgate -v` prints the version\n"),
        (("chat", "--no-tools"), "a chat has no --no-tools: `hookgate rpc --no-tools` has it\n"),
        (("chat", "--provider=openai"), "a chat has no --provider: --model PROVIDER/MODEL chooses"),
        (("chat", "--no-yolo"), "a chat has no --no-yolo: there is nothing to switch off"),
        (("chat", "--no-extension"), "No such option '--no-extension'"),
    ],
)
async def test_zots_own_flags_that_are_elsewhere_say_where(tmp_path: Path, flags: tuple[str, ...], said: str) -> None:
    ended = await run(tmp_path, *flags)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert said in ended.stderr.decode()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), "no model and no credentials"),
        (("--provider", "anthropic"), 'no credentials for provider "anthropic": set ANTHROPIC_API_KEY'),
        (
            ("--provider", "groq", "--model", "m"),
            'unknown provider "groq" (known: anthropic, kimi, ollama, openai); where it speaks OpenAI\'s API, write '
            '[providers.groq] kind = "openai", base_url = "https://...", api_key_env = "GROQ_API_KEY" in hookgate',
        ),
        (("--provider", "ollama"), 'no model: name one of the provider "ollama"'),
        (("--provider", "openai", "--api-key", "k", "--cwd", "nowhere"), "--cwd nowhere: No such file or directory"),
        (
            ("--provider", "openai", "--api-key", "k", "--session", "a b"),
            "--session 'a b': a name has up to 64 letters",
        ),
        (("--provider", "openai", "--api-key", "k", "--reasoning", "hard"), "reasoning must be off|"),
        (("--config", "none.toml"), "none.toml: there is no such file"),
    ],
)
async def test_without_a_model_or_credentials_no_frame_is_written(
    tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    ended = await run(tmp_path, "rpc", *flags, stdin=b'{"type":"ping"}\n')
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert ended.stderr.decode().startswith("hookgate: rpc: ")
    assert said in ended.stderr.decode()


async def test_a_name_that_covers_no_tool_and_an_extension_that_is_not_there_are_lines_on_stderr(
    tmp_path: Path,
) -> None:
    async with open_rpc(scripted(tmp_path, {"text": "ok"}), "--tools", "lss,re*", "-e", "./nope") as client:
        await client.send("prompt", message="go")
        await client.done()
        assert await client.ends() == 0
        nope, lss = client.stderr.decode().splitlines()
    assert nope.startswith(f"extension load: {tmp_path}/nope: read manifest: ")
    assert lss == "hookgate: rpc: --tools: 'lss' covers no built-in tool (did you mean 'ls'?)"


async def test_a_required_hook_that_fails_is_one_line_and_status_1(tmp_path: Path) -> None:
    more = '[hooks.processes.gone]\ncommand = ["false"]\nintercept = ["before_tool"]\nrequired = true\n'
    async with open_rpc(scripted(tmp_path, more=more)) as client:
        assert await client.exits() == 1
        assert client.stderr.decode().splitlines()[-1].startswith("hookgate: rpc: hook gone is required but ")


def test_flags_are_read_in_both_spellings() -> None:
    above = parse_flags(["--model=m=1", "-e", "a", "--ext=b", "--append-system-prompt", "x", "--no-tools"]).above
    here = tuple(str(Path.cwd() / name) for name in ("a", "b"))
    assert (above["model"], above["extensions"], above["system_more"]) == ("m=1", here, ("x",))
    assert above["no_tools"] is True
    assert parse_flags(["--tools", "read, ls,"]).tools == ("read", "ls")
    with pytest.raises(BadFlags):
        parse_flags(["-x"])


def kept(folder: Path) -> list[Path]:
    return [*folder.rglob("mine.db")]


@pytest.mark.parametrize("command", [("--rpc",), ("rpc", "--rpc"), ("--no-session", "--rpc")])
async def test_flags_that_scripts_give_zot_are_taken(tmp_path: Path, command: tuple[str, ...]) -> None:
    flags = ("--no-session", "--no-skills", "--no-extensions", "--with-skill", "-c", "--experimental-oauth", "-r")
    folder = scripted(tmp_path, {"text": "Hello."})
    async with open_rpc(folder, *flags, "--session", "mine", command=(*preloaded(), *command)) as client:
        await client.send("prompt", message="go")
        assert one(await client.done(), "assistant_message")["content"][0]["text"] == "Hello."
        assert await client.ends() == 0
        (line,) = client.stderr.decode().splitlines()
        assert line.startswith("hookgate: rpc: --resume has no effect")
    assert kept(tmp_path) == []


async def test_to_continue_where_nothing_is_kept_is_to_begin(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path, {"text": "Hello."}), "-c") as client:
        await client.send("prompt", message="go")
        await client.done()
        assert await client.ends() == 0
        line = "hookgate: rpc: --continue: none is kept here yet; --session NAME keeps this one"
        assert client.stderr.decode().splitlines() == [line]


async def test_models_and_version_are_listed_without_a_key(tmp_path: Path) -> None:
    scripted(tmp_path)
    for command in (("--list-models",), ("rpc", "--list-models")):
        ended = await run(tmp_path, *command)
        head, *lines = ended.stdout.decode().splitlines()
        assert (ended.returncode, head.split()[:3]) == (0, ["provider", "model", "id"])
        rows = [line.split() for line in lines]
        assert ["p", "other", "1000", "0", "config"] in rows
        assert head == "provider   model id                       context  max-out  reasoning  source"
        assert {line.index(line.split()[-1]) for line in lines} == {73}
        assert any(row[:2] == ["anthropic", "claude-sonnet-4-5"] for row in rows)
    for command in (("-v",), ("rpc", "-v"), ("--rpc", "--version")):
        ended = await run(tmp_path, *command)
        assert (ended.returncode, ended.stdout.decode()) == (0, f"hookgate {__version__}\n")


async def test_a_long_name_makes_its_column_wider_for_all(tmp_path: Path) -> None:
    name, model = "a-provider-of-our-own", "somebody/a-model-with-quite-a-long-name"
    provider = f'[providers.{name}]\nkind = "openai"\nbase_url = "http://127.0.0.1:1/v1"\n'
    scripted(tmp_path, more=f'{provider}[models."{name}/{model}"]\ncontext_window = 7\n')
    head, *lines = (await run(tmp_path, "--list-models")).stdout.decode().splitlines()
    assert [line for line in lines if line.startswith(f"{name} {model}        7 ")]
    assert len({line.index(line.split()[-1]) for line in lines}) == 1
    assert head.startswith(f"{'provider':<{len(name)}} {'model id':<{len(model)}} context")


async def test_a_chat_takes_zots_names_of_its_flags(tmp_path: Path) -> None:
    flags = ("--no-skills", "--no-extensions", "--with-skill", "--no-session", "-c", "-nc")
    ended = await run(scripted(tmp_path, {"text": "Hello."}), "chat", *flags, "--once", "hi")
    assert (ended.returncode, ended.stdout.decode().strip()) == (0, "Hello.")


# --- as zot -------------------------------------------------------------------------------------------------


async def test_a_program_named_zot_is_found_on_path_and_serves_an_openai_model(tmp_path: Path) -> None:
    zot = tmp_path / "zot"
    zot.write_text(f"#!{sys.executable}\nfrom hookgate.__main__ import main\nmain()\n")
    zot.chmod(0o755)
    async with open_model_server(says("From ", "afar.")) as server:
        path = f"{tmp_path}:{os.environ['PATH']}"
        env = {"PATH": path, "PYTHONPATH": str(Path(__file__).parents[2])}
        flags = ("--provider", "openai", "--model", "m", "--base-url", server.base_url, "--api-key", "key")
        more = ("--system-prompt", "Be brief.", "--append-system-prompt", "Be kind.", "--no-tools")
        async with open_rpc(tmp_path, *flags, *more, command=("zot", "rpc"), env=env) as client:
            await client.send("prompt", message="hello")
            frames = await client.done()
            assert one(frames, "assistant_message")["content"][0]["text"] == "From afar."
        assert server.requests[0].headers["authorization"] == "Bearer key"
        body = server.requests[0].body
        assert body["messages"][0] == {"role": "system", "content": "Be brief.\n\nBe kind."}
        assert [tool["function"]["name"] for tool in body.get("tools", ())] == []
    ended = await trio.run_process([str(zot), "rpc", "--frobnicate"], check=False, capture_stderr=True, env=env)
    assert ended.stderr == b'zot: rpc: unknown flag "--frobnicate"\nzot rpc --help lists the flags\n'

"""`hookgate chat` with extensions, between pipes: which are loaded, their tools, their commands, what they show."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hookgate.extensions.trust import Trust, digest
from tests.cli.program import PROMPT, configured, none_left, open_pipes, open_terminal, run, unwarned
from tests.cli.zot.zot_folders import EXTENSION, command, do, extension, installed, panel_extension, project, tool
from tests.machine import with_and_without
from tests.model_server import Answer, calls, open_model_server, says

NOWHERE = "http://127.0.0.1:9/v1"
QUIET = '[log]\nlevel = "error"\n'
KNOWN = '[models."p/m"]\ncontext_window = 100000\n'


async def shown(folder: Path, *typed: str, flags: Sequence[str] = ()) -> str:
    """What a chat printed on stdout when these lines were typed, but for its walls; stderr must stay empty."""
    ended = await run(folder, "chat", *flags, stdin="\n".join(typed).encode())
    assert (ended.returncode, ended.stderr) == (0, b"")
    return unwarned(ended.stdout.decode())


def asks(tool_name: str, **arguments: Any) -> Answer:
    return calls(("1", tool_name, json.dumps(arguments)))


# --- tools --------------------------------------------------------------------------------------------------


async def test_the_model_uses_a_tool_of_an_extension(tmp_path: Path) -> None:
    extension(installed(tmp_path), "ext")
    async with open_model_server(
        asks("do", do="blocks", blocks=[{"type": "text", "text": "fog"}]), says("Fog.")
    ) as server:
        text = await shown(configured(tmp_path, server.base_url), "weather?", "/tools")
    assert "1 extension" in text
    assert "zot:ext" in text
    assert server.requests[1].body["messages"][-1]["content"] == "fog"
    await none_left(tmp_path)


async def test_an_extension_cannot_take_a_built_in_name_not_even_one_that_is_switched_off(tmp_path: Path) -> None:
    extension(installed(tmp_path), "ext", tool("bash"), tool("grep"), tool("mine"))
    folder = configured(tmp_path, NOWHERE, '[tools]\nenabled = ["grep"]\n[log]\nlevel = "error"\n')
    rows = [line.split()[:2] for line in (await shown(folder, "/tools")).splitlines() if line.startswith("  ")]
    assert ["grep", "builtin"] in rows
    assert ["mine", "zot:ext"] in rows
    assert not [name for name, _provider in rows if name == "bash"]


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
async def test_of_two_extensions_with_one_tool_the_first_in_load_order_counts(
    tmp_path: Path, order: tuple[str, str]
) -> None:
    flags = [word for name in order for word in ("-e", str(extension(tmp_path / "exts", name)))]
    text = await shown(configured(tmp_path, NOWHERE, QUIET), "/tools", flags=flags)
    assert f"zot:{order[0]}" in text
    assert f"zot:{order[1]}" not in text


# --- which are loaded ---------------------------------------------------------------------------------------


async def test_no_ext_loads_only_what_ext_names(tmp_path: Path) -> None:
    extension(installed(tmp_path), "found", command("found"))
    named = extension(tmp_path / "elsewhere", "named", command("named"))
    text = await shown(configured(tmp_path, NOWHERE), "/help", flags=["--no-ext", "--ext", str(named)])
    assert re.search(r"/named +the command named \(named\)", text)
    assert "/found" not in text


async def test_a_broken_extension_is_named_on_stderr_and_the_others_load(tmp_path: Path) -> None:
    extension(installed(tmp_path), "good", command("good"))
    broken = extension(installed(tmp_path), "broken", exec="")
    gone = extension(installed(tmp_path), "gone", mode="exit_at_start")
    config = configured(tmp_path, NOWHERE, QUIET)
    nowhere = tmp_path / "nowhere"
    ended = await run(config, "chat", "--ext", str(nowhere), stdin=b"/help\n/hooks\n")
    assert b"/good" in ended.stdout
    without = [
        f"extension load: {broken}: manifest: exec is required",
        f"extension load: {nowhere}: read manifest: {nowhere}/extension.json: No such file or directory",
    ]
    died = "extension exited before hello: exit status 3"
    assert sorted(ended.stderr.decode().splitlines()) == sorted(
        [*without, f"extension load: {gone}: {died}  (hookgate ext logs gone)"]
    )
    hooks = ended.stdout.decode().splitlines()
    assert [line for line in without if f"  {line}" not in hooks] == []
    assert ["zot:gone" in line for line in hooks if line.endswith(f"  {died}")] == [True]


@pytest.mark.parametrize(
    "section",
    [
        *("[zot]\nenabled = false\n", "[zot]\ndiscover = false\n", '[zot]\ntrust = "never"\n'),
        "[zot.extensions.ext]\nenabled = false\n",
    ],
)
async def test_configuration_keeps_extensions_out(tmp_path: Path, section: str) -> None:
    extension((project if "discover" in section or "trust" in section else installed)(tmp_path), "ext")
    text = await shown(configured(tmp_path, NOWHERE, section), "/tools")
    assert "zot:ext" not in text


async def test_ext_without_zot_is_a_mistake(tmp_path: Path) -> None:
    named = extension(tmp_path / "elsewhere", "named")
    folder = configured(tmp_path, NOWHERE, "[zot]\nenabled = false\n")
    ended = await run(folder, "chat", "--ext", str(named))
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr == b"hookgate: zot.enabled is false, so --ext loads nothing\n"


async def test_reload_starts_what_is_there_now_and_ext_is_remembered(tmp_path: Path) -> None:
    named = extension(tmp_path / "elsewhere", "named", command("named"))
    extension(installed(tmp_path), "old", command("old"), tool("dropped"))
    async with open_pipes(configured(tmp_path, NOWHERE), "chat", "--ext", str(named)) as screen:
        await screen.line("/help")
        await screen.sees("/named")
        await screen.sees("/old  ")
        (installed(tmp_path) / "old").rename(tmp_path / "away")
        extension(installed(tmp_path), "fresh", command("fresh"), tool("added"))
        await screen.line("/reload-ext")
        await screen.sees("· Extensions: named, fresh.")
        await screen.line("/help")
        await screen.sees("/fresh             the command fresh")
        await screen.line("/old")
        await screen.sees("There is no command /old")
        await screen.line("/tools")
        await screen.sees("zot:fresh")
        assert "dropped" not in screen.shown
        await screen.line("/quit")
        assert await screen.ends() == 0
    await none_left(tmp_path)


async def test_a_configured_extension_gets_its_environment_and_no_more(tmp_path: Path) -> None:
    extension(installed(tmp_path), "ext")
    section = '[zot.extensions.ext]\nenv = { GREETING = "hello" }\n'
    async with open_model_server(asks("do", do="where"), says("Done.")) as server:
        await shown(configured(tmp_path, server.base_url, section), "where?")
    where = json.loads(server.requests[1].body["messages"][-1]["content"])
    assert where["cwd"] == str(installed(tmp_path) / "ext")
    assert where["env"]["GREETING"] == "hello"
    assert where["env"]["ZOT_HOME"] == str(tmp_path / ".local" / "state" / "zot")
    assert "XDG_RUNTIME_DIR" not in where["env"]


# --- commands -----------------------------------------------------------------------------------------------


ACTIONS = [
    ("/do one  two", "[ext] Do one  two"),
    ("/DO", "[ext] Do"),
    (do(answer={"action": "display", "display": "a\nb"}), "[ext] a\n[ext] b"),
    (do(answer={"action": "insert", "insert": "half a sentence"}), "half a sentence"),
    (do(answer={"action": "noop"}), None),
    (do(answer={}), None),
    (do(answer={"action": "prompt", "prompt": "  "}), None),
    (do(answer={"action": "dance"}), "! extension /Do: unknown action dance"),
    (do(answer={"action": "display", "display": "no", "error": "usage"}), "! extension /Do: usage"),
    (do(exit=True), "! extension /Do: extension ext disconnected"),
]


@with_and_without("bwrap")
async def test_each_action_of_a_command(tmp_path: Path) -> None:
    extension(installed(tmp_path), "ext")
    folder = configured(tmp_path, NOWHERE, QUIET + KNOWN)
    text = await shown(folder, *(typed for typed, _ in ACTIONS))
    _, *said = text.split(PROMPT)
    answers = [(typed, answer.strip()) for typed, _, answer in (it.partition("\n") for it in said)]
    assert answers == [*((typed, expected or "") for typed, expected in ACTIONS), ("", "")]


async def test_a_prompt_of_a_command_is_the_users_message_and_a_display_reaches_no_model(tmp_path: Path) -> None:
    extension(installed(tmp_path), "ext")
    async with open_model_server(says("Hi Bob.")) as server:
        folder = configured(tmp_path, server.base_url)
        text = await shown(
            folder, do(answer={"display": "shown", "action": "display"}), do(answer=GREET), "/etc/hosts is?"
        )
    assert "Hi Bob." in text
    said = [[m["content"] for m in it.body["messages"] if m["role"] == "user"] for it in server.requests]
    assert said == [["/stop Bob"], ["/stop Bob", "/etc/hosts is?"]]


# What would be a command if a person had typed it.
GREET = {"action": "prompt", "prompt": "/stop Bob"}


async def test_notes_of_a_command_come_before_its_display(tmp_path: Path) -> None:
    extension(installed(tmp_path), "ext")
    note = {"type": "notify", "level": "info", "message": "the daemon stirs\nin its cage"}
    typed = do(frames=[note, {"type": "clear_notes"}], answer={"action": "display", "display": "a wisp"})
    text = await shown(configured(tmp_path, NOWHERE), typed)
    assert "[ext] the daemon stirs\n[ext] in its cage\n[ext] a wisp\n" in text


async def test_hookgates_own_commands_win_and_of_two_extensions_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "exts"
    flags = [
        "-e",
        str(extension(folder, "b", command("Both"))),
        "-e",
        str(extension(folder, "a", command("both"), command("help"))),
    ]
    ended = await run(configured(tmp_path, NOWHERE), "chat", *flags, stdin=b"/help\n/both\n")
    text = ended.stdout.decode()
    assert "this text" in text
    assert "[b] Both" in text
    assert "[a]" not in text
    assert b"extension_command_refused" in ended.stderr
    assert ended.stderr.count(b"command=help") == 1


async def test_a_command_that_another_has_is_a_sentence_on_the_screen(tmp_path: Path) -> None:
    flags = [
        word
        for name, *brought in (("b", command("both")), ("a", command("Both"), command("clear")))
        for word in ("-e", str(extension(tmp_path / "exts", name, *brought)))
    ]
    async with open_terminal(configured(tmp_path, NOWHERE), "chat", *flags) as screen:
        clear = "! a: /clear is hookgate's own, so its own command of that name is not there"
        await screen.sees(clear)
        await screen.line("/reload-ext")
        await screen.sees(clear)
        await screen.line("/quit")
        assert await screen.ends() == 0
    assert "! a: /both is that of b, which comes first, so its own command of that name is not there" in screen.shown
    assert "extension_command_refused" not in screen.shown


async def test_a_submitted_text_is_a_message_of_the_user(tmp_path: Path) -> None:
    extension(installed(tmp_path), "ext")
    frames = [{"type": "submit", "text": " look at this "}, {"type": "submit", "text": "  "}]
    async with open_model_server(says("I see.")) as server:
        text = await shown(configured(tmp_path, server.base_url), do(frames=frames, answer={"action": "noop"}))
    assert "[ext] look at this" in text
    assert "I see." in text
    assert [it.body["messages"][-1]["content"] for it in server.requests] == ["look at this"]


async def test_a_submitted_command_runs_as_if_it_were_typed(tmp_path: Path) -> None:
    extension(installed(tmp_path), "ext")
    frames = [{"type": "submit_slash", "text": "/DO it again"}]
    text = await shown(configured(tmp_path, NOWHERE), do(frames=frames, answer={"action": "noop"}))
    assert "[ext] /DO it again\n" in text
    assert "[ext] Do it again\n" in text


async def test_a_panel_between_pipes_is_text(tmp_path: Path) -> None:
    panel_extension(installed(tmp_path))
    text = await shown(configured(tmp_path, NOWHERE), "/rows", "/heard")
    assert "[panel] Rows\n[panel] * row 0\n[panel]   row 1" in text
    assert "[panel] closes with x\n" in text
    assert "[panel] last none" in text


async def test_once_runs_a_command_and_its_notes_go_to_stderr(tmp_path: Path) -> None:
    extension(installed(tmp_path), "ext")
    note = {"type": "notify", "level": "warn", "message": "careful"}
    folder = configured(tmp_path, NOWHERE)
    display = do(frames=[note], answer={"action": "display", "display": "\x1b[32mshown\x1b[2J"})
    ended = await run(folder, "chat", "--once", display)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"[ext] shown\n", b"[ext] careful\n")
    silent = await run(folder, "chat", "--once", do(answer={"action": "noop"}))
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, b"", b"")


# --- trust --------------------------------------------------------------------------------------------------


def agree(home: Path, directory: Path) -> None:
    Trust(home / ".local/state/hookgate/trusted").agree(directory, digest(directory))


@pytest.mark.parametrize("flags", [(), ("--once", "hello")])
async def test_where_nobody_can_be_asked_a_projects_extension_runs_only_once_it_is_trusted(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    directory = extension(project(tmp_path), "ext", command("brought"))
    (tmp_path / "script.json").write_text('{"steps": [{"text": "Hello."}]}')
    folder = configured(tmp_path, NOWHERE, '[providers.s]\nkind = "scripted"\nscript = "script.json"\n')
    file = folder / "hookgate.toml"
    file.write_text(file.read_text().replace('"p/m"', '"s/m"'))
    before = await run(folder, "chat", *flags, stdin=b"/help\n/hooks\n")
    line = f"extension ext ({directory}) is not trusted yet: run 'hookgate ext trust {directory}' to load it"
    assert (before.returncode, before.stderr.decode()) == (0, f"{line}\n")
    assert b"/brought" not in before.stdout
    assert flags or f"  {line}" in before.stdout.decode()
    assert not (tmp_path / ".local/state/zot/logs").exists()
    agree(folder, directory)
    after = await run(folder, "chat", *flags, stdin=b"/help\n")
    assert (after.returncode, after.stderr) == (0, b"")
    assert flags or b"/brought" in after.stdout
    assert (tmp_path / ".local/state/zot/logs/ext-ext.log").exists()


async def test_what_is_listed_or_called_without_a_chat_obeys_the_same_rule(tmp_path: Path) -> None:
    extension(project(tmp_path), "ext")
    folder = configured(tmp_path, NOWHERE)
    ended = await run(folder, "tools", "list")
    assert b"is not trusted yet: run 'hookgate ext trust " in ended.stderr
    assert b"zot:ext" not in ended.stdout


async def test_running_python_does_not_change_what_was_agreed_to(tmp_path: Path) -> None:
    directory = extension(project(tmp_path), "ext", exec="python3", args=["main.py"])
    shutil.copy(EXTENSION, directory / "sibling.py")
    (directory / "main.py").write_text("import sibling; sibling.main()")
    folder = configured(tmp_path, NOWHERE)
    agree(folder, directory)
    assert "1 extension" in await shown(folder)
    assert sorted(it.name for it in directory.iterdir()) == ["extension.json", "main.py", "sibling.py"]


# --- what looks like a command ------------------------------------------------------------------------------


async def test_what_looks_like_a_command_never_reaches_the_model(tmp_path: Path) -> None:
    unknown = ("/unknown", "/unknown with words", "/no-such_1", "/Frob", "/2x", "/Users", "/1 more")
    folder = configured(tmp_path, NOWHERE)
    text = await shown(folder, *unknown, "/TOOLS please", "/new one", "/HOOKS")
    assert [line.partition("· ")[2] for line in text.splitlines() if "·" in line] == [
        *(f"There is no command {it.split()[0]} here. /help lists what there is." for it in unknown),
        *("/TOOLS takes nothing behind it.", "/new takes nothing behind it."),
    ]
    once = await run(folder, "chat", "--once", "/unknown x")
    said = b"There is no command /unknown here. /help lists what there is.\n"
    assert (once.returncode, once.stdout, once.stderr) == (1, b"", said)


async def test_paths_and_doubled_slashes_reach_the_model(tmp_path: Path) -> None:
    typed = ["/etc/hosts is what?", "/etc/passwd", "//unknown x", "//stop", "// a comment", "/", "/Users/me"]
    async with open_model_server(*[says("Ok.")] * (len(typed) + 1)) as server:
        folder = configured(tmp_path, server.base_url)
        await shown(folder, *typed)
        ended = await run(folder, "chat", "--once", "//help")
    assert ended.stdout == b"Ok.\n"
    said = [it.body["messages"][-1]["content"] for it in server.requests]
    plain = ["/etc/hosts is what?", "/etc/passwd", "/unknown x", "/stop", "// a comment", "/", "/Users/me"]
    assert said == [*plain, "/help"]

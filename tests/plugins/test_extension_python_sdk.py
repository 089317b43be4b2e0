"""The Python SDK for extensions over its wire: each test starts a real process and reads what it writes."""

from __future__ import annotations

import ast
import base64
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import trio

from hookgate.protocol.zot.reading import read_frame
from tests.examples.zot_host import Host, open_host, open_ready, texts

SDK = Path(__file__).parents[2] / "plugins" / "python" / "hookgate_extension.py"
Opened = AbstractAsyncContextManager[Host]
OpenExtension = Callable[..., Opened]


@pytest.fixture
def open_ext(tmp_path: Path) -> OpenExtension:
    """A process whose extension has the handlers given as source text; `opened=open_host`: nothing is said yet."""

    def opened(handlers: str, opened: OpenExtension = open_ready, run: str = "ext.run()") -> Opened:
        source = f"from hookgate_extension import *\next = Extension('t')\n{dedent(handlers)}\n{run}\n"
        (tmp_path / "ext.py").write_text(source)
        env = {"PYTHONPATH": str(SDK.parent), "PYTHONUNBUFFERED": ""}
        return opened([sys.executable, "ext.py"], tmp_path, env)

    return opened


def types(frames: list[dict[str, Any]]) -> list[str]:
    return [frame["type"] for frame in frames]


# --- the start ------------------------------------------------------------------------------------------------


def test_the_sdk_is_python_3_9_and_standard_library_only() -> None:
    tree = ast.parse(SDK.read_text(), feature_version=(3, 9))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {(node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name for node in nodes}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


async def test_it_registers_what_has_handlers_without_waiting_for_the_host(open_ext: OpenExtension) -> None:
    handlers = """
        @ext.command("note", "append a note")
        def note(args): ...
        @ext.tool("Adds.")
        def add(a: int, b: float = 0.5): return str(a + b)
        @ext.on("turn_start", "turn_end")
        def on(event): ...
        @ext.intercept("tool_call", tools=["bash"])
        def look(event): ...
        """
    properties = {"a": {"type": "integer"}, "b": {"type": "number"}}
    schema = {"type": "object", "properties": properties, "required": ["a"], "additionalProperties": False}
    capabilities = ["commands", "tools", "events", "tool_cancel"]
    async with open_ext(handlers, open_host) as host:
        await host.until("ready")
        frames = host.frames
    assert frames == [
        {"type": "hello", "name": "t", "version": "1.0.0", "capabilities": capabilities},
        {"type": "register_command", "name": "note", "description": "append a note"},
        {"type": "register_tool", "name": "add", "description": "Adds.", "schema": schema},
        {"type": "subscribe", "events": ["turn_start", "turn_end"], "intercept": ["tool_call"]},
    ]
    assert [read_frame(frame).type for frame in frames] == types(frames)


async def test_with_a_start_handler_it_registers_once_it_knows_the_host(open_ext: OpenExtension) -> None:
    handlers = """
        @ext.start
        def begin(host):
            @ext.command(f"ask-{host.model}")
            def ask(args): return f"{host.provider} {ext.project_dir} {ext.data_dir}"
        """
    async with open_ext(handlers) as host:
        assert types(host.frames) == ["hello", "register_command"]
        assert (await host.command("ask-gpt"))["display"] == f"openai /project {host.folder}"


async def test_what_is_registered_later_is_told_at_once(open_ext: OpenExtension) -> None:
    handlers = """
        @ext.command("more")
        def more(args):
            ext.command("late")(lambda args: "here")
            ext.on("turn_end")(print)
        """
    async with open_ext(handlers) as host:
        assert await host.command("more") == {"action": "noop"}
        assert types(host.frames)[-2:] == ["register_command", "subscribe"]
        assert (await host.command("late"))["display"] == "here"


# --- commands -------------------------------------------------------------------------------------------------

ANSWERS = [
    ("None", {"action": "noop"}),
    ("'text'", {"action": "display", "display": "text"}),
    ("ext.prompt('p')", {"action": "prompt", "prompt": "p"}),
    ("ext.insert('i')", {"action": "insert", "insert": "i"}),
    ("ext.error('no')", {"action": "noop", "error": "no"}),
    ("{'action': 'later'}", {"action": "later"}),
    ("1/0", {"action": "noop", "error": "ZeroDivisionError: division by zero"}),
    ("7", {"action": "noop", "error": "TypeError: <lambda> returned 7, which is no answer"}),
    (
        "Panel('p', 'T', ['a'], 'f')",
        {"action": "open_panel", "open_panel": {"id": "p", "title": "T", "lines": ["a"], "footer": "f"}},
    ),
]


@pytest.mark.parametrize(("source", "answer"), ANSWERS)
async def test_a_command_answers_what_its_function_returns(
    open_ext: OpenExtension, source: str, answer: dict[str, Any]
) -> None:
    async with open_ext(f"ext.command('do')(lambda args: {source})") as host:
        assert await host.command("do", "x") == answer


async def test_a_command_that_is_not_registered_is_an_error_and_not_a_silence(open_ext: OpenExtension) -> None:
    async with open_ext("ext.command('do')(str)") as host:
        assert (await host.command("other"))["error"] == "no command /other here"
        assert (await host.tool("other"))["is_error"] is True


# --- tools ----------------------------------------------------------------------------------------------------

RESULTS = [
    ("'16°C'", ["16°C"], None),
    ("{'a': [1]}", ['{"a": [1]}'], None),
    ("['a', 1]", ['["a", 1]'], None),
    ("None", [], None),
    ("ext.fail('city is required')", ["city is required"], True),
    ("open('/nowhere')", ["FileNotFoundError: [Errno 2] No such file or directory: '/nowhere'"], True),
    ("{1, 2}", ["TypeError: Object of type set is not JSON serializable"], True),
]


@pytest.mark.parametrize(("source", "content", "is_error"), RESULTS)
async def test_a_tool_answers_with_blocks(
    open_ext: OpenExtension, source: str, content: list[str], is_error: bool | None
) -> None:
    async with open_ext(f"ext.tool('', name='do')(lambda: {source})") as host:
        result = await host.tool("do")
    assert (texts(result), result.get("is_error")) == (content, is_error)


async def test_a_tool_may_answer_with_a_picture_among_texts(open_ext: OpenExtension) -> None:
    async with open_ext("ext.tool('', name='draw')(lambda: ['a cat', ext.image(b'png')])") as host:
        result = await host.tool("draw")
    picture = {"type": "image", "mime_type": "image/png", "data": base64.b64encode(b"png").decode()}
    assert result["content"] == [{"type": "text", "text": "a cat"}, picture]


async def test_wrong_arguments_are_told_to_the_model_and_the_call_is_at_hand(open_ext: OpenExtension) -> None:
    handlers = """
        @ext.tool("")
        def add(a: int, call, b: int = 2): return f"{call.name} {call.args} {a + b}"
        """
    async with open_ext(handlers) as host:
        schema = next(frame for frame in host.frames if frame["type"] == "register_tool")["schema"]
        assert list(schema["properties"]) == ["a", "b"]
        assert texts(await host.tool("add", a=1)) == ["add {'a': 1} 3"]
        wrong = await host.tool("add", c=1)
    assert wrong["is_error"]
    assert texts(wrong) == ["add: missing a required argument: 'a'"]


async def test_an_argument_may_be_of_several_types_or_of_any(open_ext: OpenExtension) -> None:
    handlers = """
        from typing import Any, Union
        @ext.tool("")
        def look(at: Union[int, str, None] = None, more: Any = None): return ""
        """
    async with open_ext(handlers) as host:
        schema = next(frame for frame in host.frames if frame["type"] == "register_tool")["schema"]
    assert schema["properties"] == {"at": {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "more": {}}


async def test_a_result_that_would_make_the_host_deaf_is_an_error(open_ext: OpenExtension) -> None:
    async with open_ext("ext.tool('', {}, 'big')(lambda n: 'x' * n)") as host:
        assert len(texts(await host.tool("big", n=4_000_000))[0]) == 4_000_000
        result = await host.tool("big", n=5_000_000)
    assert result["is_error"]
    assert "is over the limit of 4194304" in texts(result)[0]


async def test_arguments_of_megabytes_arrive_whole(open_ext: OpenExtension) -> None:
    async with open_ext("ext.tool('', {}, 'size')(lambda text: str(len(text)))") as host:
        assert texts(await host.tool("size", text="é" * 3_000_000)) == ["3000000"]


async def test_calls_run_side_by_side(open_ext: OpenExtension) -> None:
    handlers = """
        import threading
        all_here = threading.Barrier(20)
        @ext.tool("")
        def meet(n: int): return str(n + all_here.wait(10) * 0)
        """
    async with open_ext(handlers) as host:
        await host.send(*({"type": "tool_call", "id": f"c{n}", "name": "meet", "args": {"n": n}} for n in range(20)))
        results = [texts(await host.until("tool_result", f"c{n}")) for n in range(20)]
    assert results == [[str(n)] for n in range(20)]


async def test_a_cancelled_call_ends_and_says_how_far_it_had_come_if_it_returns(open_ext: OpenExtension) -> None:
    handlers = """
        import asyncio
        @ext.tool("")
        def wait(call):
            ext.notify("waits")
            call.cancelled.wait(20)
            ext.notify("waited")
            return "half"
        @ext.tool("")
        async def sleep():
            ext.notify("sleeps")
            try:
                await asyncio.sleep(20)
            finally:
                ext.notify("woken")
        """
    async with open_ext(handlers) as host:
        for name in ("wait", "sleep"):
            await host.send({"type": "tool_call", "id": name, "name": name, "args": {}})
            await host.until("notify")
            await host.send({"type": "tool_cancel", "id": name})
            assert (await host.until("notify"))["message"] in ("waited", "woken")
        assert await host.shutdown() == 0
        results = [frame for frame in host.frames if frame["type"] == "tool_result"]
        assert results == [{"type": "tool_result", "id": "wait", "content": [{"type": "text", "text": "half"}]}]


# --- interceptions and events ---------------------------------------------------------------------------------

VERDICTS = [
    ("None", {}),
    ("ext.block('no rm')", {"block": True, "reason": "no rm"}),
    ("ext.modify({'command': 'ls'})", {"modified_args": {"command": "ls"}}),
    ("1/0", {"block": True, "reason": "intercept panic: ZeroDivisionError: division by zero"}),
    ("'x'", {"block": True, "reason": "intercept panic: TypeError: <lambda> returned 'x', which is no answer"}),
]


@pytest.mark.parametrize(("source", "verdict"), VERDICTS)
async def test_an_interceptor_answers_and_one_that_fails_blocks(
    open_ext: OpenExtension, source: str, verdict: dict[str, Any]
) -> None:
    async with open_ext(f"ext.intercept('tool_call')(lambda event: {source})") as host:
        assert await host.bash("rm -rf /") == verdict


@pytest.mark.parametrize("leaves", ["exit(3)", "thrown(KeyboardInterrupt())"])
async def test_a_coroutine_that_leaves_ends_no_other_handler(open_ext: OpenExtension, leaves: str) -> None:
    """An interceptor that gives no answer in time lets the call pass."""
    handlers = f"""
        def thrown(error): raise error
        @ext.intercept("tool_call")
        async def judge(event):
            if "rm" in event.tool_args["command"]: {leaves}
            return ext.block("no")
        """
    async with open_ext(handlers) as host:
        for _ in range(2):
            assert (await host.bash("rm -rf /"))["reason"].startswith("intercept panic: RuntimeError: ")
        assert await host.bash("ls") == {"block": True, "reason": "no"}


async def test_interceptors_see_what_those_before_them_changed_and_a_block_ends_it(open_ext: OpenExtension) -> None:
    handlers = """
        @ext.intercept("tool_call")
        def first(event): return ext.modify({"command": event.tool_args["command"] + "1"})
        @ext.intercept("tool_call", tools="other")
        def not_asked(event): return ext.block("other")
        @ext.intercept("tool_call", tools=["ba*"])
        def second(event):
            if event.tool_args["command"] == "stop1": return ext.block(event.tool_args["command"])
            return ext.modify({"command": event.tool_args["command"] + "2"})
        @ext.intercept("assistant_message")
        def masked(event): return ext.replace(event.text.replace("secret", "***"))
        @ext.intercept("turn_start")
        def third_step(event): return ext.block("enough") if event.step > 2 else None
        @ext.intercept("before_agent_start")
        def prompt(event): return ext.system_prompt(event.system_prompt + event.raw["cwd"])
        """
    async with open_ext(handlers) as host:
        assert await host.bash("ls") == {"modified_args": {"command": "ls12"}}
        assert await host.bash("stop") == {"block": True, "reason": "stop1"}
        assert await host.intercept("assistant_message", text="a secret") == {"replace_text": "a ***"}
        assert await host.intercept("turn_start", step=3) == {"block": True, "reason": "enough"}
        assert await host.intercept("turn_start", step=2) == {}
        said = await host.intercept("before_agent_start", system_prompt="be kind in ", cwd="/p")
        assert said == {"system_prompt": "be kind in /p"}


async def test_events_come_in_order_and_one_that_fails_ends_nothing(open_ext: OpenExtension) -> None:
    handlers = """
        seen = []
        @ext.on("turn_start")
        def on(event):
            seen.append(event.step)
            if event.step == 5: raise ValueError("five")
        @ext.on("turn_end")
        def end(event): ext.notify(f"{len(seen)} {seen == sorted(seen)} {event.stop}", "success")
        """
    async with open_ext(handlers) as host:
        for step in range(1, 101):
            await host.event("turn_start", step=step, session_id="s", sequence=step)
        await host.event("turn_end", stop="end")
        assert await host.until("notify") == {"type": "notify", "level": "success", "message": "100 True end"}
        await host.child.wait_stderr("ValueError: five")


# --- panels and what it says by itself -------------------------------------------------------------------------


async def test_a_panel_is_opened_drawn_and_closed(open_ext: OpenExtension) -> None:
    handlers = """
        @ext.command("open")
        def opened(args): return Panel("p", "Title", ["one"])
        @ext.key("p")
        def press(key):
            if key.text == "q": return ext.close_panel("p")
            return Panel("p", lines=[f"{key.key} {key.text}"])
        @ext.closed("p")
        def closed(): ext.submit("it was closed")
        """
    async with open_ext(handlers) as host:
        assert host.frames[0]["capabilities"] == ["commands", "panels"]
        await host.command("open")
        drawn = {"type": "panel_render", "panel_id": "p", "title": "", "lines": ["rune ä"], "footer": ""}
        assert await host.key("p", "rune", "ä") == drawn
        await host.send({"type": "panel_key", "panel_id": "p", "key": "rune", "text": "q"})
        assert await host.until("panel_close") == {"type": "panel_close", "panel_id": "p"}
        await host.send({"type": "panel_close", "panel_id": "p"})
        assert await host.until("submit") == {"type": "submit", "text": "it was closed"}


async def test_keys_are_dealt_with_in_the_order_in_which_they_were_pressed(open_ext: OpenExtension) -> None:
    handlers = """
        typed = []
        @ext.key("p")
        def press(key):
            typed.append(key.text)
            if key.key == "enter": return Panel("p", "".join(typed))
        """
    async with open_ext(handlers) as host:
        text = "one after the other" * 20
        await host.send(*({"type": "panel_key", "panel_id": "p", "key": "rune", "text": it} for it in text))
        assert (await host.key("p", "enter"))["title"] == text


async def test_notes_and_panels_can_come_unasked(open_ext: OpenExtension) -> None:
    handlers = """
        @ext.on("session_start")
        def begin(event):
            ext.notify("careful", level="warn")
            ext.clear_notes()
            ext.open_panel(Panel("p", "T"))
        """
    async with open_ext(handlers) as host:
        await host.event("session_start")
        shown = await host.until("open_panel")
        assert types(host.frames)[-2:] == ["notify", "clear_notes"]
    assert shown["panel"] == {"id": "p", "title": "T", "lines": [], "footer": ""}


# --- noise and the end ----------------------------------------------------------------------------------------


async def test_nothing_that_an_extension_prints_reaches_the_wire(open_ext: OpenExtension) -> None:
    handlers = """
        import os, subprocess
        print("early", end="")
        @ext.command("do")
        def do(args):
            print("printed")
            os.write(1, b"written\\n")
            subprocess.run("echo from the child; cat", shell=True)
            return "done"
        """
    async with open_ext(handlers) as host:
        assert (await host.command("do"))["display"] == "done"
        for text in ("early", "printed", "written", "from the child"):
            await host.child.wait_stderr(text)
        assert await host.shutdown() == 0


async def test_noise_from_the_host_is_skipped(open_ext: OpenExtension) -> None:
    async with open_ext("ext.command('do')(lambda args: args)") as host:
        await host.child.send_raw(b'garbage\n[]\n\n{"type":"later"}\n{"type":7}\n{"broken":\n')
        assert (await host.command("do", "x"))["display"] == "x"
        await host.child.wait_stderr("garbage")


async def test_a_running_call_is_answered_after_shutdown(open_ext: OpenExtension) -> None:
    handlers = """
        import threading
        going = threading.Event()
        @ext.tool("")
        def slow():
            ext.notify("started")
            going.wait(20)
            return "finished"
        @ext.on("turn_end")
        def go(event): going.set()
        """
    async with open_ext(handlers) as host:
        await host.send({"type": "tool_call", "id": "c", "name": "slow", "args": {}})
        await host.until("notify")
        await host.send({"type": "shutdown"}, {"type": "event", "event": "turn_end"})
        await host.until("shutdown_ack")
        assert texts(await host.until("tool_result")) == ["finished"]
        assert await host.child.wait_exit() == 0


@pytest.mark.parametrize("end", ["shutdown", "eof", "sigterm"])
async def test_a_handler_that_never_ends_does_not_keep_the_process(open_ext: OpenExtension, end: str) -> None:
    handlers = """
        import time
        @ext.tool("")
        def hang():
            ext.notify("hangs")
            time.sleep(1000)
        """
    async with open_ext(handlers) as host:
        await host.send({"type": "tool_call", "id": "c", "name": "hang", "args": {}})
        await host.until("notify")
        match end:
            case "shutdown":
                await host.send({"type": "shutdown"})
            case "eof":
                await host.child.close_stdin()
            case _:
                host.child.process.send_signal(signal.SIGTERM)
        assert await host.child.wait_exit(6) == 0


async def test_it_ends_at_once_when_idle(open_ext: OpenExtension) -> None:
    handlers = """
        import atexit, sys
        atexit.register(print, "all of it ran", file=sys.stderr)
        """
    async with open_ext(handlers) as host:
        assert await host.shutdown() == 0
        # One that has to be cut short leaves nothing time to say so.
        await host.child.wait_stderr("all of it ran")


@pytest.mark.parametrize(
    "mistake",
    ["ext.intercept('turn_end')", "ext.tool(print)", "ext.command(print)", "ext.on(print)", "ext.notify('')"],
)
async def test_a_mistake_in_a_decorator_is_told_at_the_start(open_ext: OpenExtension, mistake: str) -> None:
    async with open_ext(mistake, open_host) as host:
        assert await host.child.wait_exit() == 1


# --- a hook and an extension in one program -------------------------------------------------------------------

BOTH = """
    import hookgate_plugin
    plugin = hookgate_plugin.Plugin("t")
    plugin.before_tool(lambda call: plugin.deny("hook says no"))
    ext.intercept("tool_call")(lambda event: ext.block("extension says no"))
    """


async def test_a_host_that_speaks_first_gets_a_hook(open_ext: OpenExtension) -> None:
    async with open_ext(BOTH, open_host, "serve(plugin, ext)") as host:
        assert (await host.child.call("hook.hello", {}))["ok"] is True
        assert (await host.child.call("hook.before_tool", {"tool": "bash"}))["reason"] == "hook says no"


async def test_a_host_that_waits_gets_an_extension(open_ext: OpenExtension) -> None:
    async with open_ext(BOTH, open_ready, "serve(plugin, ext)") as host:
        assert (await host.bash("ls"))["reason"] == "extension says no"


async def test_an_argument_decides_before_anybody_speaks(open_ext: OpenExtension, tmp_path: Path) -> None:
    async with open_ext(BOTH, open_host, "import sys; sys.argv.append('--extension'); serve(plugin, ext)") as host:
        await host.send({"type": "hello_ack"})
        assert (await host.until("hello"))["name"] == "t"
    late = "import sys, time; sys.argv.append('--hook'); serve(plugin, ext)"
    async with open_ext(BOTH, open_host, late) as host:
        with trio.move_on_after(1):
            line = await host.child.read_line()
            raise AssertionError(f"a hook spoke first: {line!r}")
        assert (await host.child.call("hook.hello", {}))["ok"] is True

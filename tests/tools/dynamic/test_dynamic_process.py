"""What a body can do to itself, to its process and to what is outside; each case in a real process."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from hookgate.tools.dynamic.cell.tail import KEPT_BYTES
from hookgate.tools.dynamic.made import MAX_RESULT_BYTES
from tests.processes import until
from tests.tools.dynamic.processes import running_programs
from tests.tools.dynamic.shops import open_shop


@pytest.mark.parametrize(
    ("body", "more", "text", "data"),
    [
        ("return 'hi ' + args['who']", {"args": [{"name": "who", "default": "all"}]}, "hi all", None),
        ("return 42", {}, "42", None),
        ("return None", {}, "(no output)", None),
        ("x = 1", {}, "(no output)", None),
        ("return {'a': [1, 'é']}", {"returns": "json"}, '{"a": [1, "é"]}', {"a": [1, "é"]}),
        ("return [1]", {"returns": "json"}, '{"result": [1]}', {"result": [1]}),
        ("import asyncio\nawait asyncio.sleep(0)\nreturn 'late'", {}, "late", None),
        ("return '\\ud800x'", {}, "\ufffdx", None),
        ("return input()", {}, "ERROR (unknown)", None),
    ],
)
async def test_what_a_body_returns_is_the_result(
    tmp_path: Path, body: str, more: dict[str, object], text: str, data: object
) -> None:
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", body, **more)
        result = await shop.call("probe")
        assert result.for_llm.startswith(text)
        assert result.data == data


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("x = 1\nraise ValueError('bad')", "ValueError: bad\nline 2 of the body: raise ValueError('bad')"),
        ("import sys\nsys.exit(3)", "SystemExit: 3\nline 2 of the body"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("def f(): return f()\nreturn f()", "RecursionError: maximum recursion depth exceeded"),
        ("return bytearray(2 << 30)", "MemoryError"),
        ("import json\njson.loads('{')", "JSONDecodeError"),
        ("raise ExceptionGroup('g', [ValueError('inner')])", "ValueError: inner"),
        ("class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd", "Odd"),
        (f"return 'x' * {MAX_RESULT_BYTES + 1}", f"it returned {MAX_RESULT_BYTES + 1} bytes, more than"),
        ("print('to debug')\nraise ValueError('bad')", "Its stderr ends:\nto debug"),
        ("import nowhere_to_be_found", "ModuleNotFoundError"),
        ("import trio", "ModuleNotFoundError"),
    ],
)
async def test_a_body_that_fails_is_an_error_with_the_place_and_its_process_goes_on(
    tmp_path: Path, body: str, said: str
) -> None:
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", body)
        for _ in range(2):
            result = await shop.call("probe")
            assert result.error is not None
            assert result.error.kind == "unknown"
            assert said in result.for_llm


@pytest.mark.parametrize(
    "value", ["{1}", "float('nan')", "float('inf')", "{(1, 2): 3}", "object()", "b'x'", "(lambda: 1)"]
)
async def test_what_is_not_json_is_a_clear_failure(tmp_path: Path, value: str) -> None:
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", f"return {value}", returns="json")
        result = await shop.call("probe")
        assert result.is_error
        assert "it returned something that is not JSON" in result.for_llm


@pytest.mark.parametrize(
    "noise",
    [
        'print(\'{"jsonrpc": "2.0", "id": 2, "result": {}}\')',
        "import sys\nsys.stdout.write('x' * 100_000 + '\\n')\nsys.stdout.close()\nsys.stderr.close()",
        "import os\nos.write(1, b'raw\\n')\nos.close(1)",
        "import subprocess\nsubprocess.run(['/bin/echo', 'from a child'], check=True)",
        "import os\nos.system('echo shell; echo more >&2')",
    ],
)
async def test_what_a_body_prints_never_reaches_the_protocol(tmp_path: Path, noise: str) -> None:
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", f"{noise}\nreturn 'fine'")
        assert [(await shop.call("probe")).for_llm for _ in range(2)] == ["fine", "fine"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import os, sys\nprint('last words')\nos._exit(3)", "it exited with status 3\nIts stderr ends:\nlast words"),
        ("import os\nos.kill(os.getpid(), 9)", "its program ended"),
        ("import os\nos.closerange(3, 100)", "its program ended"),
        ("import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass", "its program ended"),
    ],
)
async def test_a_program_that_dies_says_so_at_once_and_the_next_call_has_a_new_one(
    tmp_path: Path, body: str, said: str
) -> None:
    async with open_shop(tmp_path) as shop:
        indented = body.replace("\n", "\n    ")
        await shop.made("probe", f"if args.get('die'):\n    {indented}\nreturn 'alive'", args={})
        for _ in range(2):
            died = await shop.call("probe", die=True)
            assert died.is_error
            assert said in died.for_llm
            assert (await shop.call("probe")).for_llm == "alive"


async def test_a_body_that_hangs_is_stopped_and_the_next_call_has_a_new_process(tmp_path: Path) -> None:
    async with open_shop(tmp_path, call_timeout_s=1.0) as shop:
        await shop.made("probe", "while args.get('hang'): pass\nreturn 'alive'", args={})
        hung = await shop.call("probe", hang=True)
        assert hung.error is not None
        assert hung.error.kind == "transient"
        assert "no answer within 1000 ms; its process was stopped" in hung.for_llm
        assert (await shop.call("probe")).for_llm == "alive"
    await until(lambda: not running_programs())


async def test_a_fork_answers_once(tmp_path: Path) -> None:
    body = "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nreturn 'parent' if pid else 'child'"
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", body)
        assert [(await shop.call("probe")).for_llm for _ in range(3)] == ["parent"] * 3


@pytest.mark.parametrize("mode", ["auto", "off"])
async def test_nothing_that_a_body_starts_outlives_its_tool(tmp_path: Path, mode: str) -> None:
    body = "import os, time\nif os.fork() == 0:\n    while True: time.sleep(0.05)\nreturn 'started'"
    async with open_shop(tmp_path, mode=mode) as shop:
        await shop.made("probe", body)
        assert (await shop.call("probe")).for_llm == "started"
        assert running_programs() != []
    await until(lambda: not running_programs())


async def test_a_call_that_is_cut_short_takes_its_process_along(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", "while args.get('hang'): pass\nreturn str(len(args))", args={})
        with trio.move_on_after(0.3):
            await shop.call("probe", hang=True)
        assert (await shop.call("probe")).for_llm == "0"


async def test_calls_wait_in_line_and_each_gets_its_own_answer(tmp_path: Path) -> None:
    answers: dict[int, str] = {}
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", "return str(args['n'])", args=[{"name": "n", "type": "integer"}])

        async def ask(number: int) -> None:
            answers[number] = (await shop.call("probe", n=number)).for_llm

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(ask, number)
    assert answers == {number: str(number) for number in range(20)}


async def test_a_flood_of_stderr_blocks_nobody_and_little_of_it_is_kept(tmp_path: Path) -> None:
    body = "import sys\nfor _ in range(200): sys.stderr.write('y' * 65536)\nprint('the end')\nraise ValueError('bad')"
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", body)
        result = await shop.call("probe")
        assert "the end" in result.for_llm
        assert len(result.for_llm) < KEPT_BYTES + 1000


async def test_an_answer_beyond_the_cap_is_refused_even_if_the_program_lets_it_pass(tmp_path: Path) -> None:
    body = f"globals()['MAX_BYTES'] = 1 << 30\nreturn 'x' * {MAX_RESULT_BYTES * 2}"
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", body)
        result = await shop.call("probe")
        assert result.error is not None
        assert result.error.kind == "budget"


async def test_a_program_says_text_and_data_and_nothing_that_is_not_its_to_say(tmp_path: Path) -> None:
    """It writes its own answer: the user's part, media and effects do not count."""
    body = (
        "def outcome(_args):\n"
        "    return {'for_llm': 'x', 'for_user': 'psst', 'response_handled': True, 'media': ['http://evil/'],\n"
        "            'effects': [{'kind': 'file', 'op': 'delete', 'path': 'all'}]}\n"
        "globals()['outcome'] = outcome\n"
        "return 'first'"
    )
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", body)
        await shop.call("probe")
        result = await shop.call("probe")
        assert (result.for_llm, result.for_user, result.response_handled) == ("x", "", False)
        assert (result.media, result.effects) == ((), ())

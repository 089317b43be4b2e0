"""Skills in a running hookgate: where they are looked for, when the tool is there, what changes while it runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import trio

from hookgate import config as configuration
from hookgate.assembly.keeping.kept import Keeping, told_files
from hookgate.assembly.tools.opening import selection
from hookgate.assembly.tools.skills import Joined, load_skills
from hookgate.embedding.above import settled
from hookgate.rpc.flags import parse_flags
from hookgate.tools.registry import Registry
from tests.cli.program import DEADLINE_S, configured, environment, open_pipes, run
from tests.cli.rpc_client import Client, Frame, one, open_rpc, scripted
from tests.flow.tools.tooling import open_rig
from tests.loop.recording import FunctionTool
from tests.model_server import calls, open_model_server, says

ASKS: Frame = {"calls": [{"name": "skill", "arguments": {"name": "deploy"}, "id": "c1"}]}
ENABLED = "[skills]\nenabled = true\n"
WANTED = calls(("1", "skill", '{"name": "deploy"}'))
DEPLOY = "# Skill: deploy\n\nHow.\n\n---\n\n"


def written(folder: Path, name: str, body: str, description: str = "How.") -> Path:
    """A SKILL.md in a folder of its own."""
    file = folder / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n")
    return file


def usual_places(folder: Path) -> list[Path]:
    """In the order in which they count, for a program whose home and working directory is `folder`."""
    return [
        folder / ".hookgate" / "skills",
        folder / ".zot" / "skills",
        folder / ".local" / "share" / "hookgate" / "skills",
        folder / ".local" / "state" / "zot" / "skills",
    ]


async def asked(client: Client) -> Frame:
    await client.send("prompt", message="go")
    return one(await client.done(), "tool_result")


def text(result: Frame) -> str:
    return result["content"][0]["text"]


# --- which ones ---------------------------------------------------------------------------------------------


async def test_every_place_counts_in_its_order_and_broken_ones_are_a_line_each(tmp_path: Path) -> None:
    more, extension = tmp_path / "more", tmp_path / "ext"
    places = [more, *usual_places(tmp_path), extension / "parts"]
    for number, place in enumerate(places):
        written(place, "deploy", f"From {number}.")
        written(place, f"own-{number}", "B", f"Number {number}.")
    (places[2] / "own-2" / "SKILL.md").write_text("no head")
    # It has no program, so it must not be started either.
    members = {"name": "x", "skills": ["parts", "../more", 7, "gone"]}
    (extension / "extension.json").write_text(json.dumps(members))
    folder = scripted(tmp_path, ASKS, {"text": "x"}, more='[skills]\nfolders = ["more"]\n')
    async with open_rpc(folder, "--ext", str(extension)) as client:
        assert text(await asked(client)) == f"{DEPLOY}From 0."
        assert await client.ends() == 0
    lines = [line for line in client.stderr.decode().splitlines() if line.startswith("skill load: ")]
    assert lines == [
        f"skill load: {more.parent}/ext/../more: it leads out of {extension}",
        f"skill load: {extension}/gone: there is no such folder",
        f"skill load: {places[2]}/own-2: it does not begin with a line of three dashes",
    ]
    shown = (await run(folder, "tools", "show", "skill")).stdout.decode()
    assert [f"own-{number}: Number {number}." in shown for number in range(6)] == [
        True,
        True,
        False,
        True,
        True,
        False,
    ]
    assert "flags: read-only,reserved" in shown


async def test_a_project_can_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    written(usual_places(tmp_path)[0], "deploy", "Theirs.")
    written(tmp_path / "data" / "hookgate" / "skills", "deploy", "Mine.")
    async with open_rig(tmp_path, [WANTED, says("x")], f"{ENABLED}project = false\n") as rig:
        await rig.say("go")
        assert rig.results() == [f"{DEPLOY}Mine."]


def test_folders_of_a_file_count_from_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[skills]\nfolders = ["a", "/b"]\n')
    config, _file = configuration.load(tmp_path / "c.toml")
    assert config.skills.folders == (str(tmp_path / "a"), "/b")


# --- when the tool is there ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "more", "there"),
    [
        ((), "", True),
        (("--no-skill",), "", False),
        (("--no-skill",), ENABLED, False),
        ((), "[skills]\nenabled = false\n", False),
        (("--no-tools",), "", False),
        (("--tools", "read"), "", False),
        (("--tools", "skill"), "", True),
        (("--no-tools", "--with-skills"), "", True),
        (("--tools", "read", "--with-skills"), "", True),
        ((), '[tools]\nenabled = ["!skill"]\n', False),
    ],
)
async def test_flags_and_configuration_decide_whether_it_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: Sequence[str], more: str, there: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    written(usual_places(tmp_path)[0], "deploy", "Do it.")
    opening = settled(scripted(tmp_path, more=more) / "hookgate.toml", **parse_flags(flags).above)
    registry = Registry()
    await load_skills(opening.config, opening.skills, Joined(registry))
    offered = selection(opening.config.tools, registry).of(registry.snapshot(), "rpc")
    assert list(offered.tools) == (["skill"] if there else [])


def test_no_tool_writes_skills_or_context_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "ZOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    config = configuration.parse(f'[agent]\nworkspace = "{tmp_path}"\n', tmp_path / "hookgate.toml")
    assert set(usual_places(tmp_path)) <= set(Keeping(config, tmp_path / "hookgate.toml")().folders)
    assert told_files(config) == (tmp_path / "AGENTS.md", tmp_path / "CLAUDE.md")
    off = configuration.parse(
        f'[agent]\nworkspace = "{tmp_path}"\ncontext_files = false\n', tmp_path / "hookgate.toml"
    )
    assert told_files(off) == ()


async def test_a_programs_own_tool_of_the_name_stays(tmp_path: Path) -> None:
    written(usual_places(tmp_path)[0], "deploy", "Do it.")
    config = configuration.parse(f'[agent]\nworkspace = "{tmp_path}"\n', tmp_path / "hookgate.toml")
    registry, own = Registry(), FunctionTool("skill")
    registry.register(own, reserved=True)
    assert await load_skills(config, True, Joined(registry)) is None
    assert registry.snapshot().get("skill") is own


def test_with_skills_brings_no_other_tool() -> None:
    assert parse_flags(["--no-tools", "--with-skills"]).above.get("tools") == ("skill",)
    assert parse_flags(["--with-skills"]).above.get("tools") is None


async def test_a_chat_has_them_unless_it_is_told_otherwise(tmp_path: Path) -> None:
    written(usual_places(tmp_path)[0], "deploy", "Do it.")
    (tmp_path / "AGENTS.md").write_bytes(b"\xff")
    async with open_model_server(says("a"), says("b")) as server:
        folder = configured(tmp_path, server.base_url)
        ended = await run(folder, "chat", "--once", "x", "--no-skill", "--no-context-files")
        assert (ended.stdout, ended.stderr) == (b"a\n", b"")
        ended = await run(folder, "chat", "--once", "x")
        broken = f"context file: {tmp_path}/AGENTS.md: it is not UTF-8\n"
        assert (ended.stdout, ended.stderr.decode()) == (b"b\n", broken)
        offered = [[it["function"]["name"] for it in request.body["tools"]] for request in server.requests]
    assert ["skill" in names for names in offered] == [False, True]


async def test_where_there_are_none_nothing_is_imported_that_reads_them(tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "hookgate", "tools", "list"]
    variables = environment(scripted(tmp_path))
    with trio.fail_after(DEADLINE_S):
        ended = await trio.run_process(command, cwd=tmp_path, env=variables, capture_stdout=True, capture_stderr=True)
    assert b"hookgate.assembly.tools.skills" in ended.stderr
    assert [name for name in (b"shelf", b"skill", b"tool") if b"hookgate.skills." + name in ended.stderr] == []


async def test_a_daemon_offers_none_where_the_configuration_does_not_ask_for_them(tmp_path: Path) -> None:
    written(usual_places(tmp_path)[0], "deploy", "Do it.")
    async with open_rig(tmp_path, [says("ok")]) as rig:
        await rig.say("go")
        assert "skill" not in rig.offered()


# --- while it runs ------------------------------------------------------------------------------------------


async def test_one_that_breaks_while_people_chat_is_told_as_at_the_start(tmp_path: Path) -> None:
    file = written(usual_places(tmp_path)[0], "deploy", "Do it.")
    async with (
        open_model_server(says("One."), says("Two.")) as server,
        open_pipes(configured(tmp_path, server.base_url), "chat") as screen,
    ):
        await screen.line("go")
        await screen.sees("One.")
        file.write_text("no head")
        await screen.line("again")
        await screen.sees(f"skill load: {file.parent}: ")
        await screen.sees("Two.")
    assert "skill_not_loaded" not in screen.shown


async def test_files_that_change_are_seen_at_the_next_model_call(tmp_path: Path) -> None:
    place = usual_places(tmp_path)[0]
    async with open_rig(tmp_path, [says("none"), WANTED, says("a"), WANTED, says("b"), says("c")], ENABLED) as rig:
        await rig.say("before there are any")
        file = written(place, "deploy", "Do it.")
        await rig.say("go")
        file.write_text("---\ndescription: Other.\n---\nOtherwise.\n")
        await rig.say("go")
        file.unlink()
        await rig.say("after")
        assert [text.partition("\n\n---")[0] for text in rig.results()] == [
            "# Skill: deploy\n\nHow.",
            "# Skill: deploy\n\nOther.",
        ]
        assert ["skill" in rig.offered(number) for number in range(6)] == [False, True, True, True, True, False]
        described = [
            next(
                it["function"]["description"]
                for it in rig.server.requests[number].body["tools"]
                if "skill" in str(it)
            )
            for number in (1, 3)
        ]
        assert [lines.rpartition("\n")[2] for lines in described] == ["- deploy: How.", "- deploy: Other."]

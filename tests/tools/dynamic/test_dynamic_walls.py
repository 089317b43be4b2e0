"""What a made tool sees and reaches from inside: its environment, its limits, files and network."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import trio

from hookgate.processes.private import remove
from hookgate.tools.dynamic.cell.folder import MAX_FOLDER_FILES, too_much
from hookgate.tools.shell.sandbox import SandboxOptions, open_shelter
from tests.sandboxes import NO_LANDLOCK, NO_SANDBOX
from tests.tools.dynamic.shops import open_shop, open_walls


async def test_a_program_sees_only_its_own_environment_and_an_empty_home(tmp_path: Path) -> None:
    body = (
        "import os\nenv = dict(os.environ)\nhome, tmp = env['HOME'], env['TMPDIR']\n"
        "return {'names': sorted(set(env) - {'PWD', 'SHLVL', '_', 'LC_CTYPE'}), 'empty': os.listdir(home) +"
        " os.listdir(tmp), 'home': home, 'own': os.getcwd()}"
    )
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", body, returns="json")
        data = (await shop.call("probe")).data
    assert isinstance(data, dict)
    assert data["names"] == ["HOME", "LANG", "PATH", "TMPDIR"]
    assert data["empty"] == []
    assert str(data["home"]).startswith(str(data["own"]))
    assert not await trio.Path(str(data["own"])).exists()


async def test_a_program_has_the_limits_of_every_made_tool(tmp_path: Path) -> None:
    body = (
        "import resource as r\n"
        "return [r.getrlimit(it)[1] for it in (r.RLIMIT_CPU, r.RLIMIT_AS, r.RLIMIT_NOFILE, r.RLIMIT_FSIZE)]"
    )
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", body, returns="json")
        assert (await shop.call("probe")).data == {"result": [60, 1 << 30, 256, 64 << 20]}


@NO_SANDBOX
async def test_the_walls_keep_a_program_from_the_network_and_from_files(tmp_path: Path) -> None:
    target = Path(__file__).with_name("written_by_a_tool")
    listener = trio.socket.socket()
    await listener.bind(("127.0.0.1", 0))
    listener.listen()
    port = listener.getsockname()[1]
    body = (
        "import socket\n"
        "def tried(act):\n    try: act()\n"
        "    except OSError as error: return type(error).__name__\n    return 'done'\n"
        f"return [tried(lambda: open({str(target)!r}, 'w')),\n"
        f"        tried(lambda: socket.create_connection(('127.0.0.1', {port}), 2)),\n"
        "        tried(lambda: open('own', 'w'))]"
    )
    with listener:
        async with open_shop(tmp_path) as shop:
            await shop.made("probe", body, returns="json")
            data = (await shop.call("probe")).data
    assert isinstance(data, dict)
    write, connect, own = data["result"]  # type: ignore[misc]
    assert write != "done"
    assert connect != "done"
    assert own == "done"
    assert not target.exists()


@NO_SANDBOX
async def test_a_program_reads_the_workspace_and_nothing_else_of_anybodys(tmp_path: Path) -> None:
    workspace, home = tmp_path / "workspace", tmp_path / "home"
    for folder in (workspace, home, workspace / "secrets"):
        folder.mkdir()
        (folder / "notes").write_text("read")
    body = (
        "import os\n"
        "def tried(path):\n    try: return open(path).read()\n"
        "    except OSError as error: return type(error).__name__\n"
        "return [*map(tried, args['paths']), os.listdir('/')]"
    )
    paths = [f"{folder}/notes" for folder in (workspace, home, workspace / "secrets")]
    async with open_walls(tmp_path) as walls:
        hiding = replace(walls, hidden=(workspace / "secrets",))
    async with open_shop(tmp_path, sandbox=hiding, readable=(workspace,)) as shop:
        await shop.made("probe", body, returns="json", args=[{"name": "paths", "type": "array"}])
        data = (await shop.call("probe", paths=[*paths, "/etc/shadow"])).data
    assert isinstance(data, dict)
    mine, *others, root = data["result"]  # type: ignore[misc]
    assert mine == "read"
    assert not {"read"} & set(others)  # type: ignore[arg-type]
    assert all(it.endswith("Error") for it in others)  # type: ignore[union-attr]
    if hiding.kind == "bwrap":
        # The interpreter may lie in any of them.
        needed = {Path(path).parts[1] for path in (sys.prefix, sys.base_prefix)}
        assert not ({"home", "var", "opt", "srv", "mnt"} - needed) & set(root)  # type: ignore[arg-type]


async def test_a_folder_that_holds_too_much_is_a_failure_and_gone(tmp_path: Path) -> None:
    body = (
        "import os\nos.makedirs('many', exist_ok=True)\n"
        "for number in range(args['files']):\n    open(f'many/{number}', 'w').close()\n"
        "return f\"{len(os.listdir('many'))} files\""
    )
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", body, args=[{"name": "files", "type": "integer"}])
        assert (await shop.call("probe", files=3)).for_llm == "3 files"
        over = await shop.call("probe", files=MAX_FOLDER_FILES)
        assert over.error is not None
        assert (over.error.kind, "its private folder holds more than" in over.error.reason) == ("budget", True)
        assert (await shop.call("probe", files=2)).for_llm == "2 files"


@NO_LANDLOCK
async def test_it_works_inside_landlock_too(tmp_path: Path) -> None:
    path = tmp_path / "bin"
    path.mkdir()
    for name in ("sh", "python3"):
        (path / name).symlink_to(f"/bin/{name}")
    environment = {"PATH": str(path), "LANG": "C.UTF-8"}
    async with open_shelter(tmp_path, environment, SandboxOptions(network=False)) as shelter:
        landlock = await shelter.chosen()
    assert landlock.kind == "landlock"
    async with open_shop(tmp_path, sandbox=landlock) as shop:
        await shop.made("probe", f"open({str(Path(__file__).with_name('no'))!r}, 'w')")
        assert "PermissionError" in (await shop.call("probe")).for_llm


async def test_a_program_that_changes_its_file_changes_nothing(tmp_path: Path) -> None:
    """Each process starts from the text that was approved."""
    body = "import os\nif args.get('evil'):\n    open('tool.py', 'w').write('evil')\n    os._exit(1)\nreturn 'good'"
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", body, args={})
        await shop.call("probe", evil=True)
        (shop.folder / "probe" / "tool.py").write_text("evil")
        assert (await shop.call("probe")).for_llm == "good"


async def test_what_fills_its_folder_during_a_call_is_stopped(tmp_path: Path) -> None:
    body = "import time\nfor number in range(args['files']):\n    open(str(number), 'w').close()\ntime.sleep(3600)"
    async with open_shop(tmp_path) as shop:
        await shop.made("probe", body, args=[{"name": "files", "type": "integer"}])
        over = await shop.call("probe", files=MAX_FOLDER_FILES + 1)
        assert over.error is not None
        assert (over.error.kind, "its private folder holds more than" in over.error.reason) == ("budget", True)


def test_folders_nested_as_deep_as_can_be_are_too_much_and_are_removed(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (outside := tmp_path / "outside").mkdir()
    descriptor = os.open(base, os.O_RDONLY)
    os.symlink(outside, "link", dir_fd=descriptor)
    for _ in range(2100):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    assert "folders more than" in too_much(base)
    remove(base)
    assert [it.name for it in tmp_path.iterdir()] == ["outside"]

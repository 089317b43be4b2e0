"""`hookgate doctor`: machines that lack things, hooks with bad manners, endpoints of loopback, broken folders."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
import trio

from hookgate.cli.doctor import hooks as hooks_module
from hookgate.cli.doctor.finding import Examined, Finding
from hookgate.config import parse
from hookgate.protocol.journal.keys import Key
from hookgate.store.journal import open_journal
from tests.cli.mcp.test_mcp import server
from tests.cli.program import DEADLINE_S, HOOKGATE, configured, environment, none_left, open_fifo, run
from tests.cli.zot.zot_folders import extension, installed, project
from tests.model_server import fails, open_model_server, says
from tests.preloaded.running import run_preloaded

CHILD = Path(__file__).parents[1] / "children" / "hook.py"
NOWHERE = "http://127.0.0.1:9/v1"
KEY = "sk-veryveryverysecret0123456789"


@dataclass(frozen=True)
class Ended:
    """`findings` by subject."""

    status: int
    findings: dict[str, Finding]
    text: str

    def state(self, *subjects: str) -> list[str]:
        return [self.findings[it].state for it in subjects]


def programs(folder: Path, **scripts: str) -> dict[str, str]:
    """A PATH of exactly these shell scripts."""
    path = folder / "bin"
    path.mkdir()
    for name, script in scripts.items():
        program = path / name.replace("_", "-")
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    return {"PATH": str(path)}


async def doctor(folder: Path, *arguments: str, **variables: str) -> Ended:
    """For programs; nothing of it runs any more afterwards."""
    with trio.fail_after(DEADLINE_S * 2):
        ended = await run_preloaded(("doctor", "--json", *arguments), folder, {**environment(folder), **variables})
    assert ended.stderr == b""
    report: dict[str, Any] = json.loads(ended.stdout)
    findings = [Finding(it["subject"], it["state"], it["what"], it["remedy"]) for it in report["findings"]]
    assert report["passed"] == (ended.returncode == 0) == all(it.state != "broken" for it in findings)
    await none_left(folder)
    return Ended(ended.returncode, {it.subject: it for it in findings}, ended.stdout.decode())


# --- the machine --------------------------------------------------------------------------------------------


async def test_a_machine_without_anything_is_told_what_to_type_and_is_no_failure(tmp_path: Path) -> None:
    found = await doctor(tmp_path, **programs(tmp_path, apt_get=""))
    assert found.status == 0
    assert found.findings["hookgate.toml"].remedy == "hookgate init"
    assert found.state("ripgrep", "git", "node", "Go", "sandbox") == ["note"] * 5
    packages = {"ripgrep": "ripgrep", "git": "git", "node": "nodejs", "Go": "golang-go", "sandbox": "bubblewrap"}
    remedies = {name: found.findings[name].remedy.removeprefix("sudo ") for name in packages}
    assert remedies == {name: f"apt-get install {package}" for name, package in packages.items()}
    assert found.findings["ripgrep"].what == (
        "there is no rg on PATH: grep reads large folders by itself, which takes longer"
    )


async def test_without_a_known_package_manager_it_says_what_is_to_be_there(tmp_path: Path) -> None:
    found = await doctor(tmp_path, **programs(tmp_path))
    assert found.findings["ripgrep"].remedy == "install ripgrep and put it on PATH"


async def test_programs_that_are_there_say_their_version_and_those_that_do_not_run_are_named(tmp_path: Path) -> None:
    path = programs(
        tmp_path, rg="echo ripgrep 14; echo more", go='echo "$1" 1.26', git="exit 1", node="exec /no/such"
    )
    found = await doctor(tmp_path, **path)
    assert found.state("ripgrep", "Go", "git", "node") == ["ok", "ok", "note", "note"]
    assert found.findings["ripgrep"].what == f"ripgrep 14 ({tmp_path}/bin/rg)"
    assert found.findings["Go"].what == f"version 1.26 ({tmp_path}/bin/go)"
    assert found.findings["git"].what.startswith(f"{tmp_path}/bin/git does not run: ")


async def test_a_bubblewrap_that_does_not_work_is_quoted_and_one_that_is_required_is_broken(tmp_path: Path) -> None:
    path = programs(tmp_path, bwrap="echo bwrap: No permissions >&2; exit 1")
    said = f"{tmp_path}/bin/bwrap does not work here (bwrap: No permissions); let ordinary users "
    found = await doctor(tmp_path, **path)
    assert (found.status, found.state("sandbox")) == (0, ["note"])
    assert found.findings["sandbox"].remedy.startswith(said)
    configured(tmp_path, NOWHERE, '[tools]\nsandbox = "required"\n')
    required = await doctor(tmp_path, **path)
    assert required.findings["sandbox"].what.startswith("a sandbox is required, but ")
    assert (required.state("sandbox"), required.findings["sandbox"].remedy[: len(said)]) == (["broken"], said)


async def test_a_sandbox_that_is_switched_off_is_a_note(tmp_path: Path) -> None:
    configured(tmp_path, NOWHERE, '[tools]\nsandbox = "off"\n')
    found = (await doctor(tmp_path)).findings["sandbox"]
    assert (found.state, found.remedy) == ("note", 'take sandbox = "off" out of [tools]')
    assert "all rights of the gateway" in found.what


# --- configuration and folders ------------------------------------------------------------------------------


async def test_every_mistake_of_the_configuration_is_a_finding_and_the_machine_is_looked_at_all_the_same(
    tmp_path: Path,
) -> None:
    (tmp_path / "hookgate.toml").write_text("[tools]\nsandbx = 1\nmax_tols = 1\n")
    found = await doctor(tmp_path)
    assert (found.status, found.state("hookgate.toml", "hookgate")) == (1, ["broken", "ok"])
    assert [name in found.text for name in ("sandbx", "max_tols")] == [True, True]
    missing = await doctor(tmp_path, "--config", "no.toml")
    assert missing.findings["no.toml"] == Finding("no.toml", "broken", "no.toml: there is no such file")


async def test_what_keeps_a_start_from_beginning_is_broken_and_a_name_that_covers_nothing_is_a_note(
    tmp_path: Path,
) -> None:
    configured(tmp_path, NOWHERE, '[[approvals]]\ntools = ["bsh"]\n[tools]\nenabled = ["raed"]\n')
    refused, found = await run(tmp_path, "chat"), await doctor(tmp_path)
    why = refused.stderr.decode().removeprefix("hookgate: ").removesuffix("\n")
    told = [(it["state"], it["what"]) for it in json.loads(found.text)["findings"] if it["group"] == "configuration"]
    noted = "tools.enabled: 'raed' covers no built-in tool (did you mean 'read'?)"
    assert (found.status, told[1:]) == (1, [("broken", why), ("note", noted)])


async def test_folders_that_cannot_be_written_are_broken_only_where_something_needs_them(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    places = {"XDG_STATE_HOME": f"{tmp_path}/file/state", "ZOT_HOME": f"{tmp_path}/zot"}
    found = await doctor(tmp_path, **places)
    assert found.status == 0
    assert found.findings["state"].what == f"{tmp_path}/file is no folder: nothing is remembered from run to run"
    more = '[dynamic]\nenabled = true\nfolder = "made"\n'
    text = f'{more}[tools]\nsandbox = "off"\n'
    file = configured(tmp_path, NOWHERE, text) / "hookgate.toml"
    file.write_text(
        file.read_text()
        .replace("[agent]\n", '[agent]\nworkspace = "/no/such/folder"\n')
        .replace("[control]\nenabled = false", f'[control]\npath = "{tmp_path}/file/{"x" * 100}.sock"')
    )
    needed = await doctor(tmp_path, **places)
    assert needed.state("state", "workspace", "control socket", "temporary files") == [*["broken"] * 3, "ok"]
    assert needed.findings["control socket"].what.startswith(f"{tmp_path}/file/xxx")


# --- keys and providers -------------------------------------------------------------------------------------

TWO = """
[providers.other]
kind = "anthropic"
api_key_env = "OTHER_KEY"
[providers.scripted]
kind = "scripted"
script = "script.json"
"""


async def test_a_key_that_would_choose_the_model_is_not_said_to_be_asked_for_by_nothing(tmp_path: Path) -> None:
    two = '[providers.a]\nkind = "anthropic"\napi_key_env = "A_KEY"\n'
    (tmp_path / "hookgate.toml").write_text(f'[providers.o]\nkind = "openai"\napi_key_env = "O_KEY"\n{two}')
    found = (await doctor(tmp_path)).findings
    assert (found["provider o"].state, found["agent"].state) == ("note", "broken")
    assert found["provider o"].what == "O_KEY is not set: once it is, this provider's usual model answers"
    found = (await doctor(tmp_path, A_KEY=KEY)).findings
    assert "agent" not in found
    assert found["provider o"].what == "O_KEY is not set, and nothing here asks for it"


async def test_keys_are_said_to_be_set_or_not_and_never_shown(tmp_path: Path) -> None:
    file = configured(tmp_path, NOWHERE, TWO) / "hookgate.toml"
    file.write_text(file.read_text().replace('kind = "openai"', 'kind = "openai"\napi_key_env = "FIRST_KEY"'))
    unset = await doctor(tmp_path)
    assert unset.findings["provider p"] == Finding(
        "provider p", "broken", "FIRST_KEY is not set", "export FIRST_KEY=..."
    )
    assert unset.findings["provider other"].state == "note"
    found = await doctor(tmp_path, FIRST_KEY=KEY, OTHER_KEY=KEY)
    assert [found.findings[f"provider {name}"].what for name in ("p", "other")] == [
        "FIRST_KEY is set",
        "OTHER_KEY is set",
    ]
    assert KEY not in found.text


async def test_what_programs_can_show_is_held_against_what_takes_it(tmp_path: Path) -> None:
    api = '[store]\njournal = "journal.db"\n[channels.api]\nkind = "openai"\n'
    configured(tmp_path, NOWHERE, api)
    nobody = Finding("channel api", "note", "nobody has a key for it", "hookgate keys add NAME --channel api")
    assert (await doctor(tmp_path)).findings["channel api"] == nobody
    async with open_journal(tmp_path / "journal.db") as journal:
        await journal.keys.keep(Key("aa", "old", "ann", "operator", 1.5))
        assert (await doctor(tmp_path)).findings["channel api"] == nobody
        await journal.keys.keep(Key("bb", "api", "ann", "operator", 1.5))
    found = (await doctor(tmp_path)).findings
    assert "channel api" not in found
    assert (found["key old:ann"].state, found["key old:ann"].remedy) == (
        "note",
        "hookgate keys revoke ann --channel old",
    )


async def test_without_a_model_it_names_every_key_that_would_choose_one_and_no_other(tmp_path: Path) -> None:
    named = configured(tmp_path, NOWHERE, TWO) / "hookgate.toml"
    named.write_text(
        named.read_text()
        .replace('model = "p/m"', "")
        .replace("[providers.p]", '[providers.p]\napi_key_env = "P_KEY"')
    )
    found = await doctor(tmp_path)
    assert found.status == 1
    assert found.findings["agent"] == Finding(
        "agent",
        "broken",
        "it has no model: no chat starts",
        'export OTHER_KEY=..., or model = "PROVIDER/MODEL" in [agent]',
    )


async def test_an_endpoint_of_this_machine_must_listen_and_is_asked_only_online(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text('{"steps": [{"text": "hi"}]}')
    async with open_model_server(says("ok"), fails(401, f"wrong key {KEY}")) as served:
        configured(tmp_path, served.base_url, TWO)
        found = await doctor(tmp_path)
        assert (found.status, found.state("p", "other", "scripted")) == (0, ["ok"] * 3)
        assert (found.findings["p"].what, served.requests) == (
            f"{served.base_url}: it listens; not asked (--online asks)",
            [],
        )
        asked = await doctor(tmp_path, "--online")
        assert asked.findings["p"].what == "m answers"
        assert asked.findings["scripted"].what == "not asked: neither [agent] nor [models] names a model of it"
        assert len(served.requests) == 1
        assert len(str(served.requests[0].body["messages"])) < 100
        refused = await doctor(tmp_path, "--online")
        assert (refused.status, refused.findings["p"].state, KEY in refused.text) == (1, "broken", False)
    (tmp_path / "script.json").write_text("nonsense")
    gone = await doctor(tmp_path)
    assert gone.state("p", "other", "scripted") == ["broken", "ok", "note"]
    port = served.base_url.rpartition(":")[2].removesuffix("/v1")
    assert gone.findings["p"].what == f"{served.base_url}: nothing listens on port {port}"


# --- hooks --------------------------------------------------------------------------------------------------


def section(name: str, command: Sequence[str], rest: str = 'intercept = ["before_tool"]') -> str:
    return f"[hooks.processes.{name}]\ncommand = {json.dumps([*command])}\n{rest}\n"


def answering(folder: Path, name: str, body: str) -> list[str]:
    """A hook that says hello; `body` is what it does with each call, a dict named `call`."""
    script = folder / f"{name}.py"
    script.write_text(
        "import json, os, sys\n"
        "def say(result): print(json.dumps({'jsonrpc': '2.0', 'id': call['id'], 'result': result}), flush=True)\n"
        "for line in sys.stdin:\n"
        "    call = json.loads(line)\n"
        "    if 'id' not in call: continue\n"
        "    if call['method'] == 'hook.hello': say({'ok': True})\n"
        f"    else:\n        {body}\n"
    )
    return [sys.executable, str(script)]


async def test_each_hook_is_started_introduced_asked_and_stopped_and_a_broken_one_says_why(tmp_path: Path) -> None:
    child = [sys.executable, str(CHILD), "plain", json.dumps({"ok": True, "stages": ["before_tool"]}), str(tmp_path)]
    dies = answering(tmp_path, "dies", "print('first\\nno licence', file=sys.stderr, flush=True); os._exit(3)")
    wrong = answering(tmp_path, "wrong", "say({'action': 'approve'})")
    configured(
        tmp_path,
        NOWHERE,
        section("good", answering(tmp_path, "good", "say({'action': 'continue'})"), 'intercept = ["after_tool"]')
        + section("narrow", child, 'intercept = ["before_llm", "before_tool"]')
        + section("dies", dies, 'intercept = ["before_tool"]\non_failure = "deny"')
        + section("wrong", wrong)
        + section("broken", [sys.executable, "-c", "import no_such_module_at_all"], 'observe = ["*"]')
        + section("gone", ["no-such-program", "x"])
        + section("off", ["no-such-program"], 'intercept = ["before_tool"]\nmode = "off"'),
    )
    found = await doctor(tmp_path)
    names = ("good", "narrow", "dies", "wrong", "broken", "gone", "off")
    assert (found.status, found.state(*names)) == (1, ["ok", "note", *["broken"] * 4, "ok"])
    said = {name: found.findings[name].what for name in names}
    assert said["good"] == "it introduces itself; after_tool: continue"
    assert said["narrow"] == "it leaves out before_llm, where it is configured to stand; before_tool: continue"
    assert said["dies"].startswith("before_tool: it exited with status 3")
    assert "; then its on_failure is 'deny'" in said["dies"]
    assert said["dies"].endswith("no licence")
    assert said["wrong"].startswith("before_tool: ")
    assert said["wrong"].endswith("; then its on_failure is 'continue'")
    assert said["broken"].endswith("ModuleNotFoundError: No module named 'no_such_module_at_all'")
    assert said["gone"] == "cannot start 'no-such-program': No such file or directory"
    assert found.findings["gone"].remedy == "mend command in [hooks.processes.gone]"
    assert found.findings["dies"].remedy == "hookgate hooks check dies"


async def test_a_hook_is_asked_what_its_match_covers_and_nothing_else(tmp_path: Path) -> None:
    tells = (
        "p = call['params']; say({'action': 'deny_tool', 'reason': json.dumps(p)}); open('asked', 'a').write(line)"
    )
    command = answering(tmp_path, "tells", tells)
    match = '{ tools = ["re*", "!read"], channels = ["telegram"], chats = ["-100*"], models = ["openai/*"] }'
    mounted = 'intercept = ["before_tool"]\nmatch = '
    configured(
        tmp_path,
        NOWHERE,
        section("never", command, f"{mounted}{{ tools = ['bash', '!b*'] }}")
        + section("write", command, f"{mounted}{{ tools = ['write'] }}"),
    )
    found = await doctor(tmp_path)
    assert found.findings["never"].what.startswith("it introduces itself; before_tool: not asked (tools = ")
    assert found.findings["write"].what == "it introduces itself; before_tool: deny_tool"
    (asked,) = map(json.loads, (tmp_path / "asked").read_text().splitlines())
    assert asked["params"]["tool"] == "write"
    assert asked["params"]["arguments"].keys() == {"path", "content"}
    (tmp_path / "asked").unlink()
    configured(tmp_path, NOWHERE, section("far", command, f"{mounted}{match}"))
    await doctor(tmp_path)
    (asked,) = map(json.loads, (tmp_path / "asked").read_text().splitlines())
    assert asked["params"]["tool"] == "re"
    assert ("telegram" in json.dumps(asked), '"-100"' in json.dumps(asked)) == (True, True)


async def test_what_a_hook_says_of_a_key_is_not_shown(tmp_path: Path) -> None:
    leaks = answering(tmp_path, "leaks", "print(os.environ['MY_KEY'], file=sys.stderr, flush=True); os._exit(1)")
    file = configured(
        tmp_path, NOWHERE, section("leaks", leaks, 'intercept = ["before_tool"]\nenv_pass = ["MY_KEY"]')
    )
    file = file / "hookgate.toml"
    file.write_text(file.read_text().replace('kind = "openai"', 'kind = "openai"\napi_key_env = "MY_KEY"'))
    found = await doctor(tmp_path, MY_KEY="plain-word-value")
    assert "last on its stderr: [REDACTED:" in found.findings["leaks"].what
    assert "plain-word-value" not in found.text


async def test_an_approver_that_asks_a_person_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks_module, "APPROVER_S", 0.05)
    command = answering(tmp_path, "asks", "pass")
    config = parse(section("asks", command, 'intercept = ["approve_tool"]'), tmp_path / "hookgate.toml")
    with trio.fail_after(DEADLINE_S):
        (found,) = await hooks_module.hooks(Examined(config, None, tmp_path))
    assert found.state == "note"
    assert found.what == "approve_tool: no answer within 0.05 s of its 60; it may be asking a person"


async def test_a_signal_ends_it_and_every_hook_that_it_has_started(tmp_path: Path) -> None:
    mute = answering(tmp_path, "mute", "open('started', 'w').write('x'); sys.stdin.read()")
    configured(tmp_path, NOWHERE, section("mute", mute, 'intercept = ["before_tool"]\ntimeout_ms = 600000'))
    async with open_fifo(tmp_path / "started") as started:
        process = await trio.lowlevel.open_process(
            [*HOOKGATE, "doctor"], cwd=tmp_path, env=environment(tmp_path), stdout=PIPE
        )
        await started.rings()
        process.send_signal(signal.SIGTERM)
        with trio.fail_after(DEADLINE_S):
            assert process.stdout
            async with process.stdout:
                shown = b"".join([data async for data in process.stdout]).decode()
            assert await process.wait() == 130
    assert "\nproviders\n" in shown
    await none_left(tmp_path)


# --- MCP servers and extensions -----------------------------------------------------------------------------


async def test_mcp_servers_of_this_machine_are_started_once(tmp_path: Path) -> None:
    far = '[mcp.servers.far]\ntransport = "http"\nurl = "https://example.com/mcp"\ntoken_env = "FAR_TOKEN"\n'
    dead = '[mcp.servers.dead]\ncommand = ["/bin/sh", "-c", "exit 3"]\n'
    configured(tmp_path, NOWHERE, server() + far + dead)
    found = await doctor(tmp_path)
    assert found.state("odd", "far", "dead", "MCP server far") == ["ok", "ok", "broken", "broken"]
    assert found.findings["odd"].what.startswith("up with ")
    assert found.findings["far"].what == "https://example.com/mcp: not asked (--online asks)"


async def test_extensions_are_looked_at_as_ext_doctor_does(tmp_path: Path) -> None:
    extension(installed(tmp_path), "a")
    extension(installed(tmp_path), "gone", exec="./gone")
    extension(project(tmp_path), "stranger")
    found = await doctor(tmp_path)
    assert (found.status, found.state("a", "gone", "stranger")) == (1, ["ok", "broken", "note"])
    assert found.findings["a"].what.startswith("ready: it said so; it brings ")
    assert found.findings["gone"].remedy == "hookgate ext logs gone"
    assert "hookgate ext trust" in found.findings["stranger"].what


# --- for people ---------------------------------------------------------------------------------------------


async def test_people_read_a_line_for_each_finding_below_it_what_to_type_and_at_the_end_how_many(
    tmp_path: Path,
) -> None:
    configured(tmp_path, NOWHERE)
    with trio.fail_after(DEADLINE_S):
        ended = await trio.run_process(
            [*HOOKGATE, "doctor"],
            capture_stdout=True,
            check=False,
            cwd=tmp_path,
            env={**environment(tmp_path), **programs(tmp_path)},
        )
    lines = ended.stdout.decode().splitlines()
    assert ended.returncode == 1
    at = lines.index("providers")
    assert lines[at + 1 : at + 3] == [
        f"  broken  p  {NOWHERE}: nothing listens on port 9",
        "             -> start what should answer there, or mend base_url in [providers.p]",
    ]
    assert lines[-1].endswith(" ok, 5 note, 1 broken")

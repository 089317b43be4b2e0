"""`hookgate demo --web`: the demo as a page in the browser, with a question that waits for whoever opens it."""

from __future__ import annotations

import signal

import trio

from hookgate.approvals.people import requester
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.assembly.settings import Settings
from hookgate.channels.web.settings import OWNER
from hookgate.cli.demo.running import HERE, demo_config, stage
from hookgate.cli.printing import write
from hookgate.loop.doors.pairing import OPERATOR_ROLE
from hookgate.operations.keys import KeyRing, add
from hookgate.program.signals import open_until_signal
from hookgate.program.starting import begun
from hookgate.protocol.chat import Chat, Inbound
from hookgate.serve.run import Served, open_gateway

FIRST = Inbound(Chat("web", OWNER, OWNER, thread="demo"), "Deploy the new version.", message_id="demo")


async def run_web_demo() -> int:
    """Until it is told to stop; the exit status. Raises ConfigError."""
    async with open_until_signal(signal.SIGINT, signal.SIGTERM):
        with stage() as folder:
            config, _redactor = demo_config(folder, "demo.toml", "web.toml")
            set_up_logs(config.log)
            async with open_gateway(
                Settings(config, HERE, serving=True, called="the demo"), folder / "control.sock", trio.Event()
            ) as served:
                begun()
                programs = await _programs(served)
                await served.runtime.gateway.receive(FIRST)
                write("hookgate demo: the model is a SCRIPT that ships with hookgate (no network, no key).\n")
                write("Open this address; a call that wants to deploy waits there for your yes.\n\n")
                write("".join(f"  {line}&chat={FIRST.chat.thread}\n" for line in served.pages))
                write("\nWhoever runs it looks here:\n\n")
                write("".join(f"  {line}\n" for line in served.operators))
                write(f"  metrics: http://{served.address}/metrics\n")
                write(f"  terminal: hookgate status --control {folder}/control.sock\n")
                write(f"            hookgate where --control {folder}/control.sock (where each message is)\n")
                write("\nPrograms get an answer here:\n\n")
                write("".join(f"  {line}\n" for line in programs))
                write("\nTry there: weather in Oslo; clean up the releases; show me the settings; deploy it;\n")
                write("or, with a tool get_time that the client brings, what time is it. Ctrl-C ends it.\n")
                await trio.sleep_forever()
    return 0


async def _programs(served: Served) -> tuple[str, ...]:
    """Keys as programs take them from their environment, which go with the demo's journal. Those of an operator are
    whose the page is, who so may decide what both ask."""
    runtime, address = served.runtime, f"http://{served.address}"
    assert runtime.keys is not None  # noqa: S101 - whatever serves has both
    assert runtime.guests is not None  # noqa: S101
    await runtime.guests.add("demo", [requester(FIRST.chat)], [OPERATOR_ROLE], "demo")
    ring = KeyRing(runtime.keys, runtime.guests, runtime.settings.config.keyed)
    api, rpc = await add(ring, "demo", "api"), await add(ring, "demo", "rpc", OPERATOR_ROLE, same_person=True)
    wait_s = runtime.settings.config.channels["api"].approval_wait_s
    return (
        f"api: OPENAI_BASE_URL={address}/v1 OPENAI_API_KEY={api.key}",
        f"     (a call that waits for a yes is answered after {wait_s:.0f} s, with the /approve that says it)",
        f"rpc: URL={address} KEY={rpc.key}",
        "     (at /rpc; an operator's key: whoever has it has this gateway in hand)",
    )

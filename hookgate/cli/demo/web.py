"""`hookgate demo --web`: the demo as a page in the browser, with a question that waits for whoever opens it."""

from __future__ import annotations

import signal
from pathlib import Path

import trio

from hookgate.approvals.people import requester
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.channels.web.settings import OWNER
from hookgate.cli.demo.running import demo_settings, stage
from hookgate.cli.printing import write
from hookgate.operations.keys import KeyRing, add
from hookgate.program.signals import open_until_signal
from hookgate.program.starting import begun
from hookgate.protocol.approval import OPERATOR_ROLE
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.dataclasses import replace
from hookgate.serve.run import Served, open_gateway

BANNER = """\
hookgate demo: the model is a SCRIPT that ships with hookgate (no network, no key).
Open this address; a call that wants to deploy waits there for your yes.

  {page}&chat={chat}

Whoever runs it looks here, or asks in another terminal:

  {operators}
  metrics: {address}/metrics
  cd {folder}
  hookgate where "Deploy the"    # where is my message? Also: status, approvals list, hooks list, keys add

Programs get an answer here, by OpenAI's API, and by JSON-RPC with an operator's key; editors start the last line:

  export OPENAI_BASE_URL={address}/v1 OPENAI_API_KEY={api}
  curl -s $OPENAI_BASE_URL/chat/completions -H "Authorization: Bearer $OPENAI_API_KEY" \
-H "Content-Type: application/json" \
-d '{{"model": "hookgate", "messages": [{{"role": "user", "content": "weather in Oslo"}}]}}'
  export URL={address} KEY={rpc}
  hookgate acp --config {folder}/hookgate.toml

Try there: weather in Oslo; clean up the releases; show me the settings; deploy it (answered after {wait_s:.0f} s with
the /approve that says yes); what time is it, with a tool get_time that the client brings. `hookgate docs openai`,
json-rpc and acp say more. Ctrl-C ends it.
"""
FIRST = Inbound(Chat("web", OWNER, OWNER, thread="demo"), "Deploy the new version.", message_id="demo")


async def run_web_demo() -> int:
    """Until it is told to stop; the exit status. Raises ConfigError."""
    async with open_until_signal(signal.SIGINT, signal.SIGTERM):
        with stage() as folder:
            settings = replace(demo_settings(folder, "demo.toml", "web.toml"), serving=True)
            set_up_logs(settings.config.log)
            async with open_gateway(settings, None, trio.Event()) as served:
                begun()
                shown = await _banner(served, folder)
                await served.runtime.gateway.receive(FIRST)
                write(shown)
                await trio.sleep_forever()
    return 0


async def _banner(served: Served, folder: Path) -> str:
    """With keys, which go with the demo's journal. That of an operator is whose the page is, who so may decide what
    programs ask."""
    runtime = served.runtime
    assert runtime.guests is not None  # noqa: S101 - whatever serves has them
    await runtime.guests.add("demo", [requester(FIRST.chat)], [OPERATOR_ROLE], "demo")
    ring = KeyRing(runtime.keys, runtime.guests, runtime.settings.config.keyed)
    api, rpc = await add(ring, "demo", "api"), await add(ring, "demo", "rpc", OPERATOR_ROLE, same_person=True)
    [page], [operators] = served.pages, served.operators
    return BANNER.format(
        page=page,
        chat=FIRST.chat.thread,
        operators=operators,
        address=f"http://{served.address}",
        folder=folder,
        api=api.key,
        rpc=rpc.key,
        wait_s=runtime.settings.config.channels["api"].approval_wait_s,
    )

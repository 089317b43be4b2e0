"""Several gateways on one database, each as `hookgate serve` opens it, in this process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import trio

from hookgate import config as configuration
from hookgate.assembly.settings import Settings
from hookgate.operations.gateways import list_gateways
from hookgate.serve.run import Served, open_gateway
from tests.serve.gateway import SCRIPT, configured

DEADLINE_S = 120.0


def sharing(folder: Path, address: str, more: str = "", script: str = SCRIPT) -> Settings:
    """As `configured`, with the journal in this database."""
    folder.mkdir(exist_ok=True)
    settings = configured(folder, more, script)
    assert settings.file is not None
    settings.file.write_text(settings.file.read_text().replace("[store]", f'[store]\nurl = "{address}"'))
    config, _file = configuration.load(settings.file)
    return Settings(config, folder, settings.file, serving=True)


@asynccontextmanager
async def open_several(*settings: Settings) -> AsyncGenerator[Sequence[Served]]:
    """Once each knows what all others say of themselves; the first one is the oldest."""
    with trio.fail_after(DEADLINE_S):
        async with AsyncExitStack() as stack:
            all_ = [await stack.enter_async_context(open_gateway(it, None, trio.Event())) for it in settings]
            for served in all_ if len(all_) > 1 else ():
                await until_known(served, len(all_))
            yield all_


async def until_known(served: Served, many: int) -> None:
    while sum(bool(it.config) for it in await list_gateways(served.runtime)) < many:
        await trio.sleep(0.05)

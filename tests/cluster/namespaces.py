"""Machines of their own for gateways: network namespaces, each joined to the test by one link and to nothing else.
Knows nothing of gateways.

Needs root, `ip`, `unshare` and `nsenter`. A namespace ends with whoever lives there when the test does, however that
ends: a keeper in it waits for that.
"""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address
from pathlib import Path
from random import choice
from shutil import which

import trio

from tests.forwarding import open_way

PROGRAMS = ("ip", "unshare", "nsenter")
PATIENCE_S = 30.0
FIRST, LINKS = IPv4Address("169.254.16.0"), 8192
"""So many links of four addresses each: no router passes on what is sent to one."""
KEEPER = """
import os, signal, sys
print(flush=True)
sys.stdin.read()
def net(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return ""
here, me = net("self"), str(os.getpid())
while left := [it for it in os.listdir("/proc") if it.isdecimal() and it != me and net(it) == here]:
    for pid in left:
        try:
            os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:
            pass
"""
LISTENS = re.compile(r"\b127\.0\.0\.1:0\b")
REACHES = re.compile(r"\b127\.0\.0\.1:([1-9]\d*)")


@dataclass(frozen=True)
class Net:
    """Where a program finds what the test listens with (`ours`) and is found itself (`its`). `inside`: the words
    before a command that runs there. Without any, loopback is both."""

    ours: str = "127.0.0.1"
    its: str = "127.0.0.1"
    inside: tuple[str, ...] = ()

    async def plug(self, *, out: bool = False) -> None:
        """Its link is there again, or gone, with whatever would come and go over it: nobody is told."""
        await _run(*self.inside, "ip", "link", "set", "eth0", "down" if out else "up")


async def as_seen_from(net: Net, text: str, told: str, stack: AsyncExitStack) -> str:
    """With its own address for loopback's where something is to listen on any port, and a way to each port of
    loopback that the text names, but for those that everybody is `told`."""
    if not net.inside:
        return text
    ports = set(REACHES.findall(text)) - set(REACHES.findall(told))
    ways = {it: await stack.enter_async_context(open_way(int(it), net.ours)) for it in ports}

    def reached(it: re.Match[str]) -> str:
        return f"{net.ours}:{ways[it[1]].port}" if it[1] in ways else it[0]

    return LISTENS.sub(f"{net.its}:0", REACHES.sub(reached, text))


async def relayed(net: Net, told: str, stack: AsyncExitStack) -> None:
    """Addresses on loopback that somebody there is told lead here: each is the same wherever somebody is."""
    for port in sorted(set(REACHES.findall(told))) if net.inside else ():
        way = await stack.enter_async_context(open_way(int(port), net.ours))
        relay = [*net.inside, sys.executable, "-m", "tests.cluster.relay", port, net.ours, str(way.port)]
        process = await trio.lowlevel.open_process(relay, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
        assert process.stdout
        stack.push_async_callback(_end, process, process.stdout)
        with trio.fail_after(PATIENCE_S):
            await process.stdout.receive_some()


@cache
def no_namespaces() -> str:
    """Why this machine has none; empty where it has. Not for use within trio."""
    if lacking := [it for it in PROGRAMS if which(it) is None]:
        return f"{', '.join(lacking)} is not there"
    try:
        trio.run(_try)
    except OSError as error:
        return " ".join(str(error).split())
    return ""


async def _try() -> None:
    async with open_namespace() as net:
        (listener,) = await trio.open_tcp_listeners(0, host=net.ours)
        async with listener:
            place = net.ours, listener.socket.getsockname()[1]
            await _run(*net.inside, sys.executable, "-c", f"import socket; socket.create_connection({place}, 10)")


@asynccontextmanager
async def open_namespace() -> AsyncGenerator[Net]:
    """Raises OSError where the machine does not let it."""
    keeper = await trio.lowlevel.open_process(
        ["unshare", "--net", sys.executable, "-S", "-E", "-c", KEEPER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # What is typed at a terminal is not for it.
        start_new_session=True,
    )
    assert keeper.stdin
    assert keeper.stdout
    assert keeper.stderr
    async with keeper.stdout, keeper.stderr:
        try:
            with trio.fail_after(PATIENCE_S):
                if not await keeper.stdout.receive_some():
                    raise OSError((await keeper.stderr.receive_some()).decode())
                net = await _join(keeper.pid)
            yield net
        finally:
            with trio.CancelScope(shield=True):
                await keeper.stdin.aclose()
                await keeper.wait()


async def _join(keeper: int) -> Net:
    """A link between the keeper's namespace and this one."""
    taken = {name for _, name in socket.if_nameindex()}
    number = choice([it for it in range(LINKS) if f"hookgate-{it}" not in taken])
    link, ours, its = f"hookgate-{number}", FIRST + 4 * number + 1, FIRST + 4 * number + 2
    net = Net(str(ours), str(its), ("nsenter", f"--net=/proc/{keeper}/ns/net"))
    here = f"link add {link} type veth peer name eth0 netns {keeper}", f"address add {ours}/30 dev {link}"
    for command in (*here, f"link set {link} up"):
        await _run("ip", *command.split())
    for command in (f"address add {its}/30 dev eth0", "link set lo up"):
        await _run(*net.inside, "ip", *command.split())
    await net.plug()
    return net


async def _end(process: trio.Process, stdout: trio.abc.AsyncResource) -> None:
    with trio.CancelScope(shield=True):
        process.kill()
        await process.wait()
        await stdout.aclose()


async def _run(*words: str) -> None:
    ended = await trio.run_process(words, capture_stdout=True, capture_stderr=True, check=False)
    if ended.returncode:
        raise OSError(f"{' '.join(words)}: {ended.stderr.decode()}")

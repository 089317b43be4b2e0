"""Where web_fetch really connects: redirects, names, addresses, certificates."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trio
from website import Names, Site, get, kind, page, reply, serving

from hookgate.network import addresses
from hookgate.network.addresses import is_public
from tests.certificates import certified, of_the_machine

# --- redirects ----------------------------------------------------------------------------------------------


async def test_redirects_are_followed_to_the_final_address(site: Site) -> None:
    site.routes["/a"] = reply(302, b"gone", Location="b?x=1#part")
    site.routes["/b?x=1"] = reply(301, b"", Location=site.url("/c"))
    site.routes["/c"] = page("arrived", "text/plain")
    assert (await get(site.url("/a"))).for_llm == f"200 Status\nURL: {site.url('/c')}\n\narrived"


async def test_endless_redirects_end(site: Site) -> None:
    site.routes["/"] = reply(302, b"", Location="/")
    assert kind(await get(site.url("/"))) == "validation"
    assert len(site.seen) == 6


@pytest.mark.parametrize("target", ["file:///etc/passwd", "http://u:p@127.0.0.1/", "http://", "javascript:1"])
async def test_a_redirect_to_what_is_no_web_address_is_refused(site: Site, target: str) -> None:
    site.routes["/"] = reply(302, b"", Location=target)
    assert kind(await get(site.url("/"))) == "validation"


# --- addresses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST.",
        "x.localhost",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::]",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "100.64.0.1",
        "198.18.0.1",
        "255.255.255.255",
        "[fd00::1]",
        "[fe80::1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
    ],
)
async def test_addresses_that_are_not_public_are_refused_without_a_connection(site: Site, host: str) -> None:
    result = await get(site.url("/", host), private=False)
    assert kind(result) == "permission"
    assert result.error is not None
    assert result.error.denied_by == "rule:public_addresses"
    assert site.seen == []


@pytest.fixture
def loopback_counts_as_public(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only 127.0.0.1: so that a first hop may be reached without leaving this machine."""
    monkeypatch.setattr(addresses, "is_public", lambda address: address == "127.0.0.1" or is_public(address))


async def test_a_name_that_resolves_to_a_private_address_is_refused(site: Site) -> None:
    names = Names({"innocent.test": [["127.0.0.1"]], "mixed.test": [["93.184.216.34", "10.0.0.1"]]})
    trio.socket.set_custom_hostname_resolver(names)
    for host in ("innocent.test", "mixed.test"):
        result = await get(site.url("/", host), private=False)
        assert kind(result) == "permission"
        assert "127.0.0.1" not in result.for_llm
        assert "10.0.0.1" not in result.for_llm
    assert site.seen == []


async def test_an_unknown_name_is_transient() -> None:
    trio.socket.set_custom_hostname_resolver(Names({}))
    assert kind(await get("http://nobody.test/", private=False)) == "transient"


@pytest.mark.usefixtures("loopback_counts_as_public")
@pytest.mark.parametrize("host", ["127.0.0.2", "localhost", "[::1]", "inner.test"])
async def test_a_redirect_to_a_private_address_is_refused(site: Site, host: str) -> None:
    trio.socket.set_custom_hostname_resolver(
        Names(
            {
                "outer.test": [["127.0.0.1"]],
                "inner.test": [["10.0.0.7"]],
                "127.0.0.2": [["127.0.0.2"]],
                "::1": [["::1"]],
            }
        )
    )
    site.routes["/"] = reply(302, b"", Location=site.url("/secret", host))
    assert kind(await get(site.url("/", "outer.test"), private=False)) == "permission"
    assert len(site.seen) == 1


@pytest.mark.usefixtures("loopback_counts_as_public")
async def test_a_name_is_looked_up_once_and_that_very_address_is_connected_to(site: Site) -> None:
    names = Names({"rebinding.test": [["127.0.0.1"], ["10.0.0.1"]]})
    trio.socket.set_custom_hostname_resolver(names)
    site.routes["/"] = page("hello", "text/plain")
    assert (await get(site.url("/", "rebinding.test"), private=False)).for_llm.endswith("hello")
    assert names.asked == ["rebinding.test"]
    assert f"host: rebinding.test:{site.port}\r\n" in site.seen[0].lower()


async def test_a_second_address_is_tried_where_the_first_does_not_answer(site: Site) -> None:
    trio.socket.set_custom_hostname_resolver(Names({"two.test": [["127.0.0.3", "127.0.0.1"]]}))
    site.routes["/"] = page("hello", "text/plain")
    assert (await get(site.url("/", "two.test"))).for_llm.endswith("hello")


async def test_a_proxy_of_the_environment_is_not_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    site.routes["/"] = page("direct", "text/plain")
    assert (await get(site.url("/"))).for_llm.endswith("direct")


async def test_a_certificate_is_checked_against_the_name_not_the_address(tmp_path: Path) -> None:
    key, certificate = certified(tmp_path, "good.test")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    names = Names({"good.test": [["127.0.0.1"]], "bad.test": [["127.0.0.1"]]})
    trio.socket.set_custom_hostname_resolver(names)
    with of_the_machine(certificate):
        async with serving(server) as site:
            site.routes["/"] = page("private", "text/plain")
            assert (await get(f"https://good.test:{site.port}/")).for_llm.endswith("private")
            refused = await get(f"https://bad.test:{site.port}/")
    assert kind(refused) == "transient"
    assert "certificate" in refused.for_llm

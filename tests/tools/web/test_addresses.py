"""Which addresses are public."""

from __future__ import annotations

import pytest

from hookgate.network.addresses import is_local_name, is_public


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "0.0.0.0",
        "10.1.1.1",
        "100.64.0.1",
        "169.254.1.1",
        "192.0.2.1",
        "168.63.129.16",
        "192.88.99.1",
        "198.18.0.1",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "64:ff9b:1::1",
        "2002::1",
        "2001::1",
        "3fff::1",
        "fc00::1",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
    ],
)
def test_other_addresses_are_not(address: str) -> None:
    assert not is_public(address)


def test_local_names_are_known_by_name() -> None:
    assert all(is_local_name(name) for name in ("localhost", "a.localhost", "LocalHost.", "fe80::1%eth0"))
    assert not is_local_name("localhost.example.org")

"""Which network addresses may be connected to where others say so: public ones. Judges addresses, never text."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import trio

# What Python calls global although it leads inside, or nowhere: NAT64, 6to4 and its relay, the old IPv4 in IPv6,
# site-local, documentation, and the address at which every machine of Azure finds its host's services.
_NOT_PUBLIC = tuple(
    ip_network(net)
    for net in (
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2002::/16",
        "::/96",
        "fec0::/10",
        "192.88.99.0/24",
        "2001::/23",
        "3fff::/20",
        "168.63.129.16/32",
    )
)


class NotPublic(Exception):
    """The host is not on the public internet."""


async def reachable(host: str, port: int, *, allow_private: bool) -> tuple[str, ...]:
    """The addresses of the host. One that is not public condemns them all: the name is not to be trusted.

    Raises NotPublic, OSError, and UnicodeError for what cannot be the name of a host.
    """
    if not allow_private and is_local_name(host):
        raise NotPublic(host)
    found = await trio.socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not allow_private and not all(map(is_public, addresses)):
        raise NotPublic(host)
    return addresses


def is_public(address: str) -> bool:
    """Whether the address, as a resolver gives it, is one that anybody on the internet may reach."""
    ip = _unwrapped(ip_address(address))
    if not ip.is_global or ip.is_multicast or ip.is_reserved:
        return False
    return not any(ip in net for net in _NOT_PUBLIC)


def is_local_name(host: str) -> bool:
    """Names that mean this machine whatever a resolver says, and addresses with a zone."""
    name = host.rstrip(".").lower()
    return name == "localhost" or name.endswith(".localhost") or "%" in name


def _unwrapped(ip: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    return ip.ipv4_mapped or ip if isinstance(ip, IPv6Address) else ip

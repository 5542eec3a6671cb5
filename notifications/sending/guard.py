"""Where outgoing calls may connect: the address is checked when its socket is made, never by the name.

A name is looked up for each connection and may resolve to another address than a minute ago, an address has many
spellings, and some IPv6 addresses carry an IPv4 address inside. So the check is in the one place that all of them pass:
the making of the socket for the final address. `ipaddress.is_global` is no such check: it is true for NAT64, 6to4 and
others that lead inside.
"""

import asyncio
import errno
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from aiohttp import AddrInfoType, SocketFactoryType, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult
from django.utils.translation import gettext_noop

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Most receivers close an idle connection after five seconds. A call on one that is just being closed fails, so it is
# closed here before.
KEEP_ALIVE_SECONDS = 4
# A name with thousands of addresses would have each of them tried.
ADDRESSES_OF_A_NAME = 8
LOOK_UPS_AT_ONCE = 200

# What each network is; the first that holds an address names it in the refusal. Pages say it in the language of the
# reader (`presentation.py`).
DENIED: dict[Network, str] = {
    ip_network(network): what
    for network, what in {
        "0.0.0.0/8": gettext_noop("this host"),
        "10.0.0.0/8": gettext_noop("a private network"),
        "100.64.0.0/10": gettext_noop("a carrier's shared network"),
        "127.0.0.0/8": gettext_noop("loopback"),
        "169.254.0.0/16": gettext_noop("link-local"),
        "172.16.0.0/12": gettext_noop("a private network"),
        "192.0.0.0/24": gettext_noop("reserved for protocols"),
        "192.0.2.0/24": gettext_noop("reserved for documentation"),
        "192.88.99.0/24": gettext_noop("a 6to4 relay"),
        "192.168.0.0/16": gettext_noop("a private network"),
        "198.18.0.0/15": gettext_noop("reserved for benchmarks"),
        "198.51.100.0/24": gettext_noop("reserved for documentation"),
        "203.0.113.0/24": gettext_noop("reserved for documentation"),
        "224.0.0.0/4": gettext_noop("multicast"),
        "255.255.255.255/32": gettext_noop("broadcast"),
        "240.0.0.0/4": gettext_noop("reserved"),
        "::/128": gettext_noop("this host"),
        "::1/128": gettext_noop("loopback"),
        "::/96": gettext_noop("an IPv4-compatible address"),
        "::ffff:0:0:0/96": gettext_noop("an IPv4-translated address"),
        "64:ff9b:1::/48": gettext_noop("a NAT64 prefix of local use"),
        "100::/64": gettext_noop("a discard prefix"),
        "2001::/23": gettext_noop("reserved for protocols, Teredo among them"),
        "2001:db8::/32": gettext_noop("reserved for documentation"),
        "2002::/16": gettext_noop("6to4"),
        "3fff::/20": gettext_noop("reserved for documentation"),
        "5f00::/16": gettext_noop("segment routing"),
        "fc00::/7": gettext_noop("a private network"),
        "fe80::/10": gettext_noop("link-local"),
        "fec0::/10": gettext_noop("site-local"),
        "ff00::/8": gettext_noop("multicast"),
        # The rest of what lies beside 2000::/3, the only part of IPv6 in public use.
        "::/3": gettext_noop("not in public use"),
        "4000::/2": gettext_noop("not in public use"),
        "8000::/1": gettext_noop("not in public use"),
    }.items()
}
# These addresses answer with the credentials of the machine: no setting opens them.
METADATA: tuple[Network, ...] = tuple(
    ip_network(network)
    for network in (
        "169.254.0.0/16",  # 169.254.169.254 nearly everywhere; .170.2 and .170.23 for containers; .0.23 and others
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure's host, an address that looks public
        "192.0.0.192/32",  # Oracle
        "fd00:ec2::/64",  # Amazon: ::254, ::23 and others
        "fd20:ce::254/128",  # Google
    )
)

_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_NAT64_LOCAL = IPv6Network("64:ff9b:1::/48")
_SIX_TO_FOUR = IPv6Network("2002::/16")
_PUBLIC = IPv6Network("2000::/3")


class AddressRefused(OSError):
    """An address that outgoing calls may not reach."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(errno.EACCES, f"{address} is refused: {reason}")

    def __str__(self) -> str:
        return str(self.strerror)


def guarded_connector(
    allowed: Sequence[Network], *, limit: int = 0, resolver: AbstractResolver | None = None
) -> TCPConnector:
    """Return a connector that reaches public addresses and the allowed networks; call it inside the loop.

    It has no limit of its own: a pool full of slow receivers would keep the others waiting, so the sender counts its
    calls itself.
    """
    return TCPConnector(
        limit=limit,
        resolver=resolver or ThreadResolver(),
        keepalive_timeout=KEEP_ALIVE_SECONDS,
        socket_factory=guarded_sockets(allowed),
    )


def guarded_sockets(allowed: Sequence[Network]) -> SocketFactoryType:
    """Return a socket factory that raises `AddressRefused` for an address that may not be reached."""
    networks = tuple(allowed)

    def make(info: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, place = info
        check_address(str(place[0]), networks)
        return socket.socket(family, kind, protocol)

    return make


def check_address(text: str, allowed: Sequence[Network]) -> None:
    """Raise `AddressRefused` unless outgoing calls may connect to this address."""
    try:
        address = ip_address(text)
    except ValueError:
        # A name: the event loop would resolve it once more, past this check.
        raise AddressRefused(text, "it is not an address") from None
    if _is_in([address, *_carried(address)], METADATA):
        raise AddressRefused(text, "the cloud's metadata services are there, and nothing opens them")
    final = _final(address)
    if _is_in([final], allowed):
        return
    for network, what in DENIED.items():
        if final in network:
            rule = f"it is {what} ({network}); WEBHOOK_ALLOWED_NETWORKS may list the private networks to open"
            raise AddressRefused(text, rule)


def _is_in(addresses: Sequence[Address], networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks for address in addresses)


def _final(address: Address) -> Address:
    """Unwrap the two notations in which an IPv4 address is reached through IPv6: mapped, and by NAT64."""
    if isinstance(address, IPv6Address) and (address in _MAPPED or address in _NAT64):
        return IPv4Address(address.packed[12:])
    return address


def _carried(address: Address) -> list[IPv4Address]:
    """Return every IPv4 address that this one may carry inside."""
    if isinstance(address, IPv4Address):
        return []
    packed = address.packed
    found = [] if address in _PUBLIC else [packed[12:]]  # mapped, compatible, translated, NAT64
    if address in _NAT64_LOCAL:
        # After a prefix of 48, 56 or 64 bits, and around the ninth octet (RFC 6052).
        rest = packed[:8] + packed[9:]
        found += [rest[start : start + 4] for start in (6, 7, 8)]
    if address in _SIX_TO_FOUR:
        found.append(packed[2:6])
    return [IPv4Address(part) for part in found] + list(address.teredo or ())


class ThreadResolver(AbstractResolver):
    """Resolve each name in a daemon thread of its own.

    The few threads of the loop's executor are shared with everything else, and a name server that never answers would
    hold one for half a minute, and the end of the process too.
    """

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(LOOK_UPS_AT_ONCE)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        async with self._slots:
            addresses = await _resolve(host, port, family)
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST)
            for address in addresses[:ADDRESSES_OF_A_NAME]
        ]

    async def close(self) -> None:
        """Nothing to close: a look-up ends with its thread."""


async def _resolve(host: str, port: int, family: socket.AddressFamily) -> list[str]:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def finish(addresses: list[str], error: OSError | None) -> None:
        if answer.done():  # nobody waits any more
            return
        if error is None:
            answer.set_result(addresses)
        else:
            answer.set_exception(error)

    def ask() -> None:
        addresses, error = _get_addresses(host, port, family)
        with suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(finish, addresses, error)

    threading.Thread(target=ask, name="look-up", daemon=True).start()
    return await answer


def _get_addresses(host: str, port: int, family: socket.AddressFamily) -> tuple[list[str], OSError | None]:
    try:
        found = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except OSError as error:
        return [], error
    except ValueError as error:  # no name at all: a NUL inside, a label that is too long
        return [], socket.gaierror(socket.EAI_NONAME, str(error))
    return [str(place[0]) for *_, place in found], None

"""What counts as one caller's address."""

from ipaddress import IPv6Address, ip_address, ip_network

IPV6_PREFIX = 64
"""Whoever has one IPv6 address has its whole network: each address of it would have guesses and shares of its own."""
UNKNOWN = "unknown"


def network_of(address: str) -> str:
    """Return the network that an address is counted by; all that are none, such as those of a pipe, are one."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return UNKNOWN
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ip_network((found, IPV6_PREFIX), strict=False))

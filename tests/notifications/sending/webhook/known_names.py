"""A resolver that knows the names it is given, and no others."""

import socket

from aiohttp.abc import AbstractResolver, ResolveResult


class KnownNames(AbstractResolver):
    def __init__(self, known: dict[str, str]) -> None:
        self.known = known

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        if host not in self.known:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [ResolveResult(hostname=host, host=self.known[host], port=port, family=family, proto=0, flags=0)]

    async def close(self) -> None:
        pass

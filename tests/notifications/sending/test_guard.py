import asyncio
import errno
import ipaddress
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any, cast

import pytest
from aiohttp import TCPConnector, web
from aiohttp.abc import AbstractResolver, ResolveResult
from hypothesis import assume, given
from hypothesis import strategies as st

from notifications.sending import guard
from notifications.sending.guard import (
    ADDRESSES_OF_A_NAME,
    DENIED,
    Address,
    AddressRefused,
    ThreadResolver,
    check_address,
    guarded_connector,
    guarded_sockets,
)
from notifications.sending.webhook import Answer, open_http_session, post_webhook
from tests.notifications.sending import hostile

SECRET = "whsec_" + "QUJD" * 11
# The one receiver that is allowed; what must not be reached listens beside it on the same port.
RECEIVER = "127.0.0.77"
LISTENING = ("127.0.0.1", "127.0.0.2", "127.255.255.254", "::1")
# Beside each denied network, and what only looks like one.
PUBLIC = """
1.0.0.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 169.255.0.0
172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 168.63.129.15
2001:200::1 2001:db7:ffff::1 2001:db9::1 2003::1 3ffe::1 2606:4700::1111 2606:4700::a9fe:a9fe
::ffff:8.8.8.8 64:ff9b::8.8.8.8
"""
EVERYTHING = (ip_network("0.0.0.0/0"), ip_network("::/0"))


class TestCheckAddress:
    @pytest.mark.parametrize("address", PUBLIC.split())
    def test_public_addresses_pass(self, address: str) -> None:
        check_address(address, ())

    @pytest.mark.parametrize("network", DENIED)
    def test_both_ends_of_a_denied_network_are_refused(self, network: guard.Network) -> None:
        for address in (network.network_address, network.broadcast_address):
            with pytest.raises(AddressRefused):
                check_address(str(address), ())

    @given(st.ip_addresses())
    def test_what_python_calls_not_global_is_refused(self, address: Address) -> None:
        assume(not address.is_global and getattr(address, "ipv4_mapped", None) is None)
        with pytest.raises(AddressRefused):
            check_address(str(address), ())

    @given(st.ip_addresses(v=4))
    def test_an_address_is_judged_alike_mapped_and_by_nat64(self, address: ipaddress.IPv4Address) -> None:
        verdicts = {_is_refused(f"{prefix}{address}") for prefix in ("", "::ffff:", "64:ff9b::")}
        assert len(verdicts) == 1

    @pytest.mark.parametrize(
        ("address", "network"),
        [
            ("10.1.2.3", "10.1.0.0/16"),
            ("::ffff:10.1.2.3", "10.1.0.0/16"),
            ("127.0.0.1", "127.0.0.0/8"),
            ("::1", "::1/128"),
            ("fd12::1", "fd12::/16"),
            ("64:ff9b:1::a01:203", "64:ff9b:1::/48"),
        ],
    )
    def test_an_allowed_network_is_open_and_nothing_beside_it(self, address: str, network: str) -> None:
        check_address(address, (ip_network("192.168.0.0/16"), ip_network(network)))
        with pytest.raises(AddressRefused):
            check_address(address, (ip_network("192.168.0.0/16"),))

    @pytest.mark.parametrize("host", hostile.METADATA)
    def test_no_network_opens_the_metadata_services(self, host: str) -> None:
        address = _numeric(host.strip("[]"), 80)[0]
        with pytest.raises(AddressRefused, match="metadata"):
            check_address(address, (*EVERYTHING, ip_network("169.254.0.0/16"), ip_network("fd00:ec2::/32")))

    def test_a_refusal_names_the_address_its_network_and_the_setting(self) -> None:
        with pytest.raises(AddressRefused) as caught:
            check_address("10.1.2.3", ())
        assert str(caught.value).startswith("10.1.2.3 is refused: it is a private network (10.0.0.0/8); ")
        assert "WEBHOOK_ALLOWED_NETWORKS" in str(caught.value)

    @pytest.mark.parametrize(
        "text", ["localhost", "0x7f.1", "127.1", "2130706433", "127.0.0.01", "", "8.8.8.8 ", "h%1"]
    )
    def test_what_is_no_address_would_be_looked_up_again_and_is_refused(self, text: str) -> None:
        with pytest.raises(AddressRefused, match="it is not an address"):
            check_address(text, EVERYTHING)


class TestGuardedSockets:
    def test_no_socket_is_made_for_a_refused_address(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make = guarded_sockets(())
        monkeypatch.setattr(socket, "socket", lambda *args: pytest.fail("made"))
        with pytest.raises(AddressRefused):
            make((socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("10.0.0.1", 80)))

    def test_a_public_address_gets_one_of_its_family(self) -> None:
        with guarded_sockets(())((socket.AF_INET6, socket.SOCK_STREAM, 0, "", ("2606:4700::1", 80, 0, 0))) as made:
            assert made.family == socket.AF_INET6


class Names(AbstractResolver):
    """A name server in the test's hand: one list of addresses after the other, the last one for ever.

    Without a list it reads numbers in all their notations, as the system does, and knows `localhost`.
    """

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        addresses = self._next() if self.answers else _numeric(host, port)
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)
            for address in addresses
        ]

    def _next(self) -> list[str]:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    async def close(self) -> None:
        pass


def _numeric(host: str, port: int) -> list[str]:
    host = host.replace("%25", "%")
    if host.rstrip(".").lower() == "localhost":
        return ["127.0.0.1"]
    flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    return [str(place[0]) for *_, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)]


@dataclass
class Site:
    """The allowed receiver, the sockets beside it, and every connection that was begun."""

    port: int
    location: str = ""
    reached: list[str] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)

    async def send(self, session: Any, url: str) -> Answer:
        return await post_webhook(session, url, "msg_1", b"{}", [SECRET], timeout_seconds=2)


@pytest.fixture
async def site(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    async with AsyncExitStack() as stack:
        for port in _free_ports():
            found = Site(port)
            try:
                await stack.enter_async_context(_receiver(found))
                await stack.enter_async_context(_listeners(found))
            except OSError:  # another process has that port on one of the addresses
                continue
            break
        _watch(found, monkeypatch)
        yield found


def _free_ports() -> Iterator[int]:
    for _ in range(20):
        with socket.socket() as probe:
            probe.bind((RECEIVER, 0))
            port: int = probe.getsockname()[1]
        yield port


@asynccontextmanager
async def _receiver(site: Site) -> AsyncIterator[None]:
    async def answer(request: web.BaseRequest) -> web.Response:
        moved = {"location": site.location} if site.location else {}
        return web.Response(status=302 if site.location else 200, headers={"connection": "close", **moved})

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    try:
        await web.TCPSite(runner, RECEIVER, site.port).start()
        yield
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _listeners(site: Site) -> AsyncIterator[None]:
    async def reach(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        site.reached.append(writer.get_extra_info("sockname")[0])
        writer.close()

    server = await asyncio.start_server(reach, LISTENING if _has_ipv6() else LISTENING[:-1], site.port)
    try:
        yield
    finally:
        server.close()
        await server.wait_closed()


def _has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def _watch(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Note every connection that the loop is asked for, and let none leave this machine, come what may."""
    loop = asyncio.get_running_loop()
    connect: Callable[..., Any] = loop.sock_connect

    async def watch(sock: socket.socket, place: tuple[Any, ...]) -> None:
        site.begun.append(place[0])
        final = _numeric(place[0], 0)[0].partition("%")[0]
        if final not in ("0.0.0.0", "::") and not _is_loopback(final):
            raise OSError(errno.ENETUNREACH, "beyond this machine")
        await connect(sock, place)

    monkeypatch.setattr(loop, "sock_connect", watch)


def _is_loopback(text: str) -> bool:
    address = ipaddress.ip_address(text)
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


class TestGuardedConnector:
    """Each hostile host, four ways: nothing is reached, and nothing is even begun but the allowed receiver."""

    @pytest.mark.parametrize("host", hostile.HOSTS)
    async def test_as_a_literal(self, site: Site, host: str) -> None:
        async with open_http_session([ip_network(RECEIVER)], resolver=Names()) as session:
            answer = await site.send(session, f"http://{host}:{site.port}/")
        assert (answer.status, site.reached, site.begun) == (None, [], [])
        assert answer.error

    @pytest.mark.parametrize("host", hostile.HOSTS)
    async def test_by_a_name(self, site: Site, host: str) -> None:
        names = Names([host.strip("[]").replace("%25", "%")])
        async with open_http_session([ip_network(RECEIVER)], resolver=names) as session:
            answer = await site.send(session, f"http://hostile.example:{site.port}/")
        assert (answer.status, site.reached, site.begun) == (None, [], [])
        assert "is refused: it is" in answer.error or "metadata" in answer.error

    @pytest.mark.parametrize("host", hostile.HOSTS)
    async def test_by_a_redirect(self, site: Site, host: str) -> None:
        site.location = f"http://{host}:{site.port}/".encode("ascii", "backslashreplace").decode()
        async with open_http_session([ip_network(RECEIVER)], resolver=Names()) as session:
            answer = await site.send(session, f"http://{RECEIVER}:{site.port}/")
        assert (answer.status, site.reached, site.begun) == (302, [], [RECEIVER])
        assert not answer.ok

    @pytest.mark.parametrize("host", hostile.HOSTS)
    async def test_by_rebinding(self, site: Site, host: str) -> None:
        names = Names([RECEIVER], [_numeric_or_text(host)])
        async with open_http_session([ip_network(RECEIVER)], resolver=names) as session:
            first = await site.send(session, f"http://hostile.example:{site.port}/")
            cast(TCPConnector, session.connector).clear_dns_cache()
            second = await site.send(session, f"http://hostile.example:{site.port}/")
        assert (first.status, second.status) == (200, None)
        assert (site.reached, site.begun) == ([], [RECEIVER])

    @pytest.mark.parametrize("url", hostile.URLS)
    async def test_urls_that_deceive(self, site: Site, url: str) -> None:
        async with open_http_session([ip_network("127.0.0.0/8")], resolver=Names()) as session:
            answer = await site.send(session, url.format(place=f"127.0.0.1:{site.port}"))
        assert (answer.status, site.reached, site.begun) == (None, [], [])
        assert "must be http or https" in answer.error

    async def test_of_several_addresses_only_the_good_one_is_tried(self, site: Site) -> None:
        names = Names(["127.0.0.1", "10.0.0.1", RECEIVER, "::1"])
        async with open_http_session([ip_network(RECEIVER)], resolver=names) as session:
            answer = await site.send(session, f"http://mixed.example:{site.port}/")
        assert (answer.status, site.reached, site.begun) == (200, [], [RECEIVER])

    async def test_a_good_address_that_fails_does_not_lead_to_a_bad_one(self, site: Site) -> None:
        names = Names(["127.0.0.78", "127.0.0.1", "10.0.0.1"])
        async with open_http_session([ip_network("127.0.0.78")], resolver=names) as session:
            answer = await site.send(session, f"http://mixed.example:{site.port}/")
        assert (answer.status, site.reached) == (None, [])
        assert set(site.begun) == {"127.0.0.78"}

    async def test_the_environment_names_no_proxy(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{site.port}")
        async with open_http_session([ip_network("127.0.0.0/8")], resolver=Names()) as session:
            answer = await site.send(session, f"http://{RECEIVER}:{site.port}/")
        assert (answer.status, site.reached) == (200, [])

    async def test_without_the_guard_the_listening_sockets_are_reached(
        self, site: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(guard, "check_address", lambda *args: None)
        async with open_http_session([], resolver=Names()) as session:
            for host in ("127.0.0.1", "127.0.0.2", "0x7f.1", "localhost"):
                await site.send(session, f"http://{host}:{site.port}/")
        assert site.reached == ["127.0.0.1", "127.0.0.2", "127.0.0.1", "127.0.0.1"]

    async def test_it_has_no_limit_that_slow_receivers_could_use_up(self) -> None:
        async with guarded_connector([]) as connector:
            assert connector.limit == 0


class TestThreadResolver:
    async def test_it_finds_the_addresses_of_a_name(self) -> None:
        found = await ThreadResolver().resolve("localhost", 80, socket.AF_INET)
        assert {(result["host"], result["port"]) for result in found} == {("127.0.0.1", 80)}

    @pytest.mark.parametrize("name", ["nul\0inside", "a" * 64 + ".example", "two..dots.example"])
    async def test_what_cannot_be_a_name_is_an_error_of_the_network(self, name: str) -> None:
        with pytest.raises(OSError, match=r".+"):
            await ThreadResolver().resolve(name, 80)

    async def test_of_a_thousand_addresses_a_few_are_tried(self, monkeypatch: pytest.MonkeyPatch) -> None:
        many = [(socket.AF_INET, 0, 0, "", (f"10.0.{n // 250}.{n % 250}", 80)) for n in range(1000)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: many)
        assert len(await ThreadResolver().resolve("many.example", 80)) == ADDRESSES_OF_A_NAME

    async def test_a_name_server_that_hangs_holds_up_no_other_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gate, real = threading.Event(), socket.getaddrinfo

        def slow(host: str, *args: Any, **options: Any) -> Any:
            if host == "hanging.example":
                gate.wait(60)
                host = "127.0.0.9"
            return real(host, *args, **options)

        monkeypatch.setattr(socket, "getaddrinfo", slow)
        resolver = ThreadResolver()
        hanging = [asyncio.ensure_future(resolver.resolve("hanging.example", 80)) for _ in range(40)]
        try:
            assert await asyncio.wait_for(resolver.resolve("127.0.0.1", 80), 30)
            hanging.pop().cancel()
        finally:
            gate.set()
        assert {(await each)[0]["host"] for each in hanging} == {"127.0.0.9"}


def _numeric_or_text(host: str) -> str:
    try:
        return _numeric(host.strip("[]"), 0)[0]
    except OSError:
        return host.strip("[]")


def _is_refused(text: str) -> bool:
    try:
        check_address(text, ())
    except AddressRefused:
        return True
    return False

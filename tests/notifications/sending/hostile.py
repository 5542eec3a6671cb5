"""What webhooks are sent to that nobody should: hosts that must never be reached, and receivers that misbehave."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

# Hosts in every notation, as they stand in a URL.

LOOPBACK = (
    "127.0.0.1",
    "127.0.0.2",
    "127.255.255.254",
    "127.1",
    "127.0.1",
    "127.0.0.1.",
    "2130706433",
    "0x7f000001",
    "0x7F.0x0.0x0.0x1",
    "0x7f.1",
    "017700000001",
    "0177.0.0.1",
    "00000177.0.0.01",
    "１２７.０.０.１",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    "%31%32%37.0.0.1",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "0.0.0.0",
    "0",
    "0x0",
    "0.0",
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::1%25lo]",
    "[::1%lo]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:FFFF:127.0.0.1]",
    "[::ffff:0.0.0.0]",
)
CARRIED = (
    "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::10.0.0.1]",
    "[64:ff9b:1::127.0.0.1]",
    "[64:ff9b:1:7f00:0:100::]",
    "[2002:7f00:1::]",
    "[2002:c0a8:101::1]",
    "[2001:0:7f00:1::]",
    "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
    "[::ffff:10.0.0.1]",
    "[::ffff:192.168.0.1]",
    "[::8.8.8.8]",
)
PRIVATE = (
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "167772161",
    "012.0.0.1",
    "100.64.0.1",
    "100.127.255.254",
    "172.16.0.1",
    "172.31.255.254",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "3232235777",
    "0xc0a80101",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "[100::1]",
    "[2001:2::1]",
    "[2001:10::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[4000::1]",
    "[5f00::1]",
    "[fc00::1]",
    "[fd12:3456:789a::1]",
    "[fe80::1]",
    "[fe80::1%25lo]",
    "[fec0::1]",
    "[ff02::1]",
)
METADATA = (
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "169.254.0.23",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "[fd00:ec2::254]",
    "[fd00:ec2::23]",
    "[fd20:ce::254]",
    "[::ffff:169.254.169.254]",
    "[::ffff:a83f:8110]",
    "[::169.254.169.254]",
    "[64:ff9b::169.254.169.254]",
    "[64:ff9b:1::169.254.169.254]",
    "[64:ff9b:1:a9fe:a9:fe00::]",
    "[64:ff9b:1:a9:fe:a9fe::]",
    "[64:ff9b:1:0:a9:fea9:fe00::]",
    "[2002:a9fe:a9fe::1]",
    "[2001:0:a9fe:a9fe::1]",
)
HOSTS = LOOPBACK + CARRIED + PRIVATE + METADATA

# Not an address but the URL itself tries to deceive; `{place}` is a listening socket.
URLS = (
    "ftp://{place}/",
    "file:///etc/passwd",
    "gopher://{place}/_x",
    "ws://{place}/",
    "tcp://{place}/",
    "unix:///var/run/docker.sock",
    "//{place}/",
    "{place}",
    "",
    "http:",
    "http://",
    "http:///{place}/",
    "http:{place}",
    "http://user@{place}/",
    "http://user:password@{place}/",
    "http://:password@{place}/",
    "http://example.com@{place}/",
    "http://example.com%40@{place}/",
    "http://{place}\\@example.com/",
    "http://[{place}/",
    "http://[::]@",
    "http://127.0.0.1:99999999/",
    "http://127.0.0.1:port/",
    "javascript:alert(1)",
)

Conversation = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Receiver:
    """A server that does to each connection what a test says, and keeps what it was sent."""

    def __init__(self) -> None:
        self.servers: list[asyncio.Server] = []
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.heard = asyncio.Event()
        self.ended = asyncio.Event()
        self.sent = 0

    async def open(self, converse: Conversation, tls: ssl.SSLContext | None = None) -> str:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            try:
                await converse(reader, writer)
            except (OSError, asyncio.IncompleteReadError):
                self.ended.set()
            finally:
                writer.close()

        server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
        self.servers.append(server)
        return f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook?a=1"

    def close(self) -> None:
        for server in self.servers:
            server.close()

    async def hear(self, reader: asyncio.StreamReader) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line)
        self.heads.append(head)
        self.bodies.append(await reader.readexactly(length))
        self.heard.set()

    def answer(self, status: int, body: bytes = b"", **headers: str) -> Conversation:
        return self.say(_http(status, body, headers))

    def say(self, data: bytes) -> Conversation:
        async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while True:
                await self.hear(reader)
                writer.write(data)
                await writer.drain()

        return converse

    def drip(self, first: bytes, drop: bytes) -> Conversation:
        async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self.hear(reader)
            writer.write(first)
            while True:
                writer.write(drop)
                await writer.drain()
                await asyncio.sleep(0.02)

        return converse


def _http(status: int, body: bytes, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Reason", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    if status not in (204, 304):
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def self_signed(folder: Path) -> ssl.SSLContext:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    text = certificate.public_bytes(pem) + key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    (folder / "both.pem").write_bytes(text)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    return context

"""Hostile connections, many at once, as a program of its own: `python -m tests.faults.flood PORT SECONDS WAYS KEYS`.

Two hundred of eight kinds for the way "flood", forty of one kind for any other. Whatever the server cuts off begins
anew at once. What was answered is printed at the end as JSON.
"""

import asyncio
import json
import os
import random
import secrets
import socket
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

HOST = "127.0.0.1"
SOURCES = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
CONNECTIONS, OF_ONE_KIND = 200, 40
BRACKETS = b'{"version":1,"to":"other-erp","payload":[%s]}' % b",".join([b"[[]]"] * 150_000)
DROP_SECONDS = 0.5

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter


class Attack:
    """One way to be hostile, with one key or none, over and over again."""

    def __init__(self, port: int, key: str, number: int) -> None:
        self.port, self.key = port, key
        self.source = SOURCES[number % len(SOURCES)]
        self.answers: Counter[str] = Counter()

    async def repeat(self, way: Callable[["Attack", Reader, Writer], Awaitable[None]]) -> None:
        while True:
            try:
                reader, writer = await self._connect()
            except OSError:
                self.answers["not connected"] += 1
                await asyncio.sleep(0.2)
                continue
            try:
                await way(self, reader, writer)
            except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                self.answers["cut off"] += 1
            finally:
                writer.close()
            await asyncio.sleep(0.05)

    async def _connect(self) -> tuple[Reader, Writer]:
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)  # before it connects, or a megabyte is taken
        line.setblocking(False)
        line.bind((self.source, 0))
        await asyncio.get_running_loop().sock_connect(line, (HOST, self.port))
        return await asyncio.open_connection(sock=line, limit=2**20)

    def head(self, method: str, path: str, *more: str) -> bytes:
        mine = [f"Authorization: Bearer {self.key}"] if self.key else []
        return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *mine, *more, "", ""]).encode()

    async def read_answer(self, reader: Reader) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.answers[head[9:12].decode()] += 1
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length or 0))


async def drip_head(attack: Attack, reader: Reader, writer: Writer) -> None:
    await _drip(attack, reader, writer, attack.head("GET", "/api/v1/sensors/", "X-Padding: " + "x" * 5000))


async def drip_body(attack: Attack, reader: Reader, writer: Writer) -> None:
    writer.write(attack.head("POST", "/api/v1/signals/", "Content-Length: 5000", "Content-Type: application/json"))
    await _drip(attack, reader, writer, b"[" * 5000)


async def huge_headers(attack: Attack, reader: Reader, writer: Writer) -> None:
    writer.write(attack.head("GET", "/")[:-2])
    for number in range(1000):
        writer.write(b"".join(b"X-%d-%d: %s\r\n" % (number, line, b"v" * 1000) for line in range(60)))
        await writer.drain()


async def endless_body(attack: Attack, reader: Reader, writer: Writer) -> None:
    more = ("Transfer-Encoding: chunked", "Content-Type: application/json")
    writer.write(attack.head("POST", "/api/v1/messages/", *more))
    for _ in range(1000):
        writer.write(b"10000\r\n" + b" " * 65_536 + b"\r\n")
        await writer.drain()


async def slow_reader(attack: Attack, reader: Reader, writer: Writer) -> None:
    path = "/api/v1/messages/?limit=1000" if attack.key.startswith("pd_") else "/api/v1/schema/"
    writer.write(attack.head("GET", path))
    while await reader.read(256):  # noqa: ASYNC110 (slowly is the point)
        await asyncio.sleep(DROP_SECONDS)


async def half_open(attack: Attack, reader: Reader, writer: Writer) -> None:
    attack.answers["408" if await reader.read(100) else "closed"] += 1


async def small_calls(attack: Attack, reader: Reader, writer: Writer) -> None:
    while True:
        writer.write(attack.head("GET", "/api/v1/sensors/?limit=1"))
        await attack.read_answer(reader)


async def pipeline(attack: Attack, reader: Reader, writer: Writer) -> None:
    writer.write(attack.head("GET", "/api/v1/sensors/?limit=1") * 1000)
    while True:
        await attack.read_answer(reader)


async def wrong_keys(attack: Attack, reader: Reader, writer: Writer) -> None:
    while True:
        attack.key = f"ps_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"
        writer.write(attack.head("GET", "/api/v1/sensors/?limit=1"))
        await attack.read_answer(reader)
        await asyncio.sleep(DROP_SECONDS)


async def brackets(attack: Attack, reader: Reader, writer: Writer) -> None:
    """Send a payload that takes a hundred times its size in memory once it is read."""
    more = (f"Content-Length: {len(BRACKETS)}", "Content-Type: application/json")
    writer.write(attack.head("POST", "/api/v1/messages/", *more) + BRACKETS)
    await attack.read_answer(reader)
    await asyncio.sleep(DROP_SECONDS)


async def guesses(attack: Attack, reader: Reader, writer: Writer) -> None:
    """Guess passwords of one name."""
    token = "x" * 32
    form = urlencode({"username": "root", "password": secrets.token_hex(8), "csrfmiddlewaretoken": token}).encode()
    more = (
        f"Content-Length: {len(form)}",
        "Content-Type: application/x-www-form-urlencoded",
        f"Cookie: csrftoken={token}",
        f"Origin: http://127.0.0.1:{attack.port}",
    )
    writer.write(attack.head("POST", "/admin/login/", *more) + form)
    await attack.read_answer(reader)
    await asyncio.sleep(DROP_SECONDS)


async def _drip(attack: Attack, reader: Reader, writer: Writer, text: bytes) -> None:
    for number in range(len(text)):
        writer.write(text[number : number + 1])
        await writer.drain()
        try:
            async with asyncio.timeout(DROP_SECONDS):
                head = await reader.readuntil(b"\r\n")
            attack.answers[head[9:12].decode()] += 1
            return
        except TimeoutError:
            continue


FLOOD = (drip_head, drip_body, huge_headers, endless_body, slow_reader, half_open, small_calls, pipeline)
WAYS = {way.__name__: (way,) for way in (*FLOOD, wrong_keys, brackets, guesses)} | {"flood": FLOOD}


async def flood(port: int, seconds: float, kind: str, keys: list[str]) -> dict[str, dict[str, int]]:
    attacks, tasks = [], []
    ways = WAYS[kind]
    for number in range(CONNECTIONS if kind == "flood" else OF_ONE_KIND):
        way = ways[number % len(ways)]
        attack = Attack(port, random.Random(number).choice(["", *keys]), number)
        attacks.append((way.__name__, attack))
        tasks.append(asyncio.ensure_future(attack.repeat(way)))
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    answers: dict[str, Counter[str]] = {way.__name__: Counter() for way in ways}
    for name, attack in attacks:
        answers[name] += attack.answers
    return {name: dict(counted) for name, counted in answers.items()}


if __name__ == "__main__":
    os.nice(19)  # it comes from other machines: it must not take the processor of this one but through the server
    print(json.dumps(asyncio.run(flood(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4:]))))

"""Hostile connections, many at once, as a program of its own: `python -m tests.faults.flood PORTS SECONDS WAY WORLD`.

Two hundred of eight kinds for the way "flood", forty of one kind for any other. Whatever the server cuts off begins
anew at once. What was answered is printed at the end as JSON. The ports are separated by commas; the world is JSON: the
keys by name, and what has been made for the attacks.
"""

import asyncio
import io
import json
import os
import random
import secrets
import socket
import sys
import zipfile
from collections import Counter
from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

HOST = "127.0.0.1"
SOURCES = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
CONNECTIONS, OF_ONE_KIND = 200, 40
BRACKETS = b'{"version":1,"to":"other-erp","payload":[%s[[]]]}' % (b"[[]]," * 149_999)
MANY_BRACKETS = b'{"version":1,"to":"other-erp","payload":[%s[]]}' % (b"[]," * 6_499_999)
UNKNOWN_FIELDS = b'{%s"last":0}' % b"".join(b'"f%d":0,' % number for number in range(84_999))
JOINED = 1900
"""Sequence flows between a fork and its join."""
DROP_SECONDS = 0.5
USED_BY_ALL = ("service", "client", "other-phone", "other-erp")
"""The keys that most ways choose from; some need the one that has the right."""

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter


class Attack:
    """One way to be hostile, with one key or none, over and over again."""

    def __init__(self, port: int, key: str, number: int, world: dict[str, str] | None = None) -> None:
        self.port, self.key, self.world = port, key, world or {}
        self.source = SOURCES[number % len(SOURCES)]
        self.answers: Counter[str] = Counter()

    async def repeat(self, way: Callable[["Attack", Reader, Writer], Awaitable[None]]) -> None:
        while True:
            try:
                reader, writer = await self.connect()
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

    async def connect(self) -> tuple[Reader, Writer]:
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)  # before it connects, or a megabyte is taken
        line.setblocking(False)
        line.bind((self.source, 0))
        await asyncio.get_running_loop().sock_connect(line, (HOST, self.port))
        return await asyncio.open_connection(sock=line, limit=2**20)

    def head(self, method: str, path: str, *more: str) -> bytes:
        mine = [f"Authorization: Bearer {self.key}"] if self.key else []
        return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *mine, *more, "", ""]).encode()

    def post(self, path: str, body: bytes, kind: str = "application/json") -> bytes:
        return self.head("POST", path, f"Content-Length: {len(body)}", f"Content-Type: {kind}") + body

    async def read_answer(self, reader: Reader) -> bytes:
        head = await reader.readuntil(b"\r\n\r\n")
        self.answers[head[9:12].decode()] += 1
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        return await reader.readexactly(int(length or 0))


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


async def many_brackets(attack: Attack, reader: Reader, writer: Writer) -> None:
    """Send nearly as much as a message may have, all of it lists."""
    await _post(attack, reader, writer, "/api/v1/messages/", MANY_BRACKETS)


async def unknown_fields(attack: Attack, reader: Reader, writer: Writer) -> None:
    await _post(attack, reader, writer, "/api/v1/sensors/", UNKNOWN_FIELDS)


async def workbook_bomb(attack: Attack, reader: Reader, writer: Writer) -> None:
    """Import a small file that would unpack to gigabytes, behind a comment that hides its document type."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    await _post(attack, reader, writer, "/api/v1/sensors/import/", BOMB, kind)


async def large_pages(attack: Attack, reader: Reader, writer: Writer) -> None:
    """Ask for as many versions of an instance with large variables as a page may have."""
    writer.write(attack.head("GET", f"/api/v1/workflows/instances/{attack.world['large_instance']}/versions/?limit=45"))
    await attack.read_answer(reader)


async def endless_workflows(attack: Attack, reader: Reader, writer: Writer) -> None:
    """Begin what begins two of itself, and what goes round without a wait."""
    await _post(attack, reader, writer, "/api/v1/workflows/events/", b'{"type":"custom.twice","payload":{}}')
    reader, writer = await attack.connect()
    try:
        await _post(attack, reader, writer, "/api/v1/workflows/instances/", b'{"definition":"lap"}')
    finally:
        writer.close()


async def hanging_theme(attack: Attack, reader: Reader, writer: Writer) -> None:
    """Have sessions repeated by a server that never answers."""
    writer.write(attack.post("/api/v1/sessions/", b'{"theme":1,"records":[1]}'))
    made = json.loads(await attack.read_answer(reader))
    if "id" in made:
        body = json.dumps({"change": made["change"], "delay": 0}).encode()
        await _post(attack, reader, writer, f"/api/v1/sessions/{made['id']}/save/", body)


async def deep_definitions(attack: Attack, reader: Reader, writer: Writer) -> None:
    """Publish sub-processes inside each other, deeper than anything that recurses can follow."""
    await _post(attack, reader, writer, "/api/v1/workflows/definitions/", DEEP)


async def inclusive_joins(attack: Attack, reader: Reader, writer: Writer) -> None:
    """Publish an inclusive fork and join of many flows and start it, each time another: each is compiled and kept."""
    key = f"j{secrets.token_hex(8)}"
    writer.write(attack.post("/api/v1/workflows/definitions/", JOIN.replace(b"KEY", key.encode())))
    if json.loads(await attack.read_answer(reader)).get("key") == key:
        start = json.dumps({"definition": key}).encode()
        await _post(attack, reader, writer, "/api/v1/workflows/instances/", start)
    await asyncio.sleep(DROP_SECONDS)


async def unknown_sensors(attack: Attack, reader: Reader, writer: Writer) -> None:
    """Send as many signals as a call may have, of sensors that nobody has registered."""
    signals = [{"sensor_id": f"0x{secrets.token_hex(7)}", "data": 1} for _ in range(1000)]
    await _post(attack, reader, writer, "/api/v1/signals/", json.dumps(signals).encode())


async def _post(
    attack: Attack, reader: Reader, writer: Writer, path: str, body: bytes, kind: str = "application/json"
) -> None:
    writer.write(attack.post(path, body, kind))
    await attack.read_answer(reader)
    await asyncio.sleep(DROP_SECONDS)


def _make_bomb() -> bytes:
    """Return a workbook of nine entities, each of which is ten of the one before."""
    entities = "".join(f'<!ENTITY e{level} "{f"&e{level - 1};" * 10}">' for level in range(1, 10))
    sheet = f'<!--{"c" * 1024}--><!DOCTYPE a [<!ENTITY e0 "{"x" * 1000}">{entities}]><worksheet>&e9;</worksheet>'
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    parts = {
        "_rels/.rels": f'<r><Relationship Id="r" Type="{relations}/officeDocument" Target="xl/workbook.xml"/></r>',
        "xl/workbook.xml": f'<workbook xmlns:r="{relations}"><sheets><sheet r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<r><Relationship Id="r1" Type="{relations}/worksheet" Target="sheet.xml"/></r>',
        "xl/sheet.xml": sheet,
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return file.getvalue()


def _make_deep() -> bytes:
    opened = "".join(f'<subProcess id="s{level}">' for level in range(90))
    model = "http://www.omg.org/spec/BPMN/20100524/MODEL"
    inner = f'<process id="deep" isExecutable="true">{opened}{"</subProcess>" * 90}</process>'
    return json.dumps({"source": f'<definitions xmlns="{model}" id="d">{inner}</definitions>'}).encode()


def _make_join() -> bytes:
    model = "http://www.omg.org/spec/BPMN/20100524/MODEL"
    pairs = [("s", "g"), ("j", "e")]
    pairs += [pair for number in range(JOINED // 2) for pair in (("g", f"t{number}"), (f"t{number}", "j"))]
    flows = "".join(
        f'<sequenceFlow id="f{number}" sourceRef="{source}" targetRef="{target}"/>'
        for number, (source, target) in enumerate(pairs)
    )
    gateways = '<inclusiveGateway id="g"/><inclusiveGateway id="j"/>'
    tasks = "".join(f'<task id="t{number}"/>' for number in range(JOINED // 2))
    inner = f'<startEvent id="s"/>{gateways}{tasks}<endEvent id="e"/>{flows}'
    inner = f'<process id="KEY" isExecutable="true">{inner}</process>'
    return json.dumps({"source": f'<definitions xmlns="{model}" id="d">{inner}</definitions>'}).encode()


BOMB, DEEP, JOIN = _make_bomb(), _make_deep(), _make_join()


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
WITH_A_RIGHT = {
    many_brackets: "other-phone",
    unknown_fields: "registrar",
    workbook_bomb: "registrar",
    large_pages: "builder",
    endless_workflows: "builder",
    hanging_theme: "repeater",
    deep_definitions: "builder",
    inclusive_joins: "builder",
    unknown_sensors: "stray",
}
"""Ways that only who has a small right can go, with the name of a key that has it."""
WAYS = {way.__name__: (way,) for way in (*FLOOD, wrong_keys, brackets, guesses, *WITH_A_RIGHT)} | {"flood": FLOOD}


async def flood(ports: list[int], seconds: float, kind: str, world: dict[str, str]) -> dict[str, dict[str, int]]:
    attacks, tasks = [], []
    ways = WAYS[kind]
    for number in range(CONNECTIONS if kind == "flood" else OF_ONE_KIND):
        way = ways[number % len(ways)]
        name = WITH_A_RIGHT.get(way) or random.Random(number).choice(["", *USED_BY_ALL])
        attack = Attack(ports[number // len(ways) % len(ports)], world.get(name, ""), number, world)
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
    chosen = [int(port) for port in sys.argv[1].split(",")]
    print(json.dumps(asyncio.run(flood(chosen, float(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])))))

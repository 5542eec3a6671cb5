"""Every bound that a caller meets, in one table made from the constants and settings that enforce it.

`manage.py show_bounds` prints it; `docs/bounds.md` is what it prints, and a test keeps it so. The limits of single
fields are read off the OpenAPI document, where they are written for callers anyway.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from drf_spectacular.generators import SchemaGenerator

from config.common import api, pages
from config.common.limits import bodies, calls
from config.env import read
from config.records import passwords, sign_in_limits
from config.runtime import connections
from messaging import protocol
from notifications.sending import webhook
from notifications.sessions import repeating, slots, themes
from notifications.sessions import webhook as session_webhook
from processes.coordination.gateway import asking, wait
from processes.exchange.services import preparing
from processes.workflows.engine.bpmn import outline, xml
from processes.workflows.engine.cmmn import outline as plan
from processes.workflows.engine.execution import limits as engine
from processes.workflows.engine.expressions import limits as expressions
from sensors.ingest import rejected, signals
from sensors.services import sheets, workbook, workbook_parts


@dataclass(frozen=True)
class Bound:
    """One limit: how much of what, counted for whom, and what the one that goes past it is answered."""

    name: str
    what: str
    limit: str
    per: str
    past: str
    setting: str = ""


@dataclass(frozen=True)
class FieldBound:
    """The limit of one field of a call, as the OpenAPI document has it."""

    method: str
    path: str
    place: str
    field: str
    rule: str
    limit: float


DEFAULTS = read({})
BUSY, INVALID = "503 `busy`, `Retry-After`", "400 `invalid`"
NOT_EXECUTABLE, INCIDENT = "400 `not_executable`", "an incident; the command leaves no other trace"


def bounds() -> dict[str, list[Bound]]:
    """Return the table by its headings; defaults are shown, whatever this installation has set."""
    return {
        "Connections": _connections(),
        "Calls": _calls(),
        "Sign-in": _sign_in(),
        "Sensors": _sensors(),
        "Messages and exchange": _messages(),
        "Repeat sessions and webhooks": _sessions(),
        "Workflows": _workflows(),
        "Coordination": _coordination(),
    }


def _connections() -> list[Bound]:
    head, socket = _seconds(connections.HEAD_SECONDS), _bytes(connections.MAX_SOCKET_BYTES)
    stalled = _seconds(connections.STALLED_SECONDS)
    per_address = "address (a proxy of `FORWARDED_ALLOW_IPS` has none)"
    return [
        Bound("connections", "connections", _count(DEFAULTS.web_connections), "web process", BUSY, "WEB_CONNECTIONS"),
        Bound(
            "connections.address",
            "connections",
            _count(DEFAULTS.web_connections_per_address),
            per_address,
            BUSY,
            "WEB_CONNECTIONS_PER_ADDRESS",
        ),
        Bound("head.bytes", "headers", _bytes(connections.MAX_HEAD_BYTES), "call", "431 `head_too_large`"),
        Bound("head.number", "headers", _count(connections.MAX_HEADERS), "call", "431 `too_many_headers`"),
        Bound("head.url", "URL", _bytes(connections.MAX_URL_BYTES), "call", "414 `url_too_long`"),
        Bound("head.time", "time until the head is there", head, "call", "408 `head_stalled`, closed"),
        Bound("idle", "time between calls", _seconds(connections.KEEP_ALIVE_SECONDS), "connection", "closed"),
        Bound("pipelined", "calls sent ahead", _count(connections.MAX_PIPELINED), "connection", "not answered, closed"),
        Bound("reader.stalled", "time in which nothing of an answer is read", stalled, "connection", "closed"),
        Bound("socket.bytes", "message of a web socket", socket, "web socket", "closed (1009)"),
    ]


def _calls() -> list[Bound]:
    body_time = f"{_seconds(bodies.BODY_PATIENCE)}, and one more for each {_bytes(bodies.MIN_BODY_RATE)} that has come"
    share = "all callers of a web process; one alone has a third, strangers together half"
    piece = f"{_seconds(calls.READER_PATIENCE)} for each 64 KiB"
    return [
        Bound("body.bytes", "body, where nothing else is said", _bytes(settings.MB), "call", "413 `too_large`"),
        Bound("body.time", "time until the body is there", body_time, "call", "408 `body_stalled`"),
        Bound("body.longest", "the same, at most", _seconds(bodies.LONGEST_BODY), "call", "408 `body_stalled`"),
        Bound("body.files", "large bodies that arrive", _bytes(bodies.SPOOLED_BYTES), share, BUSY),
        Bound("calls", "calls under way, and web sockets", _count(calls.MOST_CALLS), share, BUSY),
        Bound("slots", "calls of the API that run", _count(DEFAULTS.web_concurrency), share, BUSY, "WEB_CONCURRENCY"),
        Bound("answer.time", "time to read an answer", piece, "call", "cut off"),
        Bound("json.depth", "nesting of JSON", f"{api.DEEPEST} levels", "body", "400 `bad_json`"),
        Bound("json.containers", "lists and objects", _count(api.MOST_CONTAINERS), "body", "400 `bad_json`"),
        Bound("json.values", "values", _count(api.MOST_VALUES), "body", "400 `bad_json`"),
        Bound("list.rows", "rows of a page", _count(pages.LARGEST_LIMIT), "call", INVALID),
        Bound("list.bytes", "bytes of a page", _bytes(pages.PAGE_BYTES), "call", "the page ends, `next` leads on"),
    ]


def _sign_in() -> list[Bound]:
    window = f"failures in {sign_in_limits.WINDOW.seconds // 60} minutes"
    overall = f"failures in {sign_in_limits.OVERALL_WINDOW.seconds // 60} minute"
    past = "the password is not looked at; a browser that has signed in before is counted by itself"
    return [
        Bound("sign_in.pair", window, _count(sign_in_limits.LIMIT), "name and network", past),
        Bound("sign_in.network", window, _count(sign_in_limits.NETWORK_LIMIT), "network (IPv6: /64)", past),
        Bound("sign_in.name", window, _count(sign_in_limits.NAME_LIMIT), "name", past),
        Bound("sign_in.all", overall, _count(sign_in_limits.OVERALL_LIMIT), "installation", past),
        Bound(
            "sign_in.slots", "passwords checked at once", _count(passwords.SLOTS), "web process", "told to come back"
        ),
    ]


def _sensors() -> list[Bound]:
    file, unpacked = _bytes(sheets.LARGEST_FILE), _bytes(workbook.LARGEST_UNPACKED)
    folded = "counted in one row"
    return [
        Bound("signals.list", "signals of a list", _count(signals.MAX_LIST), "call", INVALID),
        Bound("signals.message", "message over AMQP", _bytes(signals.MAX_BODY), "message", "rejected `bad_shape`"),
        Bound("signals.rejected", "sensors kept by name", _count(rejected.MOST_SENSORS), "reason and minute", folded),
        Bound("import.bytes", "file of an import", file, "call", "413 `too_large`"),
        Bound("import.rows", "rows of an import", _count(sheets.MOST_ROWS), "file", INVALID),
        Bound("import.line", "line of a CSV file", f"{_count(sheets.LONGEST_LINE)} characters", "file", INVALID),
        Bound("import.columns", "columns", _count(workbook_parts.MOST_COLUMNS), "file", INVALID),
        Bound("import.unpacked", "workbook, unpacked", unpacked, "file", "413 `too_large`"),
        Bound("import.cells", "cells", _count(workbook_parts.MOST_CELLS), "workbook", INVALID),
        Bound("import.texts", "shared texts", _count(workbook_parts.MOST_STRINGS), "workbook", INVALID),
    ]


def _messages() -> list[Bound]:
    depth = f"{api.DEEPEST + protocol.ENVELOPE_DEPTH} levels"
    run = "the list ends; one message is always sent"
    return [
        Bound(
            "message.bytes",
            "message file",
            f"{DEFAULTS.message_max_mb} MiB",
            "call",
            "413 `too_large`",
            "MESSAGE_MAX_MB",
        ),
        Bound("message.depth", "nesting of a body with payloads", depth, "call", "400 `bad_json`"),
        Bound(
            "exchange.files",
            "messages of a process",
            _count(DEFAULTS.exchange_max_files),
            "process",
            run,
            "EXCHANGE_MAX_FILES",
        ),
        Bound(
            "exchange.bytes", "bytes of a process", f"{DEFAULTS.exchange_max_mb} MiB", "process", run, "EXCHANGE_MAX_MB"
        ),
        Bound("exchange.replies", "replies of API_3", _count(preparing.MOST_REPLIES), "process", INVALID),
    ]


def _sessions() -> list[Bound]:
    ends = "the repeat has failed"
    answer = _bytes(session_webhook.ANSWER_BYTES)
    time = _seconds(webhook.TIMEOUT_SECONDS)
    return [
        Bound(
            "session.bytes",
            "records",
            f"`length_limit`, at most {_bytes(themes.MOST_BYTES)}",
            "session",
            "400 `session_too_long`",
        ),
        Bound("session.operations", "operations", _count(repeating.MOST_OPERATIONS), "repeat", ends),
        Bound("session.calls", "calls of a theme's URL", _count(session_webhook.MOST_CALLS), "repeat", ends),
        Bound("session.answer", "answer of a theme's URL", answer, "call", ends),
        Bound("session.slow", "repeats that hang", _count(slots.MOST_SLOW), "theme and scheduler", "its others wait"),
        Bound("webhook.time", "answer of a client", time, "call", "tried again later"),
        Bound(
            "webhook.slots",
            "webhooks under way",
            _count(DEFAULTS.delivery_slots_per_client),
            "client and process",
            "its others wait",
            "DELIVERY_SLOTS_PER_CLIENT",
        ),
    ]


def _workflows() -> list[Bound]:
    return [
        Bound("file.bytes", "BPMN or CMMN file", f"{_count(xml.MAX_BYTES)} bytes", "publish", NOT_EXECUTABLE),
        Bound("file.depth", "nesting of its XML", _count(xml.MAX_DEPTH), "publish", NOT_EXECUTABLE),
        Bound("file.nodes", "elements of a process", _count(outline.MAX_NODES), "publish", NOT_EXECUTABLE),
        Bound("file.items", "plan items of a case", _count(plan.MAX_ITEMS), "publish", NOT_EXECUTABLE),
        Bound("expression.text", "text", f"{_count(expressions.MAX_TEXT)} characters", "expression", NOT_EXECUTABLE),
        Bound("expression.steps", "steps", _count(expressions.MAX_STEPS), "evaluation", INCIDENT),
        Bound("command.steps", "elements entered", _count(engine.MAX_STEPS), "command", INCIDENT),
        Bound("instance.tokens", "tokens", _count(engine.MAX_TOKENS), "instance", INCIDENT),
        Bound(
            "instance.variables", "variables", f"{_count(engine.MAX_VARIABLES)} bytes", "instance", "409 `not_possible`"
        ),
        Bound("command.effects", "effects", f"{_count(engine.MAX_EFFECTS)} bytes", "command", INCIDENT),
    ]


def _coordination() -> list[Bound]:
    waited = _seconds(wait.LONGEST_WAIT)
    return [
        Bound("changes.list", "changes of a set", _count(asking.MOST), "call", INVALID),
        Bound("reader.wait", "time of `?wait=`", waited, "call", "503 `not_yet_here`, `Retry-After`"),
    ]


def field_bounds() -> Iterator[FieldBound]:
    """Read the largest length, number and count of every field and query parameter off the OpenAPI document."""
    document = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for place, name, shape in _fields(document, operation):
                for rule in UNITS:
                    if rule in shape and shape.get("minimum") != shape[rule]:  # a version is no bound
                        yield FieldBound(method.upper(), path, place, name, rule, shape[rule])


def _fields(document: Any, operation: Any) -> Iterator[tuple[str, str, Any]]:
    for parameter in operation.get("parameters", []):
        yield parameter["in"], parameter["name"], _resolved(document, parameter["schema"])
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    for name, shape in _resolved(document, body.get("schema", {})).get("properties", {}).items():
        yield "body", name, _resolved(document, shape)


def _resolved(document: Any, shape: Any) -> Any:
    """Follow references to where the shape stands."""
    while "$ref" in shape or len(shape.get("allOf", ())) == 1:
        reference = shape.get("$ref")
        shape = document["components"]["schemas"][reference.rpartition("/")[2]] if reference else shape["allOf"][0]
    return shape


UNITS = {"maxLength": " characters", "maximum": "", "maxItems": " entries"}

HEAD = """# What a caller may take

Every bound that a caller meets: bytes, rows, depth, seconds, rate, connections. This page is printed by
`manage.py show_bounds` from the constants and settings that enforce the bounds; one test keeps it so, and others go one
past each row. What grows inside the product, and what ends its growth, is in [growth.md](growth.md).
"""

FIELDS = """## Fields

The largest length, value and count that a call takes in each of its fields and query parameters; past it the answer is
400 `invalid` and names the field.

| call | field | at most |
| --- | --- | --- |"""


def render() -> str:
    """Write the document."""
    parts = [HEAD]
    for heading, rows in bounds().items():
        parts.append(
            f"## {heading}\n\n| what | at most | for each | past it | setting |\n| --- | --- | --- | --- | --- |"
        )
        parts.extend(f"| {row.what} | {row.limit} | {row.per} | {row.past} | {_setting(row)} |" for row in rows)
        parts.append("")
    return "\n".join([*parts, FIELDS, *_field_rows(), ""])


def _setting(row: Bound) -> str:
    return f"`{row.setting}`" if row.setting else ""


def _field_rows() -> list[str]:
    """Say a limit once for all the methods that share it."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for bound in field_bounds():
        limit = f"{_count(bound.limit)}{UNITS[bound.rule]}"
        found.setdefault((bound.path.removeprefix("/api/v1"), bound.field, limit), []).append(bound.method)
    return [
        f"| `{', '.join(sorted(methods))} {path}` | `{field}` | {limit} |"
        for (path, field, limit), methods in sorted(found.items())
    ]


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _bytes(number: int) -> str:
    for size, unit in ((1_048_576, "MiB"), (1024, "KiB")):
        if number % size == 0:
            return f"{number // size:,} {unit}"
    return f"{number:,} bytes"


def _seconds(number: float) -> str:
    return f"{number:g} s"

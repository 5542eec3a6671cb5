"""What sensors, clients, devices, ERPs, receivers and services meet beyond the limits of every call."""

import csv

from config.common.web import json_codec
from config.engines import clickhouse
from config.runtime.bounds.bound import (
    BAD_JSON,
    BUSY,
    DEFAULTS,
    INVALID,
    TOO_LARGE,
    Bound,
    count,
    megabytes,
    size,
    span,
)
from messaging import protocol
from messaging.services import values
from notifications.sending import policy, sender, webhook
from notifications.sessions import repeat, themes
from notifications.sessions import webhook as session_webhook
from notifications.sessions import workers as session_workers
from processes.coordination.bus import amqp
from processes.coordination.gateway import readers, requests, wait
from processes.exchange.services import prepare
from sensors.api import clients, history
from sensors.explanation import collect
from sensors.history import store
from sensors.ingest import rejections, repeats, signal_queue, signals
from sensors.services import publish, sheets, workbook, workbook_parts

WAIT = "the others wait"


def sensor_bounds() -> list[Bound]:
    away = "503 `history_away`, `Retry-After`"
    directly = "applied by the call itself, and those of the next seconds at once"
    waiting = count(DEFAULTS.web_concurrency // store.ONE_IN)
    return [
        Bound(
            "signals.list", "signals of a list", count(signals.MAX_LIST), "call or message", f"{INVALID}, or rejected"
        ),
        Bound("signals.message", "message over AMQP", size(signals.MAX_BODY), "message", "rejected: `bad_shape`"),
        Bound(
            "signals.ahead",
            "time ahead of its receipt",
            span(signals.AHEAD / 1000),
            "signal",
            "rejected: `from_the_future`",
        ),
        Bound(
            "signals.rejected",
            "sensors with an entry of their own among the rejected signals",
            count(rejections.MOST_SENSORS),
            "reason and minute",
            "counted in one entry for all others",
        ),
        Bound(
            "signals.repeated",
            "sensors with an entry among the repeated signals",
            count(repeats.MOST_SENSORS),
            "minute",
            "no entry",
        ),
        Bound(
            "history.days",
            "time between `from` and `to`",
            span(history.LONGEST_OF_CLIENT),
            "call for a client",
            INVALID,
        ),
        Bound(
            "as_of.sensors",
            "sensors that the answer about a client at an earlier time names",
            count(clients.SENSORS_NAMED),
            "call",
            "the others are counted",
        ),
        Bound("signals.broker", "silence of RabbitMQ", span(signal_queue.PUBLISH_SECONDS), "call", directly),
        *_explanation_bounds(),
        Bound("history.time", "silence of ClickHouse", span(clickhouse.READ_SILENCE_SECONDS), "call", away),
        Bound("history.calls", "calls that wait for ClickHouse", waiting, "web process", away, "WEB_CONCURRENCY"),
    ]


def _explanation_bounds() -> list[Bound]:
    """What is read to answer why a client was not notified."""
    return [
        Bound(
            "explain.around",
            "events, signals and refusals of a sensor that are read around a time",
            count(collect.MOST_AROUND),
            "call and kind of row",
            "the newest count",
        ),
        Bound("explain.attempts", "attempts that are read", count(collect.MOST_ATTEMPTS), "call", "the newest count"),
        Bound(
            "explain.lists",
            "lists that name the sensor, in which an event is looked for",
            count(collect.MOST_LISTS),
            "call",
            "the newest count",
        ),
        Bound(
            "explain.later",
            "deliveries in which a loss is looked for that a mute withheld",
            count(collect.MOST_LATER),
            "call",
            "the first behind it count",
        ),
        Bound(
            "explain.changes",
            "entries of the change log in which a setting is looked for",
            count(collect.MOST_CHANGES),
            "call",
            "the newest before that time count",
        ),
    ]


def import_bounds() -> list[Bound]:
    characters = "characters"
    unpacked = "workbook, unpacked"
    return [
        Bound("import.bytes", "file", size(sheets.LARGEST_FILE), "call", TOO_LARGE),
        Bound("import.rows", "rows", count(sheets.MOST_ROWS), "file", INVALID),
        Bound("import.line", "line of CSV", count(sheets.LONGEST_LINE, characters), "file", INVALID),
        Bound("import.csv_cell", "text of a cell of CSV", count(csv.field_size_limit(), characters), "cell", INVALID),
        Bound("import.unpacked", unpacked, size(workbook.LARGEST_UNPACKED), "file", TOO_LARGE),
        Bound("import.part", "part of a workbook, unpacked", size(workbook.LARGEST_PART), "part", TOO_LARGE),
        Bound("import.parts", "parts of a workbook", count(workbook.MOST_PARTS), "file", INVALID),
        Bound("import.depth", "nesting of a workbook's XML", count(workbook.DEEPEST, "levels"), "part", INVALID),
        Bound("import.tag", "tag or comment in a workbook", size(workbook.LONGEST_TOKEN), "tag", INVALID),
        Bound("import.columns", "columns of a workbook", count(workbook_parts.MOST_COLUMNS), "file", INVALID),
        Bound("import.cells", "cells of a workbook, empty ones too", count(workbook_parts.MOST_CELLS), "file", INVALID),
        Bound(
            "import.cell",
            "text of a cell of a workbook",
            count(workbook_parts.LONGEST_CELL, characters),
            "cell",
            INVALID,
        ),
        Bound("import.texts", "shared texts of a workbook", count(workbook_parts.MOST_STRINGS), "file", INVALID),
        Bound(
            "import.text",
            "text of all cells of a workbook",
            count(workbook_parts.MOST_TEXT, characters),
            "file",
            INVALID,
        ),
    ]


def message_bounds() -> list[Bound]:
    body = count(json_codec.DEEPEST + protocol.ENVELOPE_DEPTH, "levels")
    run = "the list ends; one message is always sent"
    answer = "process, and fetch of a device"
    return [
        Bound(
            "message.bytes", "message file", megabytes(DEFAULTS.message_max_mb), "message", TOO_LARGE, "MESSAGE_MAX_MB"
        ),
        Bound("message.depth", "nesting of a payload", count(json_codec.DEEPEST, "levels"), "message", BAD_JSON),
        Bound("message.body_depth", "nesting of a body with payloads", body, "call", BAD_JSON),
        Bound("message.ahead", "time of `created_at` ahead of its receipt", span(values.AHEAD), "message", INVALID),
        Bound("exchange.files", "messages", count(DEFAULTS.exchange_max_files), "process", run, "EXCHANGE_MAX_FILES"),
        Bound("exchange.bytes", "message files", megabytes(DEFAULTS.exchange_max_mb), answer, run, "EXCHANGE_MAX_MB"),
        Bound("exchange.replies", "replies (API_3)", count(prepare.MOST_REPLIES), "process", INVALID),
        Bound("exchange.error", "`error_text`", count(protocol.ERROR_LENGTH, "characters"), "message", INVALID),
        Bound(
            "exchange.started",
            "time between API_1 and API_3",
            span(DEFAULTS.exchange_started_timeout),
            "process",
            "timed out, its messages are offered again",
            "EXCHANGE_STARTED_TIMEOUT",
        ),
        Bound(
            "exchange.ready",
            "time between API_3 and API_4",
            span(DEFAULTS.exchange_ready_timeout),
            "process",
            "in doubt, a person decides",
            "EXCHANGE_READY_TIMEOUT",
        ),
    ]


def session_bounds() -> list[Bound]:
    failed = "the repeat has failed"
    length = f"`length_limit` of the theme, at most {size(themes.MOST_BYTES)}"
    time = f"`timeout` of the theme, at most {span(themes.LONGEST_TIMEOUT)}"
    workers = DEFAULTS.session_workers
    slow = f"repeats of all themes that take longer than {span(session_workers.SLOW_SECONDS)}"
    held = "each holds one of the workers"
    return [
        Bound("session.bytes", "records", length, "session", "400 `session_too_long`"),
        Bound("session.operations", "operations", count(repeat.MOST_OPERATIONS), "repeat", failed),
        Bound("session.calls", "calls of a theme's URL", count(session_webhook.MOST_CALLS), "repeat", failed),
        Bound("session.time", "time until a theme's URL has answered", time, "call", failed),
        Bound("session.answer", "answer of a theme's URL", size(session_webhook.ANSWER_BYTES), "call", failed),
        Bound("session.theme", "repeats under way", count(workers), "theme and scheduler", WAIT, "SESSION_WORKERS"),
        Bound(
            "session.open",
            "the same of a theme that does not answer, or while very many hang",
            count(session_workers.OPEN_SLOTS),
            "theme and scheduler",
            WAIT,
        ),
        Bound("session.slow", slow, count(session_workers.MOST_SLOW * workers), "scheduler", held, "SESSION_WORKERS"),
    ]


def webhook_bounds() -> list[Bound]:
    again = "tried again later"
    slow = f", {sender.SLOW_SLOTS} times as many with those that take over {span(sender.SLOW_SECONDS)}"
    return [
        Bound("webhook.time", "time until the receiver has answered", span(webhook.TIMEOUT_SECONDS), "call", again),
        Bound("webhook.answer", "answer that is kept", size(webhook.BODY_BYTES), "call", "the rest is not read"),
        Bound("webhook.header", "header of an answer", size(webhook.HEADER_BYTES), "header", again),
        Bound("webhook.headers", "headers of an answer", count(webhook.HEADERS), "call", again),
        Bound(
            "webhook.slots",
            "calls under way",
            count(DEFAULTS.delivery_slots_per_client),
            "client",
            WAIT,
            "DELIVERY_SLOTS_PER_CLIENT",
        ),
        Bound(
            "webhook.all",
            "calls under way",
            f"{count(DEFAULTS.delivery_slots)}{slow}",
            "sender",
            WAIT,
            "DELIVERY_SLOTS",
        ),
        Bound(
            "webhook.attempts",
            "attempts",
            count(DEFAULTS.delivery_attempts),
            "message",
            "not delivered",
            "DELIVERY_ATTEMPTS",
        ),
        Bound(
            "webhook.breaker",
            "failures in a row",
            count(policy.BREAKER_FAILURES - 1),
            "client",
            "one call from time to time, until one succeeds",
        ),
        Bound("webhook.open", "time of such silence", span(policy.GIVE_UP_AFTER), "client", "not called any more"),
        Bound("webhook.retry_after", "`Retry-After`", span(webhook.RETRY_AFTER_SECONDS), "answer", "counts as so much"),
        Bound("webhook.list", "lost sensors in a message", count(publish.LONGEST_LIST), "message", "the next message"),
    ]


def coordination_bounds() -> list[Bound]:
    waiting = count(DEFAULTS.web_concurrency // wait.ONE_IN)
    later = "the next message"
    return [
        Bound("changes.list", "changes of a set", count(requests.MOST_CHANGES), "call", INVALID),
        Bound("rows.list", "rows that are created together", count(requests.MOST_CHANGES), "call", INVALID),
        Bound("reader.wait", "time of `?wait=`", span(wait.LONGEST_WAIT), "call", "503 `not_yet_here`, `Retry-After`"),
        Bound("reader.waiting", "calls with `?wait=` that wait", waiting, "web process", BUSY, "WEB_CONCURRENCY"),
        Bound(
            "reader.silence",
            "silence of a reader's database",
            span(readers.ANSWER_SECONDS),
            "connection, and statement",
            "503 `reader_away`, `Retry-After`; a change set is shown without the steps of that reader",
        ),
        Bound(
            "reader.calls",
            "calls that wait for a reader's database",
            count(readers.most_waiting(DEFAULTS.web_concurrency)),
            "reader and web process",
            BUSY,
            "WEB_CONCURRENCY",
        ),
        Bound(
            "coordination.deadline",
            "time until the last reader has answered",
            span(DEFAULTS.coordination_deadline),
            "set",
            "cancelled everywhere; one of sensors and clients goes on waiting",
            "COORDINATION_DEADLINE",
        ),
        Bound(
            "coordination.parallel",
            "sets under way",
            count(DEFAULTS.coordination_parallel),
            "installation",
            WAIT,
            "COORDINATION_PARALLEL",
        ),
        Bound("envelope.number", "letters of the roles in one AMQP message", count(amqp.ENVELOPE), "message", later),
        Bound("envelope.bytes", "the same, unless it is one letter", size(amqp.LARGEST), "message", later),
    ]

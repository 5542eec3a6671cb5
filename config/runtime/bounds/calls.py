"""What every call meets, whatever it asks for: the socket, the slots, its body and answer, and sign-in."""

from django.conf import settings
from django.utils.module_loading import import_string

from config.access import passwords, sign_in_limits
from config.admin_base import search
from config.api import idempotency
from config.audit import explain, trace
from config.common import correlation
from config.common.web import failures, handler, json_codec, pagination, serializers
from config.common.web.limits import bodies, callers, calls, lanes, processor, slots
from config.runtime import connections
from config.runtime.bounds.bound import (
    BAD_JSON,
    BUSY,
    DEFAULTS,
    INVALID,
    TOO_LARGE,
    Bound,
    count,
    megabytes,
    percent,
    size,
    span,
)
from config.web_slots import web_slots

SHARED = "web process, shared"
PROCESS = "web process"
THROTTLED = "429 `throttled`, `Retry-After`"


def connection_bounds() -> list[Bound]:
    address = "address (IPv6: network of /64); a proxy of `FORWARDED_ALLOW_IPS` has no limit of its own"
    each = f"{count(DEFAULTS.web_connections_per_address)}, and half of what is still free"
    # By name: the dashboard stands beside this package, not below it.
    live = span(import_string("config.dashboard.live.consumer.SEND_SECONDS"))
    watched = count(import_string("config.dashboard.live.watched_rows.MOST_ROWS"))
    watched_query = size(import_string("config.dashboard.live.watched_rows.LONGEST_QUERY"))
    answer_read = span(connections.STALLED_SECONDS)
    return [
        Bound("connections", "connections", count(DEFAULTS.web_connections), PROCESS, BUSY, "WEB_CONNECTIONS"),
        Bound("connections.address", "connections", each, address, BUSY, "WEB_CONNECTIONS_PER_ADDRESS"),
        Bound("head.url", "URL", size(connections.MAX_URL_BYTES), "call", "414 `url_too_long`"),
        Bound(
            "head.bytes", "URL and headers together", size(connections.MAX_HEAD_BYTES), "call", "431 `head_too_large`"
        ),
        Bound("head.number", "number of headers", count(connections.MAX_HEADERS), "call", "431 `too_many_headers`"),
        Bound("head.time", "time to send the headers", span(connections.HEAD_SECONDS), "call", "408 `head_stalled`"),
        Bound("idle", "time between two calls", span(connections.KEEP_ALIVE_SECONDS), "connection", "closed"),
        Bound(
            "pipelined",
            "calls that are sent while one is being answered",
            count(connections.MAX_PIPELINED),
            "connection",
            "not answered, closed",
        ),
        Bound("reader.stalled", "time in which nothing of an answer is read", answer_read, "connection", "closed"),
        Bound(
            "reader.end",
            "time to read the rest of an answer after which the connection is to be closed",
            span(connections.DRAIN_SECONDS),
            "connection",
            "closed",
        ),
        Bound(
            "socket.bytes", "message to a web socket", size(connections.MAX_SOCKET_BYTES), "web socket", "closed (1009)"
        ),
        Bound(
            "socket.time",
            "time to read a message of the live page",
            live,
            "web socket",
            "closed",
        ),
        Bound("socket.rows", "rows that a page watches", watched, "web socket", "refused (403)"),
        Bound("socket.query", "query that names them", watched_query, "web socket", "refused (403)"),
    ]


def call_bounds() -> list[Bound]:
    return [
        Bound(
            "calls",
            "calls under way, from the end of their headers to the end of their answers, and web sockets",
            count(DEFAULTS.web_connections),
            SHARED,
            f"{BUSY}; a web socket is refused (403)",
            "WEB_CONNECTIONS",
        ),
        *_slot_bounds(),
        Bound("list.rows", "rows of a page of a list", count(pagination.LARGEST_LIMIT), "call", INVALID),
        *_answer_bounds(),
        Bound(
            "idempotency.key",
            "`Idempotency-Key`",
            count(idempotency.LONGEST_KEY, "characters"),
            "call",
            INVALID,
        ),
        Bound(
            "idempotency.time",
            "time in which a repeat is recognised",
            span(idempotency.KEPT_FOR),
            "key and `Idempotency-Key`",
            "another call",
        ),
        Bound(
            "correlation.id",
            "`X-Correlation-Id`",
            count(correlation.LONGEST, "characters"),
            "call",
            "the call gets an id of its own",
        ),
    ]


def _answer_bounds() -> list[Bound]:
    """How much is told of what was asked for."""
    return [
        Bound(
            "explain.rows", "rows of evidence of a verdict", count(explain.MOST_EVIDENCE), "call", "the first are told"
        ),
        Bound(
            "explain.nearby",
            "events beside a verdict that happened about then",
            count(explain.MOST_NEARBY),
            "call",
            "the newest are told",
        ),
        Bound(
            "trace.bytes", "details of a trace", size(trace.PART_BYTES), "part of the product", "the rest is left out"
        ),
        Bound("trace.rows", "rows of each kind in a trace", count(trace.MOST), "call", "the oldest are told"),
        Bound("search.text", "text of a search in the admin", count(search.LONGEST, "characters"), "call", "cut"),
        Bound("search.hits", "answers of a search", count(search.MOST), "kind of row", "the first are told"),
        Bound(
            "search.time",
            "time to look through names or addresses",
            span(search.LOOK_SECONDS),
            "call and kind of row",
            "what was found until then is told, and that there may be more",
        ),
        Bound(
            "search.all",
            "time to look through names and addresses together",
            span(search.SEARCH_SECONDS),
            "call",
            "kinds that are left over say that there may be more",
        ),
    ]


def _slot_bounds() -> list[Bound]:
    concurrency = DEFAULTS.web_concurrency
    kinds = web_slots(concurrency)
    waited = f"{BUSY}, after {span(slots.SLOT_PATIENCE)}"
    waited_long = f"{BUSY}, after {span(lanes.LARGE_PATIENCE)}"
    places = f"{slots.WAITING_PER_SLOT} for each slot"
    return [
        Bound("slots.api", "calls of the API that run", count(kinds["api"]), SHARED, waited, "WEB_CONCURRENCY"),
        Bound(
            "slots.large",
            f"calls with bodies over {size(lanes.LARGE_BODY)} that run",
            f"{count(kinds['large'])}, and {count(lanes.LARGE_EACH)} of a caller",
            SHARED,
            waited_long,
            "WEB_CONCURRENCY",
        ),
        Bound("slots.pages", "pages that are made", count(kinds["pages"]), SHARED, waited, "WEB_CONCURRENCY"),
        Bound("slots.sign_in", "sign-ins that run", count(kinds["sign_in"]), SHARED, waited_long),
        Bound("slots.metrics", "calls of `/metrics` that run", count(kinds["metrics"]), SHARED, waited),
        Bound(
            "slots.static", "files of the admin that are sent", count(2 * concurrency), SHARED, BUSY, "WEB_CONCURRENCY"
        ),
        Bound(
            "slots.heavy",
            f"calls that run, of a caller that takes more than {percent(processor.HEAVY_SHARE)} of a processor "
            "while others want some of it",
            count(processor.HEAVY_SLOTS),
            "caller (strangers: address) and kind of slot",
            waited,
        ),
        Bound("slots.places", "calls that wait for a slot", places, SHARED, f"{BUSY}, at once"),
    ]


def rate_bounds() -> list[Bound]:
    return [
        Bound("rate.key", "calls in a minute", count(DEFAULTS.key_rate), "key", THROTTLED, "KEY_RATE"),
        Bound(
            "rate.enterprise",
            "calls in a minute",
            count(DEFAULTS.enterprise_rate),
            "enterprise, all its devices and databases together",
            THROTTLED,
            "ENTERPRISE_RATE",
        ),
        Bound(
            "rate.wrong_key",
            "wrong keys in a minute",
            count(DEFAULTS.failed_key_rate),
            "address (IPv6: network of /64) and web process",
            f"{THROTTLED}; keys that were right lately are still taken",
            "FAILED_KEY_RATE",
        ),
        Bound(
            "rate.refused",
            "calls that are answered 401 or 403",
            f"{count(calls.REFUSED_BURST)}, and {count(calls.REFUSED_RATE)} a second",
            "key, method and path (strangers: address) and web process",
            f"{THROTTLED}; behind such an address also a right key that the process has not met in the last "
            f"{span(callers.KNOWN_SECONDS)}, until one of the {count(calls.REFUSED_RATE)} a second is its own",
        ),
    ]


def content_bounds() -> list[Bound]:
    answers = f"answers over {size(calls.SMALL_ANSWER)} that wait for their readers"
    return [
        *_body_bounds(),
        Bound(
            "answer.time", "time to read an answer", f"{span(calls.READER_PATIENCE)} for each 64 KiB", "call", "cut off"
        ),
        Bound(
            "answer.rate",
            f"bytes of answers over {size(calls.SMALL_ANSWER)}",
            f"{size(calls.ANSWER_BURST)}, and {size(calls.ANSWER_RATE)} a second",
            "caller (strangers: address) and web process",
            "sent later",
        ),
        Bound("answer.bytes", answers, size(handler.ANSWER_BYTES), SHARED, "the call keeps its slot until it is read"),
        Bound(
            "list.bytes",
            "bytes of a page of a list",
            size(pagination.PAGE_BYTES),
            "call",
            "the page ends, `next` leads on",
        ),
        Bound("json.depth", "nesting of JSON", count(json_codec.DEEPEST, "levels"), "body", BAD_JSON),
        Bound("json.containers", "lists and objects in JSON", count(json_codec.MOST_CONTAINERS), "body", BAD_JSON),
        Bound("json.values", "values in JSON", count(json_codec.MOST_VALUES), "body", BAD_JSON),
        Bound(
            "faults.entries",
            "faulty entries of a list, or unknown fields, that are named",
            count(serializers.FAULTS_NAMED),
            "body",
            "the first are named",
        ),
        Bound(
            "faults.rules", "broken rules that are named", count(failures.MOST_RULES), "answer", "the first are named"
        ),
    ]


def _body_bounds() -> list[Bound]:
    pace = f"{span(bodies.BODY_PATIENCE)}, and one more second for each {size(bodies.MIN_BODY_RATE)} that has come"
    stalled = "408 `body_stalled`"
    spooled = f"bodies over {size(bodies.MEMORY_PER_BODY)} that have begun to arrive"
    return [
        Bound("body.bytes", "body, where nothing else is said", size(settings.MB), "call", TOO_LARGE),
        Bound(
            "body.message",
            "body of a message (its file may be smaller)",
            megabytes(DEFAULTS.message_max_mb + 1),
            "call",
            TOO_LARGE,
            "MESSAGE_MAX_MB",
        ),
        Bound(
            "body.prepare",
            "body with results and replies (API_3)",
            megabytes(DEFAULTS.exchange_max_mb + 1),
            "call",
            TOO_LARGE,
            "EXCHANGE_MAX_MB",
        ),
        Bound("body.time", "time until the body is there", pace, "call", stalled),
        Bound("body.longest", "the same, however fast it comes", span(bodies.LONGEST_BODY), "call", stalled),
        Bound(
            "body.rate",
            f"bytes of bodies over {size(bodies.MEMORY_PER_BODY)}",
            f"{size(bodies.BODY_BURST)}, and {size(bodies.BODY_RATE)} a second",
            "caller (all strangers together) and web process",
            "read later",
        ),
        Bound(
            "body.disk",
            f"bytes of bodies over {size(bodies.MEMORY_PER_BODY)} that are written to temporary files",
            f"{size(bodies.SPOOL_RATE)} a second",
            "web process, all callers together",
            "read later",
        ),
        Bound("body.files", spooled, size(bodies.SPOOLED_BYTES), SHARED, BUSY),
    ]


def sign_in_bounds() -> list[Bound]:
    window = f"wrong passwords in {span(sign_in_limits.WINDOW)}"
    overall = f"wrong passwords in {span(sign_in_limits.OVERALL_WINDOW)}"
    past = "the password is not looked at; the form says when to come back"
    browser = "name and browser that has signed in before; it is counted here alone"
    return [
        Bound("sign_in.pair", window, count(sign_in_limits.LIMIT), "name and network (IPv6: /64)", past),
        Bound("sign_in.network", window, count(sign_in_limits.NETWORK_LIMIT), "network", past),
        Bound("sign_in.name", window, count(sign_in_limits.NAME_LIMIT), "name", past),
        Bound("sign_in.all", overall, count(sign_in_limits.OVERALL_LIMIT), "installation", past),
        Bound("sign_in.browser", window, count(sign_in_limits.LIMIT), browser, past),
        Bound(
            "sign_in.forms",
            "sign-in forms that are looked at",
            f"{count(sign_in_limits.FORM_BURST)}, and {count(sign_in_limits.FORM_RATE)} a second",
            "network, or browser that has signed in before, and web process",
            THROTTLED,
        ),
        Bound("sign_in.slots", "passwords checked at once", count(passwords.SLOTS), PROCESS, "told to come back"),
        Bound(
            "session.idle",
            "time without a call",
            span(DEFAULTS.session_idle_minutes * 60),
            "session",
            "signed out",
            "SESSION_IDLE_MINUTES",
        ),
        Bound("session.age", "time since the sign-in", span(settings.SESSION_COOKIE_AGE), "session", "signed out"),
    ]

"""History on the pages of sensors and clients: a period with its charts, and a table that is also a CSV file."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.core import signing
from django.http import HttpRequest, StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from config.common.text import clean_text
from config.common.times import from_milliseconds
from config.common.web.tables import answer_table
from notifications.event_titles import event_title
from notifications.names import name_endpoints
from notifications.presentation import say_reason
from sensors.admin.chart import Chart, draw_charts
from sensors.admin.period import PRESETS, BadPeriod, Move, ShownPeriod, find_moves, find_sections, read_period
from sensors.admin.presentation import attempt_badge, state_word
from sensors.events import CONNECTION_LOST, CONNECTION_RESTORED, LEFT_OPEN, LOSS_WITHDRAWN
from sensors.history.csv_export import read_first_piece
from sensors.history.errors import HistoryAway
from sensors.history.queries import PastSignal, shared_look
from sensors.history.timeline import Cursor, Entry, Kind, Question, iterate_entries, read_entries
from sensors.history.values import PastAttempt, PastEvent, Sensors, format_milliseconds
from sensors.services.sheets import write_csv

ROWS = 25
SALT = "page:timeline"
FIRST = "first"
LONGEST_ID = 16
COLUMNS = ("at", "kind", "sensor_id", "type", "what", "result", "detail")


@dataclass(frozen=True)
class Row:
    """A line of the table, and of the file."""

    at: int
    kind: Kind
    sensor_id: str
    type: str
    what: str
    result: str
    detail: str
    page: str = ""
    badge: SafeString | str = ""

    @property
    def time(self) -> datetime:
        return from_milliseconds(self.at)

    @property
    def kind_word(self) -> str:
        return {
            Kind.SIGNAL: gettext("Signal"),
            Kind.EVENT: gettext("Event"),
            Kind.NOTIFICATION: gettext("Notification"),
        }[self.kind]

    def cells(self) -> tuple[object, ...]:
        at = format_milliseconds(self.at)
        return (at, self.kind.value, self.sensor_id, self.type, self.what, self.result, self.detail)


@dataclass(frozen=True)
class Tab:
    """A choice of what the table shows."""

    words: str
    query: str
    is_current: bool


@dataclass(frozen=True)
class HistoryCard:
    shown: ShownPeriod
    error: str
    """What is wrong with the period that was asked for; the last 24 hours are shown then."""
    presets: list[Tab]
    moves: list[Move]
    kept: dict[str, str]
    """What a form keeps, beside the period that it asks for."""
    sections: list[ShownPeriod]
    charts: dict[str, Chart] | None
    """By sensor; None while history is away."""
    tabs: list[Tab]
    rows: list[Row] | None
    older: str
    """The query of the next page, if there is one."""
    newest: str
    """The query of the first page, unless this is it."""
    csv: str

    @property
    def chart(self) -> Chart | None:
        """The only chart."""
        return None if self.charts is None else next(iter(self.charts.values()), None)


@dataclass(frozen=True)
class Asked:
    """What a request asks of the history: a period, and what the table shows."""

    shown: ShownPeriod
    error: str
    show: str
    kinds: frozenset[Kind]
    longest: timedelta | None
    now: datetime
    first: str = ""
    """The sensor with which the charts begin; empty: the first there is."""

    @property
    def kept(self) -> dict[str, str]:
        """What every link of the card keeps, beside the period."""
        chosen = {"show": self.show, FIRST: self.first}
        return {name: value for name, value in chosen.items() if value}

    def query(self, **more: str) -> str:
        return f"{self.shown.query}&{urlencode(self.kept | more)}".rstrip("&")


def read_asked(request: HttpRequest, *, now: datetime, longest: timedelta | None = None) -> Asked:
    error = ""
    try:
        shown = read_period(request.GET, now=now, longest=longest)
    except BadPeriod as wrong:
        shown, error = read_period({}, now=now), str(wrong)
    allowed = allowed_kinds(request)
    show = request.GET.get("show", "")
    show = show if show in allowed else ""
    kinds = frozenset({Kind(show)} if show else allowed)
    first = clean_text(request.GET.get(FIRST, ""), LONGEST_ID).strip()
    return Asked(shown, error, show, kinds, longest, now, first)


def allowed_kinds(request: HttpRequest) -> list[Kind]:
    """Return what the table may show to this person."""
    needed = {Kind.EVENT: "notifications.view_event", Kind.NOTIFICATION: "notifications.view_delivery"}
    return [kind for kind in Kind if kind not in needed or request.user.has_perm(needed[kind])]


def build_history(
    request: HttpRequest, sensors: Sensors, asked: Asked, *, drawn: Sequence[str], endpoint: int | None = None
) -> HistoryCard:
    """Return the history of sensors as the request asks for it; charts are drawn of some of them."""
    cursor = _read_cursor(request.GET.get("cursor", ""))
    with shared_look():
        rows, older = _read_rows(_question(sensors, asked, endpoint), cursor)
        charts = draw_charts(drawn, asked.shown)
    choices = [("", gettext("Everything")), *((kind.value, kind_words()[kind]) for kind in allowed_kinds(request))]
    kept = urlencode(asked.kept)
    moves = find_moves(asked.shown, now=asked.now, longest=asked.longest)
    return HistoryCard(
        shown=asked.shown,
        error=asked.error,
        presets=_presets(asked),
        moves=[Move(move.name, move.key, f"{move.query}&{kept}".rstrip("&")) for move in moves],
        kept=asked.kept,
        sections=find_sections(asked.shown),
        charts=charts,
        tabs=[Tab(words, replace(asked, show=show).query(), show == asked.show) for show, words in choices],
        rows=rows,
        older="" if older is None else asked.query(cursor=signing.dumps([older.signal, older.event], salt=SALT)),
        newest=asked.query() if cursor != Cursor() else "",
        csv=asked.query(format="csv"),
    )


def export_entries(sensors: Sensors, asked: Asked, *, endpoint: int | None = None) -> Iterator[bytes]:
    """Yield the table of a page, with all its pages, as CSV."""
    header: list[tuple[object, ...]] = [COLUMNS]
    for entries in iterate_entries(_question(sensors, asked, endpoint)):
        yield write_csv([*header, *(row.cells() for row in present_entries(entries))])
        header = []


def answer_history(sensors: Sensors, asked: Asked, *, name: str, endpoint: int | None = None) -> StreamingHttpResponse:
    """Return the table of a page as a file; while history is away the answer says so."""
    return answer_table(read_first_piece(export_entries(sensors, asked, endpoint=endpoint)), name=name)


def present_entries(entries: Iterable[Entry]) -> list[Row]:
    entries = list(entries)
    attempts = [entry.record for entry in entries if isinstance(entry.record, PastAttempt)]
    clients = name_endpoints({attempt.endpoint for attempt in attempts}) if attempts else {}
    rows = []
    for entry in entries:
        match entry.record:
            case PastSignal() as signal:
                rows.append(_signal_row(signal))
            case PastAttempt() as attempt:
                named = clients.get(attempt.endpoint)
                rows.append(_attempt_row(attempt, named.text if named else ""))
            case PastEvent() as event:
                rows.append(_event_row(event))
    return rows


def kind_words() -> dict[Kind, str]:
    return {
        Kind.SIGNAL: gettext("Signals"),
        Kind.EVENT: gettext("Events"),
        Kind.NOTIFICATION: gettext("Notifications"),
    }


def _signal_row(past: PastSignal) -> Row:
    signal = past.signal
    result = gettext("changed the state") if past.changed else gettext("no change")
    at = date_format(timezone.localtime(from_milliseconds(signal.received_at)), "DATETIME_FORMAT")
    received = gettext("received %(at)s") % {"at": at}
    detail = f"{received}, {signal.id}"
    return Row(signal.at, Kind.SIGNAL, signal.sensor_id, "signal", state_word(signal.data), result, detail)


def _event_row(event: PastEvent) -> Row:
    payload = event.payload
    what = event_title(event.type, payload)
    page = reverse("trace-page", query={"id": event.correlation_id}) if event.correlation_id else ""
    result = gettext("muted") if payload.get("muted") else ""
    return Row(event.at, Kind.EVENT, event.sensor_id, event.type, what, result, _event_detail(event), page)


def _event_detail(event: PastEvent) -> str:
    payload = event.payload
    if event.type == CONNECTION_LOST:
        return gettext("last seen %(at)s") % {"at": _text_time(payload["last_seen_at"])}
    if event.type == CONNECTION_RESTORED:
        return gettext("after %(seconds)s s without connection") % {"seconds": payload["downtime_seconds"]}
    if event.type == LOSS_WITHDRAWN:
        return gettext("loss at %(at)s withdrawn") % {"at": _text_time(payload["lost_at"])}
    if event.type == LEFT_OPEN:
        words = gettext("open since %(at)s, limit %(seconds)s s")
        return words % {"at": _text_time(payload["opened_at"]), "seconds": payload["limit_seconds"]}
    return ""


def _attempt_row(attempt: PastAttempt, client: str) -> Row:
    words = gettext("%(message)s → %(client)s") if client else "%(message)s"
    what = words % {"message": event_title(attempt.type), "client": client}
    result = gettext("no answer") if attempt.status is None else str(attempt.status)
    number = gettext("attempt %(number)d") % {"number": attempt.attempt}
    detail = ", ".join(part for part in (number, say_reason(attempt.error), attempt.url) if part)
    page = reverse("admin:notifications_delivery_change", args=[attempt.delivery])
    badge = attempt_badge(attempt.status)
    return Row(attempt.at, Kind.NOTIFICATION, attempt.sensor_id, attempt.type, what, result, detail, page, badge)


def _text_time(text: str) -> str:
    return date_format(timezone.localtime(datetime.fromisoformat(text)), "DATETIME_FORMAT")


def _question(sensors: Sensors, asked: Asked, endpoint: int | None) -> Question:
    return Question(sensors, asked.shown.in_milliseconds, asked.kinds, endpoint)


def _read_rows(question: Question, cursor: Cursor) -> tuple[list[Row] | None, Cursor | None]:
    try:
        entries, older = read_entries(question, behind=cursor, limit=ROWS)
    except HistoryAway:
        return None, None
    return present_entries(entries), older


def _presets(asked: Asked) -> list[Tab]:
    words = {"24h": gettext("24 hours"), "7d": gettext("7 days"), "30d": gettext("30 days")}
    return [
        Tab(words[preset], urlencode({"period": preset} | asked.kept), asked.shown.preset == preset)
        for preset in PRESETS
    ]


def _read_cursor(text: str) -> Cursor:
    """Return where a page goes on; the first page where the text is none of ours."""
    if not text:
        return Cursor()
    try:
        signal, event = signing.loads(text, salt=SALT)
    except signing.BadSignature:
        return Cursor()
    return Cursor(tuple(signal) if signal else None, tuple(event) if event else None)

"""Steps of a trace: the signals that changed a state, what they made of it, and the signals that were refused."""

from collections.abc import Iterator

from django.urls import reverse
from django.utils.translation import gettext

from config.audit.trace import Standing, TraceStep
from config.common.times import format_time
from notifications.models import Event
from sensors.admin.presentation import state_word
from sensors.events import (
    CONNECTION_LOST,
    CONNECTION_RESTORED,
    EVENT_TYPES,
    LEFT_OPEN,
    LOSS_WITHDRAWN,
    STATE_CHANGED,
)
from sensors.models import RejectedSignal
from sensors.presentation import say_rejection_message
from sensors.subjects import find_sensor_id


def trace_signals(correlation_id: str, most: int) -> Iterator[TraceStep]:
    """Return each signal that changed a state, and each change of a state or a connection.

    A signal is known here by its event. One that changed nothing is in the history of its sensor, under no call: the id
    of a call beside every signal would double what history holds of it, and to find it would take an index that is
    written with every signal. `docs/operations.md` says how such a signal is asked about.
    """
    events = Event.objects.filter(correlation_id=correlation_id, type__in=EVENT_TYPES)
    for event in events.order_by("pk")[:most]:
        sensor_id = find_sensor_id(event.subject)
        if not sensor_id:  # an event of a plugin may have any subject
            continue
        page = reverse("admin:sensors_sensor_change", args=[sensor_id])
        if event.type == STATE_CHANGED:
            yield _signal_step(event, sensor_id, page)
        yield _state_step(event, sensor_id, page)


def trace_rejections(correlation_id: str, most: int) -> Iterator[TraceStep]:
    """Return the signals of a call that were refused; equal ones of a minute have the id of the last of them."""
    rows = RejectedSignal.objects.filter(correlation_id=correlation_id)
    for signal in rows.order_by("pk")[:most]:
        message = say_rejection_message(signal.message)
        data = {"sensor_id": signal.sensor_id, "code": signal.code, "count": signal.count, "raw": signal.raw}
        yield TraceStep(
            signal.last_at,
            "rejected",
            signal.pk,
            f"{signal.sensor_id}: {message}" if signal.sensor_id else message,
            signal.code,
            data,
            reverse("admin:sensors_rejectedsignal_change", args=[signal.pk]),
            standing=Standing.FAILED,
        )


def _signal_step(event: Event, sensor_id: str, page: str) -> TraceStep:
    value, signal_id = event.payload.get("data"), str(event.payload.get("signal_id", ""))
    summary = gettext("%(sensor)s reports %(state)s") % {"sensor": sensor_id, "state": state_word(value)}
    return TraceStep(event.at, "signal", signal_id, summary, None, {"sensor_id": sensor_id, "data": value}, page)


def _state_step(event: Event, sensor_id: str, page: str) -> TraceStep:
    payload = event.payload
    words = {
        STATE_CHANGED: f"{state_word(payload.get('previous'))} → {state_word(payload.get('data'))}",
        CONNECTION_LOST: gettext("connection lost"),
        CONNECTION_RESTORED: gettext("connection restored"),
        LOSS_WITHDRAWN: gettext("loss withdrawn"),
        LEFT_OPEN: gettext("left open"),
    }[event.type]
    data = {
        "sensor_id": sensor_id,
        "data": payload.get("data"),
        "previous": payload.get("previous"),
        "recorded_at": format_time(event.recorded_at),
    }
    return TraceStep(
        event.at,
        "state",
        sensor_id,
        f"{sensor_id}: {words}",
        None,
        data,
        page,
        standing=Standing.DONE,
    )

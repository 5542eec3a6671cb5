"""What the demonstration shows beside the fleet, the devices and the ERP that work: everything that goes wrong.

Each scene ends where a person is needed, so that every list of the menu has something in it within a minute. A scene
that fails is told and passed over: the others go on.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import structlog
from django.utils import timezone

from config.common.correlation import correlated
from config.engines.amqp_messages import AmqpMessage
from config.runtime.demo import change_sets, workflow_scenes
from config.runtime.demo.calls import Api, wait_until_served
from config.runtime.demo.fixtures import BRANCH, DEPOT, FLAPPING, SILENT, THEME, VAN, Fixtures
from config.runtime.demo.report_follower import read_on, register_report
from messaging.files.paths import folder_path
from messaging.models import Message
from notifications.models import Alert
from notifications.services.alerts import acknowledge_alert, resolve_alert
from notifications.services.poison import EngineUnavailable, handle_redelivered
from sensors.ingest.signal_queue import QUEUE

BEAT_SECONDS = 6.0
"""Between two signals of the door that comes and goes: its timeout, and the time until a silence is proven."""
SETTLE_SECONDS = 55.0

log = structlog.get_logger(__name__)


def play(url: str, fixtures: Fixtures) -> None:
    """Play every scene once, then keep the door flapping and the report read, until the process ends."""
    wait_until_served(url)
    api = Api(url, fixtures.operator_key)
    scenes: list[Callable[[], None]] = [
        lambda: send_hopeless_signals(api),
        lambda: fall_silent(Api(url, fixtures.device_keys[VAN]), Api(url, fixtures.database_keys[BRANCH])),
        lambda: lose_a_file(Api(url, fixtures.device_keys[VAN]), Api(url, fixtures.database_keys[DEPOT])),
        lambda: save_sessions(api),
        park_a_message,
        workflow_scenes.play,
        change_sets.play,
        register_report,
    ]
    for scene in scenes:
        _play_one(scene)
    began = time.monotonic()
    is_settled = False
    beat = 0
    while True:
        beat += 1
        _play_one(lambda value=beat % 2: flap(api, value))  # type: ignore[misc]
        _play_one(read_on)
        if not is_settled and time.monotonic() - began > SETTLE_SECONDS:
            is_settled = True
            _play_one(answer_alerts)
        time.sleep(BEAT_SECONDS)


def _play_one(scene: Callable[[], None]) -> None:
    try:
        with correlated():
            scene()
    except Exception:  # noqa: BLE001  (a scene that fails must not end the others)
        log.exception("demo.scene_failed")


def send_hopeless_signals(api: Api) -> None:
    """Let three sensors be heard once, and send what nobody can use."""
    known = [{"sensor_id": sensor_id, "data": 1} for sensor_id in SILENT]
    bad: list[Any] = [
        {"sensor_id": "stranger1", "data": 1},
        {"sensor_id": "stranger2", "data": 0},
        {"sensor_id": SILENT[0], "data": 7},
        {"sensor_id": SILENT[1], "data": 1, "at": "2019-01-01T00:00:00Z"},
        "no signal at all",
    ]
    api.call("POST", "/signals/", [*known, *bad])


def flap(api: Api, value: int) -> None:
    """Be heard once more: the silence before it was a loss."""
    api.call("POST", "/signals/", {"sensor_id": FLAPPING, "data": value})


def fall_silent(device: Api, erp: Api) -> None:
    """Let an ERP find a file missing, then take three messages, prepare its replies and never be heard again."""
    lost = _send(device, BRANCH, "lost on the way")
    _delete_file(lost)
    erp.call("POST", "/exchange/processes/", {"version": 1})
    for number in range(1, 4):
        _send(device, BRANCH, f"order {number}")
    _prepare(erp)


def lose_a_file(device: Api, erp: Api) -> None:
    """Let a file vanish between the ERP's work and its commit: the move of the file fails, and a person is asked."""
    sent = _send(device, DEPOT, "stock count")
    process = _prepare(erp)
    if process:
        _delete_file(sent)
        erp.call("POST", f"/exchange/processes/{process}/commit/", {"version": 1})


def _send(device: Api, database: str, words: str) -> str:
    body = {"version": 1, "to": database, "payload": {"text": words, "at": timezone.now().isoformat()}}
    return str(device.call("POST", "/messages/", body)["id"])


def _prepare(erp: Api) -> str:
    """Lead an exchange to where the ERP would commit; return its process, or nothing where one is under way."""
    started = erp.call("POST", "/exchange/processes/", {"version": 1})
    if started["status"] != "OK":
        return ""
    process = str(started["process_id"])
    results = [{"message": message["id"], "status": "PROCESSED"} for message in started["messages"]]
    replies = [
        {"to": message["from"], "reply_to": message["id"], "payload": {"booked": True}}
        for message in started["messages"]
    ]
    erp.call("POST", f"/exchange/processes/{process}/prepare/", {"version": 1, "results": results, "replies": replies})
    return process


def _delete_file(message_id: str) -> None:
    message = Message.objects.get(public_id=message_id)
    for path in Path(folder_path(message.database_id, message.folder)).glob(f"*_{message_id}_*"):
        path.unlink()


def save_sessions(api: Api) -> None:
    """Save what is to be tried again: some of it soon, and in vain; some in an hour."""
    for delay in (1, 2, 3600):
        body = {"theme": THEME, "records": [{"invoice": 4100 + delay}, {"amount": 120}]}
        session = api.call("POST", "/sessions/", body)
        api.call("POST", f"/sessions/{session['id']}/save/", {"change": session["change"], "delay": delay})


def park_a_message() -> None:
    """Let a message of the broker fail as often as it takes to be parked."""
    message = AmqpMessage(QUEUE, b'{"sensor_id": "demo", "data": 1}', {"message_id": "demo-poison"}, was_delivered=True)
    handle_redelivered([message], _fail, away=EngineUnavailable)


def _fail(messages: Sequence[AmqpMessage]) -> None:
    raise ValueError("the demonstration cannot use this message")


def answer_alerts() -> None:
    """Take one alert on and close another; the others go on to the next person."""
    waiting = list(Alert.objects.filter(status=Alert.Status.OPEN).order_by("pk")[:2])
    if waiting:
        acknowledge_alert(waiting[0].pk, "staff:demo-operator")
    flapping = Alert.objects.filter(status=Alert.Status.OPEN, kind="sensor.flapping").first()
    if flapping is not None:
        resolve_alert(flapping.pk, "staff:demo-operator", "The battery was changed.")

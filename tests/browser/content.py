"""Fill an installation with believable content, through the product's own services."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from importlib import resources

import django
import time_machine

django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402
from django.db.models.functions import Now  # noqa: E402

from config.common.correlation import correlated  # noqa: E402
from config.common.times import to_milliseconds  # noqa: E402
from notifications.followers import Following, follow  # noqa: E402
from notifications.models import Attempt, Delivery, Endpoint, Event, Follower  # noqa: E402
from notifications.services.events import NewEvent, record_events  # noqa: E402
from notifications.services.relay import ATTEMPTS, relay_once  # noqa: E402
from notifications.services.sequencer import stamp_once  # noqa: E402
from processes.workflows import examples  # noqa: E402
from processes.workflows.examples import publish_examples  # noqa: E402
from processes.workflows.services.definitions.publish import publish_definition  # noqa: E402
from processes.workflows.services.shadow.follow import follow_shadows  # noqa: E402
from processes.workflows.services.start import StartRequest, start_instance  # noqa: E402
from sensors.ingest.apply import apply_signals  # noqa: E402
from sensors.ingest.signals import Origin, read_signals  # noqa: E402
from sensors.services.clients import create_client  # noqa: E402
from sensors.services.sensors import create_sensor, mute_sensors, update_sensor  # noqa: E402
from tests.browser.rows_for_pages import list_pages, make_rows  # noqa: E402
from tests.processes.coordination.admin.change_set_outcomes import commit, fail, refuse  # noqa: E402
from tests.processes.coordination.in_memory_roles import InMemoryRoles  # noqa: E402

DOORS = ("0xA", "TestSensor", "xa7v9Dfadr7H", "Gate17", "Vault03", "0123456789aBcDeF")
KINDS = ("sensor.state_changed",) * 14 + ("sensor.connection_lost", "sensor.connection_restored", "message.received")
chance = random.Random(7)


def main() -> None:
    now = datetime.now(UTC)
    for hours_ago in reversed(range(24)):
        _tell(now - timedelta(hours=hours_ago), 8 + _busy(now - timedelta(hours=hours_ago)))
    for name in ("history", "live", "workflows"):
        following = Following(name=name, handle=_refuse_one if name == "workflows" else _take)
        follow(following)
        _let_read(following)
    _tell(now, 3)
    _register()
    _sign_up("vera", "viewer")
    _sign_up("tomoko", "viewer")
    _give_up_messages()
    _publish_examples(now)
    _coordinate()
    _open_a_door(now)
    make_rows(now)
    list_pages()


def _open_a_door(now: datetime) -> None:
    """Let a signal change a state and owe its client a message, which no receiver takes."""
    client = create_client(actor="staff:olga", name="Depot watch", url="http://192.0.2.1/depot")
    create_sensor(sensor_id="Depot7", actor="staff:olga", address="Minsk, Depot st. 7", clients=[client.client_id])
    with correlated():
        apply_signals(read_signals(b'{"sensor_id":"Depot7","data":1}', Origin(to_milliseconds(now))))


def _coordinate() -> None:
    """Let change sets come to each kind of end; those of the registry first."""
    roles = InMemoryRoles()
    roles.live()
    roles.settle()
    for lead in (commit, refuse, fail):
        lead(roles)


def _publish_examples(now: datetime) -> None:
    publish_examples(actor="staff:olga", at=now)
    # A trial that differs: it is patient for an hour.
    source = (resources.files(examples) / "exchange_in_doubt.bpmn").read_bytes().replace(b"PT30M", b"PT1H")
    publish_definition(source=source, enterprise=None, actor="staff:olga", at=now, shadow=True)
    wanted = StartRequest("exchange-in-doubt", start="doubt", record="process/1", variables={"database": "erp"})
    start_instance(wanted, actor="staff:olga", at=now)
    follow_shadows()


def _busy(at: datetime) -> int:
    """Doors move by day."""
    return chance.randint(20, 70) if 6 <= at.hour <= 19 else chance.randint(0, 9)


def _tell(at: datetime, count: int) -> None:
    with time_machine.travel(at, tick=False), correlated():
        record_events(
            NewEvent(
                type=chance.choice(KINDS), subject=f"sensor:{chance.choice(DOORS)}", at=at, payload={"data": n % 2}
            )
            for n in range(count)
        )
        while stamp_once():
            pass


def _take(events: Sequence[Event]) -> None:
    pass


def _refuse_one(events: Sequence[Event]) -> None:
    if any(event.position == 1 for event in events):
        raise ValueError("the condition of “door report” needs the variable “shift”, which the event does not carry")


def _let_read(following: Following) -> None:
    """Hand over all there is; a failure pauses the follower, which waits for nobody here."""
    for _ in range(ATTEMPTS + 3):
        while relay_once(following):
            pass
        Follower.objects.filter(name=following.name).update(due_at=Now())


def _register() -> None:
    """Register doors with a client, each by a call of its own; one is changed, one muted."""
    made = create_client(actor="staff:olga", name="Facility service", url="https://facility.example/hook")
    for door in DOORS:
        with correlated():
            create_sensor(
                sensor_id=door, actor="staff:olga", address="Moscow, Svobody st. 23", clients=[made.client_id]
            )
    with correlated():
        update_sensor(sensor_id="Gate17", heartbeat_timeout=900, actor="key:facility service")
    mute_sensors(sensor_ids=["Vault03"], until=datetime.now(UTC) + timedelta(days=2), actor="staff:olga")


def _give_up_messages() -> None:
    """Leave dead letters to a receiver whose address is refused, so that nothing is called."""
    endpoint = Endpoint.objects.create(url="http://192.0.2.1/hook", secret=b"")
    for n in range(130):
        letter = Delivery.objects.create(
            endpoint=endpoint,
            type="sensor.state_changed",
            family=Delivery.Family.STATE,
            subject=f"sensor/Gate{n}",
            body={"data": n % 2},
            status=Delivery.Status.DEAD,
            reason="no connection within 5 s",
            attempts=10,
        )
        Attempt.objects.create(
            delivery=letter, at=letter.created_at, url=endpoint.url, duration_ms=5000, error=letter.reason, answer=""
        )


def _sign_up(name: str, group: str) -> None:
    user = User.objects.create_user(name, password=f"{name}-password", is_staff=True)
    user.groups.add(Group.objects.get(name=group))


if __name__ == "__main__":
    main()

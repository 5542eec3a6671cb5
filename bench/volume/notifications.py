"""Events, deliveries with their attempts, alerts and what else waits for a person, repeat sessions."""

from django.db import connection
from django.utils import timezone

from bench.volume.sizes import Sizes
from bench.volume.spread import spread
from notifications.followers import followings
from notifications.models import (
    Alert,
    Attempt,
    Delivery,
    Event,
    EventHour,
    Follower,
    Incident,
    ParkedMessage,
    RepeatSession,
    Sequencer,
    SessionRecord,
    SessionStep,
    Theme,
)
from sensors.services.delivery_totals import count_finished_deliveries

WEEK_AGO = "now() - interval '6 days' * (1 - n / {count}::float)"
"""The rows of a week, the newest last, as ids are."""
ONE_IN_TEN = "'sensor/s' || CASE WHEN mod(n, 10) = 0 THEN 1 ELSE mod(n, {sensors}) + 1 END"
"""One sensor has a tenth of everything, so that its page is measured too."""
THEME = 1000
MOST_OF_ONE = 1000
"""So many steps or versions has the first of each."""
ON_THEIR_WAY = 10
MOST_ATTEMPTS = 50
"""Those of the first delivery, with the probes of its breaker."""


def fill_events(sizes: Sizes) -> None:
    at = WEEK_AGO.format(count=sizes.events)
    spread(
        Event(type="sensor.state_changed", payload={"sensor_id": "s1", "data": 1, "previous": 0}),
        sizes.events,
        subject=ONE_IN_TEN.format(sensors=sizes.sensors),
        at=at,
        recorded_at=at,
        correlation_id="'correlation-' || n",
        position="n",
    )
    Sequencer.objects.update_or_create(pk=1, defaults={"position": sizes.events})
    # While anything happens, the last events are still on their way to whoever follows them.
    read = max(0, sizes.events - ON_THEIR_WAY)
    for following in followings():
        Follower.objects.update_or_create(name=following.name, defaults={"position": read})
    spread(EventHour(), 24, hour="date_trunc('hour', now()) - (n - 1) * interval '1 hour'", count="n * 100")


def fill_deliveries(sizes: Sizes) -> None:
    """One delivery in twenty is dead, one pending; each has an attempt."""
    at = WEEK_AGO.format(count=sizes.deliveries)
    spread(
        Delivery(type="sensor.state_changed", family="state", body={"type": "sensor.state_changed"}, attempts=1),
        sizes.deliveries,
        id="n",
        endpoint_id=f"CASE WHEN mod(n, 2) = 0 THEN 1 ELSE mod(n, {sizes.clients}) + 1 END",
        subject=ONE_IN_TEN.format(sensors=sizes.sensors),
        status="CASE mod(n, 20) WHEN 0 THEN 'dead' WHEN 1 THEN 'pending' ELSE 'delivered' END",
        due_at="CASE mod(n, 20) WHEN 1 THEN now() + interval '1 hour' END",
        created_at=at,
        message_id="gen_random_uuid()",
        attempts_made="1",
        correlation_id="'correlation-' || n",
    )
    spread(
        Attempt(url="https://client.example/hook", status=204, duration_ms=12),
        sizes.deliveries,
        delivery_id="n",
        at=at,
        recorded_at=at,
    )
    spread(
        Attempt(url="https://client.example/hook", status=500, duration_ms=12, delivery_id=1),
        min(sizes.deliveries, MOST_ATTEMPTS),
        at=at,
        recorded_at=at,
    )


def count_delivery_totals(sizes: Sizes) -> None:
    """Do what the hourly upkeep has done by then."""
    count_finished_deliveries()


def fill_alerts(sizes: Sizes) -> None:
    """One alert in ten is open."""
    spread(
        Alert(kind="dead_delivery", title="Messages were given up", detail={}, fence=0),
        sizes.few,
        subject="'client/' || n",
        status="CASE WHEN mod(n, 10) = 1 THEN 'open' ELSE 'resolved' END",
        resolved_at="CASE WHEN mod(n, 10) <> 1 THEN now() END",
        first_at="now() - n * interval '1 minute'",
        last_at="now() - n * interval '1 minute'",
        due_at="CASE WHEN mod(n, 10) = 1 THEN now() + interval '1 day' END",
    )
    spread(
        Incident(follower_id="history", type="sensor.state_changed", event={}, error="broken"),
        sizes.few,
        position="n",
        subject="'sensor/s' || n",
        resolved_at="CASE WHEN mod(n, 10) <> 1 THEN now() END",
        resolution="CASE WHEN mod(n, 10) <> 1 THEN 'retried' ELSE '' END",
    )
    spread(
        ParkedMessage(body=b"{}", properties={}, failures=5, error="broken", parked_at=timezone.now()),
        sizes.few,
        queue="'signals' || mod(n, 3)",
    )


def fill_sessions(sizes: Sizes) -> None:
    Theme.objects.get_or_create(number=THEME, defaults={"url": "https://theme.example/", "secret": b"secret"})
    spread(
        RepeatSession(theme_id=THEME, length=20, record_count=1),
        sizes.sessions,
        id="n",
        status="CASE WHEN mod(n, 10) = 0 THEN 'exhausted' ELSE 'saved' END",
        due_at="CASE WHEN mod(n, 10) <> 0 THEN now() + n * interval '1 second' END",
        save_number="n",
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {SessionRecord._meta.db_table} (session_id, position, body) "
            "SELECT n, 1, '{}' FROM generate_series(1, %s) n",
            [sizes.sessions],
        )
    spread(SessionStep(what="saved"), sizes.sessions, session_id="n")
    spread(SessionStep(what="failed", session_id=1), min(sizes.sessions, MOST_OF_ONE))

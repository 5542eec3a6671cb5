from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User

from config.dashboard.live.admission import PERMISSIONS
from config.dashboard.live.watched_rows import KINDS, MOST_ROWS, UnknownWatch, Watch, parse_watch, read_marks
from messaging.models import Message
from messaging.services.set_aside import bring_back_message, set_aside_message
from notifications.models import Alert, Delivery, Endpoint, Follower, Incident, ParkedMessage
from notifications.sending.claims import Claim
from notifications.services.alerts import acknowledge_alert, raise_alert
from notifications.services.incidents import dismiss_incident
from notifications.services.parked_messages import discard_parked_message
from notifications.sessions import handlers
from notifications.sessions.lifecycle import append_records, create_session, save_session
from notifications.sessions.operator_actions import repeat_now
from processes.exchange.models import ExchangeProcess
from processes.workflows.heads import get_head
from processes.workflows.models import WorkItem
from processes.workflows.services.batches.create import carry_out
from processes.workflows.services.batches.run import run_due_batches
from processes.workflows.services.task_assignment import Schedule, claim_task, schedule_task
from processes.workflows.task_rights import Person
from sensors.models import SensorState
from sensors.services.clients import update_client
from tests.config.dashboard.live.conftest import AT
from tests.config.dashboard.live.records import add_messages, make_process, move
from tests.notifications.sending.deliveries import answer, claim, enqueue_state, make_due, make_endpoint
from tests.notifications.sessions.themes import theme
from tests.processes.coordination.in_memory_roles import DATABASES, InMemoryRoles, make_change_set, request_change
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import Scene
from tests.processes.workflows.services.batches import steps
from tests.sensors.registry import make_client, make_delivery, make_sensor

OLGA = Person("olga", groups=(), may_change=True)


def query(**fields: str) -> bytes:
    return urlencode(fields).encode()


@dataclass(frozen=True)
class Life:
    """How a row of a watched table is made, and what then happens to it: each of that is seen on its page."""

    make: Callable[[], Any]
    changes: tuple[Callable[[Any], Any], ...]


def waiting_message() -> Any:
    [message] = add_messages(make_process(), 1, process=None, status="waiting", folder="Messages")
    return message.pk


def session() -> int:
    theme(timeout=60.0)
    return create_session(theme=7, records=[{"n": 1}])


def incident() -> int:
    follower = Follower.objects.create(name="listener")
    return Incident.objects.create(follower=follower, position=1, type="t", subject="s", event={}, error="e").pk


def batch() -> Any:
    return steps.make("suspend", Scene().begin(chain("p", user("a"))), dry_run=True).pk


def instance() -> Any:
    return Scene().begin(chain("p", user("a"), user("b"))).id


def complete(instance: Any) -> None:
    Scene().complete(get_head(instance))


def open_task() -> int:
    User.objects.create_user(OLGA.name, is_staff=True)
    return WorkItem.objects.get(instance=instance()).pk


def change_set() -> int:
    return make_change_set(request_change("DummyItem", "insert", name="crate")).event


def let_all_but_the_reader_work(event: int) -> None:
    roles = InMemoryRoles()
    roles.live()
    roles.rest_without_reader()


def finish(event: int) -> None:
    """Let all have their turns; what was said on a bus that is gone is said again."""
    roles = InMemoryRoles()
    roles.live()
    roles.settle_by_repeats()


def claim_again() -> list[Claim]:
    """Let the delivery be due, and claim it."""
    make_due(*Delivery.objects.all())
    return claim()


def make_held_process() -> Any:
    process = make_process()
    add_messages(process, 2, moving_from="Messages")
    return process.pk


def touch_client(**values: Any) -> Callable[[int], Any]:
    return lambda pk: update_client(client_id=pk, actor="staff:olga", **values)


LIVES = {
    "sensors.sensor": Life(
        lambda: make_sensor("0xA").pk,
        (
            lambda pk: SensorState.objects.filter(pk=pk).update(seen_at=AT),
            lambda pk: SensorState.objects.filter(pk=pk).update(value=1, changed_at=AT, last_at=AT),
            lambda pk: SensorState.objects.filter(pk=pk).update(lost_at=AT),
            lambda pk: make_delivery(pk, make_client()),
        ),
    ),
    "sensors.client": Life(
        lambda: make_client().pk,
        (
            touch_client(muted_until=AT + timedelta(days=9999)),
            touch_client(paused=True),
            touch_client(active=False),
            lambda pk: Endpoint.objects.filter(client=pk).update(failures=1),
            lambda pk: Endpoint.objects.filter(client=pk).update(opened_at=AT, probe_at=AT),
        ),
    ),
    "notifications.alert": Life(
        lambda: raise_alert("k", "s", "A thing"),
        (lambda pk: raise_alert("k", "s", "A thing"), lambda pk: acknowledge_alert(pk, "staff:olga")),
    ),
    "notifications.delivery": Life(
        lambda: enqueue_state(make_endpoint()).pk,
        (
            lambda pk: claim(),
            lambda pk: answer(*claim_again(), status=500),
            lambda pk: answer(*claim_again(), status=200),
        ),
    ),
    "notifications.incident": Life(
        incident, (lambda pk: dismiss_incident(incident_id=pk, actor="staff:olga", reason="old"),)
    ),
    "notifications.parkedmessage": Life(
        lambda: ParkedMessage.objects.create(queue="signals", body=b"", failures=5).pk,
        (lambda pk: discard_parked_message(message_id=pk, actor="staff:olga", reason="junk"),),
    ),
    "notifications.repeatsession": Life(
        session,
        (
            lambda pk: append_records(session_id=pk, change=1, records=[{"n": 2}]),
            lambda pk: save_session(session_id=pk, change=2),
            lambda pk: repeat_now(session_ids=[pk], actor="staff:olga"),
        ),
    ),
    "messaging.message": Life(
        waiting_message,
        (
            lambda pk: set_aside_message(message_id=pk, reason="wait", actor="staff:olga"),
            lambda pk: bring_back_message(message_id=pk, reason="go on", actor="staff:olga"),
            lambda pk: Message.objects.filter(pk=pk).update(status="processed", folder="Log", moving_from="Messages"),
            lambda pk: Message.objects.filter(pk=pk).update(moving_from=""),
            lambda pk: Message.objects.filter(pk=pk).update(file_missing_at=AT, file_gone_at=AT),
        ),
    ),
    "exchange.exchangeprocess": Life(
        make_held_process,
        (
            lambda pk: move(ExchangeProcess.objects.get(pk=pk), ExchangeProcess.Status.READY_TO_COMMIT),
            lambda pk: move(ExchangeProcess.objects.get(pk=pk), ExchangeProcess.Status.CLEANUP),
            lambda pk: Message.objects.filter(process=pk).update(moving_from=""),
            lambda pk: move(ExchangeProcess.objects.get(pk=pk), ExchangeProcess.Status.DONE),
        ),
    ),
    "workflows.workflowinstance": Life(
        instance, (complete, lambda pk: Scene().command(pk, "suspend"), lambda pk: Scene().command(pk, "terminate"))
    ),
    "workflows.workitem": Life(
        open_task,
        (
            lambda pk: claim_task(pk, OLGA, actor="staff:olga"),
            lambda pk: schedule_task(pk, OLGA, Schedule(priority=90), actor="staff:olga"),
            lambda pk: complete(WorkItem.objects.get(pk=pk).instance_id),
        ),
    ),
    "workflows.workflowbatch": Life(
        batch,
        (lambda pk: run_due_batches(), lambda pk: carry_out(pk, actor="staff:olga"), lambda pk: run_due_batches()),
    ),
    "coordination.appevent": Life(change_set, (let_all_but_the_reader_work, finish)),
}
"""By the kind; `test_every_kind_has_a_life` fails for one that is missing."""


class TestParseWatch:
    def test_a_page_names_its_row_and_a_list_its_rows(self) -> None:
        assert parse_watch(b"") is None
        assert parse_watch(query(watch="sensors.sensor", rows="0xA")) == Watch("sensors.sensor", ("0xA",))
        assert parse_watch(query(watch="notifications.alert", rows=",3,2,3")) == Watch(
            "notifications.alert", ("", "3", "2")
        )

    @pytest.mark.parametrize(
        "asked",
        [
            query(watch="auth.user", rows="1"),
            query(watch="sensors.sensor", rows=",".join(str(number) for number in range(MOST_ROWS + 2))),
            b"watch=sensors.sensor&rows=" + b"x" * 20_000,
        ],
    )
    def test_refuses_what_is_not_watched_and_what_is_too_much(self, asked: bytes) -> None:
        with pytest.raises(UnknownWatch):
            parse_watch(asked)


class TestKinds:
    def test_each_is_a_table_with_a_permission_and_known_to_the_script(self) -> None:
        script = (settings.BASE_DIR / "config/dashboard/assets/postern/watch.js").read_text()
        for kind, watched in KINDS.items():
            assert apps.get_model(watched.model)
            assert watched.part in PERMISSIONS
            assert f'"{kind}"' in script


@pytest.mark.embedded
@pytest.mark.django_db
class TestReadMarks:
    def marks(self, kind: str, *rows: Any) -> dict[str, Any]:
        watch = Watch(kind, tuple(str(row) for row in rows))
        return read_marks([watch])[watch]

    @pytest.mark.parametrize("kind", KINDS)
    def test_what_is_no_id_or_not_there_has_no_mark(self, kind: str) -> None:
        assert self.marks(
            kind, "nothing", "999", "0xZZ", "🚪", "00000000-0000-0000-0000-000000000000"
        ) == dict.fromkeys(("nothing", "999", "0xZZ", "🚪", "00000000-0000-0000-0000-000000000000"))

    def test_every_kind_has_a_life(self) -> None:
        assert LIVES.keys() == KINDS.keys()

    @pytest.mark.parametrize("kind", LIVES)
    @pytest.mark.django_db(databases=DATABASES)
    def test_whatever_happens_to_a_row_gives_it_another(self, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(handlers, "_registered", {"test": lambda session: None})
        life = LIVES[kind]
        row = life.make()
        before = self.marks(kind, row)
        assert before[str(row)] is not None
        for place, change in enumerate(life.changes):
            change(row)
            after = self.marks(kind, row)
            assert after != before, f"change {place}"
            before = after

    def test_an_alert_that_is_taken_on_has_another(self) -> None:
        one, other = (raise_alert("k", subject, "A thing") for subject in ("a", "b"))
        before = self.marks("notifications.alert", one, other, "")
        acknowledge_alert(one, "staff:olga")
        after = self.marks("notifications.alert", one, other, "")
        assert [row for row in before if before[row] != after[row]] == [str(one)]
        newest = raise_alert("k", "c", "A thing")
        assert self.marks("notifications.alert", "")[""] == newest == Alert.objects.latest("pk").pk

    def test_reads_once_for_all_who_watch_a_table(self, django_assert_num_queries: Any) -> None:
        ids = [raise_alert("k", str(number), "A thing") for number in range(5)]
        with django_assert_num_queries(1):
            found = read_marks([Watch("notifications.alert", (str(pk),)) for pk in ids])
        assert {row for marks in found.values() for row in marks} == {str(pk) for pk in ids}

    def test_a_page_of_a_sensor_follows_its_deliveries_whoever_else_watches_sensors(self) -> None:
        client = make_client()
        for sensor in ("0xA", "0xB"):
            make_sensor(sensor)
        pages = [Watch("sensors.sensor", ("0xA",)), Watch("sensors.sensor", ("0xB",))]
        everybody = [*pages, Watch("sensors.sensor", ("", "0xA", "0xB"))]
        before = read_marks(everybody)
        assert before[pages[0]] == read_marks(pages[:1])[pages[0]]
        make_delivery("0xA", client)
        after = read_marks(everybody)
        assert [before[watch] != after[watch] for watch in everybody] == [True, False, False]

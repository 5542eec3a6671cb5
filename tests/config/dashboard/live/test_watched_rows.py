from typing import Any
from urllib.parse import urlencode

import pytest
from django.apps import apps
from django.conf import settings

from config.dashboard.live.admission import PERMISSIONS
from config.dashboard.live.watched_rows import KINDS, MOST_ROWS, UnknownWatch, Watch, parse_watch, read_marks
from notifications.models import Alert, Delivery
from notifications.services.alerts import acknowledge_alert, raise_alert
from processes.exchange.models import ExchangeProcess
from sensors.models import SensorState
from tests.config.dashboard.live.records import make_process, move
from tests.sensors.registry import make_client, make_delivery, make_sensor


def query(**fields: str) -> bytes:
    return urlencode(fields).encode()


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

    def test_an_alert_that_is_taken_on_has_another(self) -> None:
        one, other = (raise_alert("k", subject, "A thing") for subject in ("a", "b"))
        before = self.marks("notifications.alert", one, other, "")
        acknowledge_alert(one, "staff:olga")
        after = self.marks("notifications.alert", one, other, "")
        assert [row for row in before if before[row] != after[row]] == [str(one)]
        newest = raise_alert("k", "c", "A thing")
        assert self.marks("notifications.alert", "")[""] == newest == Alert.objects.latest("pk").pk

    def test_a_process_that_moves_has_another(self) -> None:
        process = make_process()
        before = self.marks("exchange.exchangeprocess", process.pk)
        move(process, ExchangeProcess.Status.READY_TO_COMMIT)
        assert self.marks("exchange.exchangeprocess", process.pk) != before

    def test_a_sensor_has_another_by_its_state_and_by_its_deliveries(self) -> None:
        make_sensor("0xA")
        before = self.marks("sensors.sensor", "0xA")
        SensorState.objects.update(seen_at="2026-03-01T12:00:00Z")
        seen = self.marks("sensors.sensor", "0xA")
        delivery = make_delivery("0xA", make_client())
        told = self.marks("sensors.sensor", "0xA")
        Delivery.objects.filter(pk=delivery.pk).update(attempts_made=1)
        assert len({str(each) for each in (before, seen, told, self.marks("sensors.sensor", "0xA"))}) == 4

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

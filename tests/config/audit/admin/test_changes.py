from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from config.access.keys import create_key
from config.audit import changes
from config.audit.admin.changes import compare
from config.audit.changes import Tracked, Values, record_change, track
from config.records.models import ChangeRecord
from sensors.models import Sensor
from sensors.services.sensors import create_sensor, update_sensor
from tests.sensors.registry import make_sensor
from tests.staff import signed_in

LIST = "/admin/records/changerecord/"


@pytest.fixture
def registrar(db: None) -> Client:
    return signed_in("registrar")


def restore_group(object_id: str, values: Values | None, actor: str) -> None:
    """Stand in for the service of an app: rename the group and record it."""
    group = Group.objects.get(pk=object_id)
    before = {"name": group.name}
    assert values is not None
    Group.objects.filter(pk=object_id).update(name=values["name"])
    record("changed", object_id, before=before, after=values, actor=actor)


@pytest.fixture
def renamed(db: None) -> Iterator[ChangeRecord]:
    """A registered group that was renamed from `day` to `night`."""
    find = Group.objects.select_for_update
    track(Tracked(kind="shift", fields=("name",), find=lambda pk: find().filter(pk=pk).first(), restore=restore_group))
    group = Group.objects.create(name="night")
    yield record("changed", str(group.pk), before={"name": "day"}, after={"name": "night"}, actor="key:facility")
    del changes._tracked["shift"]


def record(action: str, object_id: str, *, before: Any, after: Any, actor: str = "staff:ivan") -> ChangeRecord:
    return record_change(
        kind="shift",
        object_id=object_id,
        action=ChangeRecord.Action(action),
        before=before,
        after=after,
        actor=actor,
    )


@pytest.mark.embedded
class TestWords:
    def test_a_change_is_said_as_people_say_it(self, db: None) -> None:
        create_sensor(sensor_id="0xA", actor="staff:ivan", address="North")
        browser, change = signed_in("viewer"), ChangeRecord.objects.get()
        page = browser.get(f"{LIST}{change.pk}/change/", headers={"accept-language": "ru"}).content.decode()
        assert '<th scope="row" title="heartbeat_timeout">тайм-аут сигнала, секунд</th>' in page
        assert '<th scope="row" title="active">действует</th>' in page
        assert '<td class="pst-after">да</td>' in page
        assert 'href="/admin/sensors/sensor/0xA/change/"' in page
        assert '<span title="staff:ivan">ivan</span>' in browser.get(LIST).content.decode()


@pytest.mark.embedded
class TestRevert:
    def test_shows_both_values_first_and_changes_nothing(self, registrar: Client, renamed: ChangeRecord) -> None:
        page = registrar.get(f"{LIST}{renamed.pk}/revert/").content.decode()
        assert "Revert this change?" in page
        assert '<td class="pst-before">night</td><td class="pst-after">day</td>' in page
        assert Group.objects.get(pk=renamed.object_id).name == "night"

    def test_takes_the_change_back_in_the_name_of_the_person(self, registrar: Client, renamed: ChangeRecord) -> None:
        page = registrar.post(f"{LIST}{renamed.pk}/revert/", follow=True).content.decode()
        assert "has been reverted" in page
        assert Group.objects.get(pk=renamed.object_id).name == "day"
        assert ChangeRecord.objects.get(reverts=renamed).actor == "staff:olga"

    def test_shows_why_it_is_refused(self, registrar: Client, renamed: ChangeRecord) -> None:
        Group.objects.filter(pk=renamed.object_id).update(name="evening")
        page = registrar.post(f"{LIST}{renamed.pk}/revert/", follow=True).content.decode()
        assert "Revert the newer change first." in page

    def test_returns_to_the_object(self, db: None) -> None:
        make_sensor("0xA", address="North")
        update_sensor(sensor_id="0xA", actor="staff:ivan", address="South", notes="new")
        change = ChangeRecord.objects.filter(kind="sensor").order_by("-pk")[0]
        answer = signed_in("registrar").post(f"{LIST}{change.pk}/revert/")
        assert answer["Location"] == "/admin/sensors/sensor/0xA/change/"
        assert Sensor.objects.get().address == "North"

    def test_of_a_registration_says_that_it_deactivates(self, db: None) -> None:
        create_sensor(sensor_id="0xA", actor="staff:ivan", address="North")
        page = signed_in("registrar").get(f"{LIST}{ChangeRecord.objects.get().pk}/revert/").content.decode()
        assert '<th scope="row">active</th><td class="pst-before">yes</td><td class="pst-after">no</td>' in page

    def test_is_offered_once(self, registrar: Client, renamed: ChangeRecord) -> None:
        registrar.post(f"{LIST}{renamed.pk}/revert/")
        assert "/revert/" not in registrar.get(f"{LIST}{renamed.pk}/change/").content.decode()

    def test_is_not_for_viewers(self, renamed: ChangeRecord) -> None:
        client = signed_in("viewer")
        assert "/revert/" not in client.get(f"{LIST}{renamed.pk}/change/").content.decode()
        assert client.post(f"{LIST}{renamed.pk}/revert/").status_code == 403

    def test_is_not_offered_for_keys(self, db: None) -> None:
        create_key(name="facility", scopes=["registry:read"], actor="test")
        page = signed_in("administrator").get(f"{LIST}{ChangeRecord.objects.get().pk}/change/").content.decode()
        assert "facility" in page
        assert "/revert/" not in page


@pytest.mark.embedded
class TestList:
    def test_a_viewer_sees_no_change_of_a_key(self, db: None) -> None:
        create_key(name="facility", scopes=["registry:read"], actor="test")
        client = signed_in("viewer")
        assert "Nothing here yet." in client.get(LIST).content.decode()
        assert client.get(f"{LIST}{ChangeRecord.objects.get().pk}/change/").status_code == 302

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ({"actor": "key:facility"}, True),
            ({"actor": "staff:ivan"}, False),
            ({"action": "changed"}, True),
            ({"action": "deleted"}, False),
            ({"kind": "shift"}, True),
            ({"q": "nobody"}, False),
        ],
    )
    def test_filters(self, registrar: Client, renamed: ChangeRecord, query: dict[str, str], found: bool) -> None:
        assert (f"{renamed.pk}/change/" in registrar.get(LIST, query).content.decode()) is found

    def test_finds_all_changes_of_an_object(self, registrar: Client, renamed: ChangeRecord) -> None:
        page = registrar.get(LIST, {"q": renamed.object_id}).content.decode()
        assert f"{renamed.pk}/change/" in page

    def test_counts_no_further_than_its_bound(
        self, registrar: Client, renamed: ChangeRecord, django_assert_max_num_queries: Any
    ) -> None:
        with django_assert_max_num_queries(11) as captured:
            registrar.get(LIST)
        counts = [query["sql"] for query in captured.captured_queries if "COUNT(" in query["sql"]]
        assert all("LIMIT 10001" in sql or "LIMIT 100)" in sql for sql in counts)

    def test_is_never_edited(self, registrar: Client, renamed: ChangeRecord) -> None:
        assert registrar.post(f"{LIST}{renamed.pk}/change/", {"actor": "nobody"}).status_code == 403
        assert registrar.get(f"{LIST}add/").status_code == 403


class TestCompare:
    def test_names_what_differs(self) -> None:
        change = ChangeRecord(before={"a": 1, "b": 2, "c": 3}, after={"a": 1, "b": 5, "d": 4})
        assert [(row.name, row.before, row.after) for row in compare(change)] == [
            ("b", 2, 5),
            ("c", 3, None),
            ("d", None, 4),
        ]

    def test_of_a_new_object_names_everything(self) -> None:
        assert [row.after for row in compare(ChangeRecord(before=None, after={"a": 1}))] == [1]

import pytest

from config.access.keys import create_key
from config.records.models import ChangeRecord
from tests.search_answers import PAGE, found
from tests.sensors.api.callers import service
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestFindKeys:
    def test_one_is_found_by_how_it_begins_by_those_who_may_see_keys(self) -> None:
        key, text = create_key(name="desk", actor="test", scopes=["operations"])
        browser, page = signed_in("administrator"), f"/admin/records/accesskey/{key.pk}/change/"
        assert found(browser, key.prefix[:6])["Access keys"] == found(browser, text)["Access keys"] == [page]
        assert "Access keys" not in found(signed_in("operator", "oleg"), key.prefix)

    def test_its_secret_is_not_repeated(self) -> None:
        _, text = create_key(name="desk", actor="test", scopes=["operations"])
        assert text[-43:] not in signed_in("administrator").get(PAGE, {"s": text}).content.decode()


class TestFindChanges:
    def test_one_is_found_by_its_number_but_not_that_of_a_key(self) -> None:
        service("registry:write")("POST", "/sensors/", {"id": "A1", "address": "gate"})
        of_key, of_sensor = (ChangeRecord.objects.filter(kind=kind).get() for kind in ("key", "sensor"))
        browser = signed_in("viewer")
        page = f"/admin/records/changerecord/{of_sensor.pk}/change/"
        assert found(browser, str(of_sensor.pk))["Registry changes"] == [page]
        assert "Registry changes" not in found(browser, str(of_key.pk))

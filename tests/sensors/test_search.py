import pytest
from django.db import connection
from django.db.models.functions import Upper
from django.test import Client

from config.admin_base.search import _begins_so
from sensors.models import Sensor
from tests.search_answers import found
from tests.sensors.registry import make_client, make_sensor
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def viewer() -> Client:
    return signed_in("viewer")


class TestSensors:
    def test_one_is_found_by_its_id(self, viewer: Client) -> None:
        make_sensor("Gate17")
        assert found(viewer, "Gate17")["Sensors"] == ["/admin/sensors/sensor/Gate17/change/"]

    @pytest.mark.parametrize("text", ["0xAb1", "0xab1", "0XAB1", "0xaB", "0X"])
    def test_the_case_of_an_id_does_not_matter(self, viewer: Client, text: str) -> None:
        make_sensor("0xAb1")
        make_sensor("1xAb1")
        assert found(viewer, text)["Sensors"] == ["/admin/sensors/sensor/0xAb1/change/"]

    def test_of_ids_that_differ_by_case_alone_the_typed_one_is_first(self, viewer: Client) -> None:
        for number in range(10):
            make_sensor(f"aB{number}")
        for sensor in ("ab", "AB", "aB"):
            make_sensor(sensor)
        assert [page.split("/")[4] for page in found(viewer, "aB")["Sensors"]][:3] == ["aB", "AB", "ab"]

    def test_an_index_answers_it(self) -> None:
        rows = Sensor.objects.alias(capitals=Upper("pk")).filter(_begins_so("capitals", "0XAB"))
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":  # it would look through a table as small as this
                cursor.execute("SET LOCAL enable_seqscan = off")
        assert "sensor_id_prefix" in rows.order_by().explain()

    def test_the_one_of_the_id_stands_before_those_that_begin_so(self, viewer: Client) -> None:
        for sensor in ("A10", "A1", "A11"):
            make_sensor(sensor)
        assert [page.split("/")[4] for page in found(viewer, "A1")["Sensors"]] == ["A1", "A10", "A11"]

    @pytest.mark.parametrize("text", ["Lenina", "lenina", "LENINA ST. 5", "st. 5"])
    def test_one_is_found_by_part_of_its_address(self, viewer: Client, text: str) -> None:
        make_sensor("A1", address="Minsk, Lenina st. 5")
        make_sensor("B1", address="Minsk, Gate st. 7")
        assert found(viewer, text)["Sensors"] == ["/admin/sensors/sensor/A1/change/"]

    def test_an_address_of_other_letters_is_found_whatever_the_case(self, viewer: Client) -> None:
        make_sensor("A1", address="Минск, ул. Ленина, 5")
        assert "Sensors" in found(viewer, "ленина")

    def test_signs_of_a_pattern_are_letters_like_others(self, viewer: Client) -> None:
        make_sensor("A1")
        assert found(viewer, "%%%") == found(viewer, "___") == {}

    def test_there_are_at_most_eight_of_a_kind(self, viewer: Client) -> None:
        for number in range(12):
            make_sensor(f"D{number}", address="Long st.")
        assert [len(found(viewer, text)["Sensors"]) for text in ("D", "Long st")] == [8, 8]


class TestClients:
    def test_one_is_found_by_its_number_and_by_part_of_its_name(self, viewer: Client) -> None:
        client = make_client("Watchmen")
        page = f"/admin/sensors/client/{client.pk}/change/"
        assert found(viewer, str(client.pk))["Clients"] == found(viewer, "watchm")["Clients"] == [page]

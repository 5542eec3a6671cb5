import pytest
from django.db import connection
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from config.common.database.time_limit import read_within
from sensors.models import Sensor
from tests.sensors.registry import make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

NUMBERS = (
    "WITH RECURSIVE n(i) AS (SELECT CAST(1 AS bigint) UNION ALL SELECT i + 1 FROM n WHERE i < {last}) "
    "SELECT count(i) FROM n"
)


@pytest.fixture(autouse=True)
def _sensor() -> None:
    make_sensor("A1")


def count_to(last: int = 2**62) -> QuerySet[Sensor]:
    """Return a query that counts to its limit for every sensor; without one it does not end."""
    return Sensor.objects.annotate(number=RawSQL(f"({NUMBERS.format(last=last)})", [])).filter(number__gt=0)


class TestReadWithin:
    def test_returns_all_rows_in_time(self) -> None:
        assert read_within(Sensor.objects.values_list("pk", flat=True), 10.0) == (["A1"], True)

    def test_ends_what_takes_longer(self) -> None:
        assert read_within(count_to(), 0.05) == ([], False)

    def test_the_connection_goes_on_without_the_limit(self) -> None:
        read_within(count_to(), 0.05)
        assert Sensor.objects.count() == 1
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SHOW statement_timeout")
                assert cursor.fetchone() == ("0",)

    def test_the_limit_ends_with_the_read(self) -> None:
        read_within(count_to(10), 0.05)
        assert count_to(1_000_000).count() == 1

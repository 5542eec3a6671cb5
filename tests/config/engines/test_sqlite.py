import pytest
from django.db import connection

from sensors.models import Client
from tests.sensors.registry import make_client

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.mark.parametrize("text", ["гранит", "ГРАНИТ", "рАНи", "Ёлка", "ёЛКА", "100%_"])
def test_a_search_folds_the_case_of_every_letter_and_takes_signs_as_they_are(text: str) -> None:
    client = make_client("x")
    Client.objects.filter(pk=client.pk).update(name="Завод «Гранит», ёлка 100%_")
    assert Client.objects.filter(name__icontains=text).exists()
    assert not Client.objects.filter(name__icontains="_Гранит").exists()
    assert not Client.objects.filter(name__icontains="%гранит").exists()


@pytest.mark.skipif("connection.vendor != 'sqlite'")
@pytest.mark.parametrize(
    ("expression", "outcome"),
    [("'аБв' LIKE 'АбВ'", 1), ("'abc' LIKE 'a_c'", 1), ("'a\nc' LIKE 'A%'", 1), ("NULL LIKE 'a'", None)],
)
def test_like_is_that_of_sql(expression: str, outcome: int | None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {expression}".replace("%", "%%"), [])
        assert cursor.fetchone()[0] == outcome

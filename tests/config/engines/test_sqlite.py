from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import DateTimeField, ExpressionWrapper, F
from django.db.models.functions import Now

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


def test_a_time_that_was_computed_is_not_after_the_present_it_was_computed_from() -> None:
    """Within one statement the present stands still: what is due in no time is due at once."""
    make_client("x")
    due = Client.objects.annotate(now=Now(), due=ExpressionWrapper(Now() + timedelta(0), DateTimeField()))
    assert due.filter(due__lte=F("now")).exists()
    assert not due.filter(due__lt=F("now")).exists()

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
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


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'sqlite'")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sensors_client SET name = 'new' RETURNING name",
        "WITH one AS (SELECT 1) UPDATE sensors_client SET name = 'new' RETURNING name",
        "  delete from sensors_client RETURNING 'new'",
    ],
)
def test_a_single_statement_waits_for_its_turn_and_does_not_poll(statement: str) -> None:
    make_client("old")
    began, found = threading.Event(), list[str]()

    def write() -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA busy_timeout = 0")  # whoever meets the lock of SQLite itself fails at once
                began.set()
                found.extend(cursor.execute(statement).fetchone())
        except Exception as error:  # noqa: BLE001 (it is compared below)
            found.append(repr(error))
        finally:
            connection.close()

    writer = threading.Thread(target=write)
    with transaction.atomic():
        Client.objects.update(name="first")
        writer.start()
        began.wait()
        writer.join(0.2)
        assert found == []
    writer.join()
    assert found == ["new"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'sqlite'")
def test_what_a_single_statement_returns_keeps_nobody_waiting() -> None:
    """Rows that are fetched later, or never, hold nothing: the statement is committed by then."""
    for name in ("a", "b", "c"):
        make_client(name)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE sensors_client SET name = name || '!' RETURNING name")
        other = connection.copy()
        other.cursor().execute("PRAGMA busy_timeout = 0")
        other.cursor().execute("UPDATE sensors_client SET name = name || '?'")
        other.close()
        assert cursor.fetchone() == ("a!",)
        assert list(cursor) == [("b!",), ("c!",)]
        assert cursor.fetchone() is None
    assert sorted(Client.objects.values_list("name", flat=True)) == ["a!?", "b!?", "c!?"]

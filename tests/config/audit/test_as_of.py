from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from config.audit.as_of import find_values_at
from config.common.times import MILLISECOND, truncate_to_milliseconds
from config.records.models import ChangeRecord

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

Action = ChangeRecord.Action
PRESENT = {"active": "now"}


def ago(**span: float) -> datetime:
    return timezone.now() - timedelta(**span)


def write(at: datetime, before: Any, after: Any) -> ChangeRecord:
    action = Action.CREATED if before is None else Action.CHANGED
    sides = {"before": before and {"active": before}, "after": {"active": after}}
    return ChangeRecord.objects.create(at=at, actor="test", action=action, kind="thing", object_id="1", **sides)


def found(at: datetime) -> tuple[Any, bool]:
    past = find_values_at("thing", "1", at, now=timezone.now(), present=PRESENT)
    return past.values and past.values["active"], past.is_known


class TestFindValuesAt:
    def test_each_time_has_the_values_of_the_change_before_it(self) -> None:
        write(ago(hours=3), None, "a")
        write(ago(hours=1), "a", "b")
        assert [found(ago(hours=hours)) for hours in (4, 2, 0)] == [(None, True), ("a", True), ("b", True)]

    def test_an_object_without_changes_is_as_it_is_now(self, settings: Any) -> None:
        assert found(ago(hours=1)) == ("now", True)
        assert found(ago(days=settings.CHANGE_DAYS + 1)) == (None, False)

    def test_before_the_first_line_that_is_left_nothing_is_known(self, settings: Any) -> None:
        write(ago(hours=1), "a", "b")
        assert found(ago(hours=2)) == ("a", True)
        assert found(ago(days=settings.CHANGE_DAYS + 1)) == (None, False)

    def test_the_time_of_a_change_as_it_is_said_has_the_values_after_it(self) -> None:
        said = truncate_to_milliseconds(ago(hours=1))
        write(ago(hours=3), None, "a")
        write(said + timedelta(microseconds=900), "a", "b")
        assert [found(at) for at in (said - MILLISECOND, said)] == [("a", True), ("b", True)]

    def test_names_the_lines(self) -> None:
        first, second = write(ago(hours=3), None, "a"), write(ago(hours=1), "a", "b")
        past = find_values_at("thing", "1", ago(hours=2), now=timezone.now(), present=PRESENT)
        assert (past.set_by, past.ended_by) == (first, second)

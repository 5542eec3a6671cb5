from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry as AdminLogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone

from config.audit import changes
from config.records import retention
from config.records.models import ChangeRecord
from config.records.retention import expire_answers, expire_changes

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
OLD, YOUNG = 1096, 1094


def changed(days_ago: float, *, reverts: ChangeRecord | None = None) -> ChangeRecord:
    at = timezone.now() - timedelta(days=days_ago)
    sides = {"before": {"name": "a"}, "after": {"name": "b"}}
    return ChangeRecord.objects.create(
        at=at, actor="olga", action="changed", kind="sensor", object_id="s1", reverts=reverts, **sides
    )


def kept() -> set[int]:
    return set(ChangeRecord.objects.values_list("pk", flat=True))


class TestForgetOldChanges:
    def test_what_is_old_goes_and_what_is_young_stays(self) -> None:
        changed(OLD)
        young = changed(YOUNG)
        expire_changes()
        assert kept() == {young.pk}

    def test_a_change_that_was_taken_back_stays_as_long_as_the_line_that_did_it(self) -> None:
        first = changed(OLD)
        second = changed(OLD, reverts=first)
        third = changed(YOUNG, reverts=second)
        expire_changes()
        assert kept() == {first.pk, second.pk, third.pk}
        ChangeRecord.objects.filter(pk=third.pk).update(at=timezone.now() - timedelta(days=OLD))
        expire_changes()
        assert kept() == set()

    def test_goes_through_more_than_one_step_and_may_run_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(retention, "BATCH", 3)
        held = changed(OLD)
        for _ in range(10):
            changed(OLD)
        young = [changed(YOUNG, reverts=held), *(changed(YOUNG) for _ in range(7))]
        expire_changes()
        expire_changes()
        assert kept() == {held.pk, *(each.pk for each in young)}

    def test_a_line_that_somebody_still_needs_stays_with_all_after_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        _, needed, later = (changed(OLD) for _ in range(3))
        monkeypatch.setattr(changes, "_needs", [lambda: None, lambda: later.pk, lambda: needed.pk])
        expire_changes()
        assert kept() == {needed.pk, later.pk}

    def test_what_the_admin_notes_of_accounts_goes_as_well(self) -> None:
        person = User.objects.create(username="olga")
        for days in (OLD, YOUNG):
            at = timezone.now() - timedelta(days=days)
            AdminLogEntry.objects.create(user=person, action_flag=1, object_repr=str(days), action_time=at)
        expire_changes()
        assert AdminLogEntry.objects.get().object_repr == str(YOUNG)


class TestForgetOldAnswers:
    def test_sessions_of_people_go_when_they_have_expired(self) -> None:
        for key, hours in (("over", -1), ("open", 1)):
            Session.objects.create(session_key=key, expire_date=timezone.now() + timedelta(hours=hours))
        expire_answers()
        assert Session.objects.get().session_key == "open"

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group
from django.db import transaction

from config.audit import changes
from config.audit.changes import (
    AlreadyReverted,
    ChangedSince,
    ChangeNotFound,
    NotRevertible,
    Tracked,
    Values,
    record_change,
    revert_change,
    snapshot,
    track,
)
from config.common.correlation import correlated
from config.records.models import ChangeRecord

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
Action = ChangeRecord.Action


def save_group(object_id: str | None, values: Values | None, actor: str) -> Group | None:
    """The service of a small registry of groups: create, change, delete, each with its line in the log."""
    with transaction.atomic():
        group = Group.objects.select_for_update().filter(pk=object_id).first()
        before = snapshot("group", group) if group else None
        if values is None:
            assert group is not None
            object_id = str(group.pk)
            group.delete()
            group = None
        else:
            group = Group(pk=group.pk if group else object_id, **values)
            group.save()
            object_id = str(group.pk)
        action = Action.CREATED if before is None else Action.DELETED if values is None else Action.CHANGED
        record_change(kind="group", object_id=object_id, action=action, before=before, after=values, actor=actor)
    return group


def restore_group(object_id: str, values: Values | None, actor: str) -> None:
    save_group(object_id, values, actor)


@pytest.fixture(autouse=True)
def tracked_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_tracked", {})
    track(
        Tracked(
            kind="group",
            fields=("name",),
            find=lambda pk: Group.objects.select_for_update().filter(pk=pk).first(),
            restore=restore_group,
        )
    )


def made(name: str = "guards") -> Group:
    group = save_group(None, {"name": name}, "anna")
    assert group is not None
    return group


class TestRecordChange:
    def test_keeps_who_what_and_the_correlation_id(self) -> None:
        with correlated("call-12345"):
            group = made()
        row = ChangeRecord.objects.get()
        assert (row.actor, row.kind, row.object_id) == ("anna", "group", str(group.pk))
        assert (row.before, row.after, row.correlation_id) == (None, {"name": "guards"}, "call-12345")

    def test_outlives_its_object(self) -> None:
        group = made()
        group.delete()
        assert ChangeRecord.objects.get().after == {"name": "guards"}

    @pytest.mark.parametrize("field", ["secret", "key_digest", "password", "api_token", "private_key", "hash"])
    def test_refuses_to_track_what_smells_of_a_secret(self, field: str) -> None:
        with pytest.raises(ValueError, match=field):
            track(Tracked("thing", ("name", field), lambda pk: None, lambda pk, values, actor: None))


class TestRevertChange:
    def test_of_a_change_puts_the_old_values_back(self) -> None:
        group = made()
        save_group(str(group.pk), {"name": "wardens"}, "boris")
        change = ChangeRecord.objects.first()
        assert change is not None
        reverted = revert_change(change_id=change.pk, actor="carol")
        group.refresh_from_db()
        assert group.name == "guards"
        assert (reverted.reverts, reverted.actor) == (change, "carol")
        assert (reverted.before, reverted.after) == ({"name": "wardens"}, {"name": "guards"})

    def test_of_a_creation_deletes_and_of_a_deletion_brings_back(self) -> None:
        group = made()
        pk = group.pk
        deletion = revert_change(change_id=ChangeRecord.objects.get().pk, actor="carol")
        assert not Group.objects.filter(pk=pk).exists()
        revert_change(change_id=deletion.pk, actor="carol")
        assert Group.objects.get(pk=pk).name == "guards"

    def test_happens_once(self) -> None:
        group = made()
        save_group(str(group.pk), {"name": "wardens"}, "boris")
        change = ChangeRecord.objects.first()
        assert change is not None
        revert_change(change_id=change.pk, actor="carol")
        with pytest.raises(AlreadyReverted):
            revert_change(change_id=change.pk, actor="carol")

    def test_is_refused_when_something_newer_touched_it(self) -> None:
        group = made()
        save_group(str(group.pk), {"name": "wardens"}, "boris")
        first, _ = ChangeRecord.objects.order_by("id")
        with pytest.raises(ChangedSince):
            revert_change(change_id=first.pk, actor="carol")
        group.refresh_from_db()
        assert group.name == "wardens"

    def test_of_nothing_known_is_an_error_of_its_own(self) -> None:
        with pytest.raises(ChangeNotFound):
            revert_change(change_id=404, actor="carol")
        change = record_change(kind="gone", object_id="1", action=Action.CREATED, before=None, after={}, actor="anna")
        with pytest.raises(NotRevertible):
            revert_change(change_id=change.pk, actor="carol")


@pytest.mark.django_db(transaction=True)
def test_eight_reverts_at_once_are_one(in_threads: Callable[..., list[str]]) -> None:
    group = made()
    save_group(str(group.pk), {"name": "wardens"}, "boris")
    change = ChangeRecord.objects.first()
    assert change is not None

    def revert(_: int) -> str:
        try:
            revert_change(change_id=change.pk, actor="carol")
        except AlreadyReverted:
            return "already"
        return "done"

    assert sorted(in_threads(revert, 8)) == ["already"] * 7 + ["done"]

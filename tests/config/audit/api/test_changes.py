from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from config.access.keys import create_key
from config.audit import changes
from config.audit.changes import Tracked, Values, record_change, track
from config.records.models import ChangeRecord

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

KIND = "test-group"


@pytest.fixture(autouse=True)
def _tracked() -> Iterator[None]:
    track(Tracked(KIND, ("name",), find=lambda pk: Group.objects.filter(pk=pk).first(), restore=_restore))
    yield
    del changes._tracked[KIND]


def _restore(object_id: str, values: Values | None, actor: str) -> None:
    group = Group.objects.get(pk=object_id)
    _rename(group, (values or {})["name"], actor)


def _rename(group: Group, name: str, actor: str) -> ChangeRecord:
    before, group.name = group.name, name
    group.save(update_fields=["name"])
    return record_change(
        kind=KIND,
        object_id=str(group.pk),
        action=ChangeRecord.Action.CHANGED,
        before={"name": before},
        after={"name": name},
        actor=actor,
    )


class TestRevert:
    @pytest.fixture
    def change(self) -> ChangeRecord:
        return _rename(Group.objects.create(name="old"), "new", "test")

    def post(self, client: Client, change_id: int | str, scope: str = "registry:write", **headers: str) -> Any:
        _key, text = create_key(name="desk", scopes=[scope], actor="test")
        headers["Authorization"] = f"Bearer {text}"
        return client.post(f"/api/v1/changes/{change_id}/revert/", headers=headers)

    def test_answers_the_change_that_takes_it_back(self, client: Client, change: ChangeRecord) -> None:
        answer = self.post(client, change.pk)
        told = answer.json()
        assert (answer.status_code, Group.objects.filter(name="old").count()) == (201, 1)
        assert {name: told[name] for name in ("action", "kind", "object", "before", "after", "reverts")} == {
            "action": "changed",
            "kind": KIND,
            "object": change.object_id,
            "before": {"name": "new"},
            "after": {"name": "old"},
            "reverts": change.pk,
        }
        assert told["actor"].startswith("key:desk (ps_")
        assert told["at"].endswith("Z")
        assert len(told["at"]) == len("2026-01-31T23:59:59.000Z")

    def test_a_second_time_is_refused(self, client: Client, change: ChangeRecord) -> None:
        self.post(client, change.pk)
        answer = self.post(client, change.pk)
        assert (answer.status_code, answer.json()["code"]) == (409, "already_reverted")

    @pytest.mark.parametrize("change_id", ["999999", str(2**63), str(2**200), "x", "-1", "%00"])
    def test_an_unknown_change_is_not_found(self, client: Client, change_id: str) -> None:
        answer = self.post(client, change_id)
        assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/json")

    def test_needs_the_right_to_write(self, client: Client, change: ChangeRecord) -> None:
        assert self.post(client, change.pk, scope="registry:read").status_code == 403
        assert Group.objects.filter(name="new").exists()

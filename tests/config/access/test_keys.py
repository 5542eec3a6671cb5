from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from config.access.keys import KeyEnded, create_key, end_key, rotate_key
from config.audit.changes import NotRevertible, revert_change
from config.common.errors import Invalid
from config.common.key_text import is_key_of
from config.records.models import AccessKey, ChangeRecord

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


@pytest.fixture(autouse=True)
def _devices(settings: Any) -> None:
    settings.KEY_SUBJECTS = {"device": "tests.config.api.sample.views.find_device"}


def make() -> AccessKey:
    return create_key(name="meter", scopes=["registry:read"], actor="test")[0]


class TestCreateKey:
    def test_keeps_the_digest_and_gives_the_text_away(self) -> None:
        key, text = create_key(name=" meter ", scopes=["registry:read", "registry:read"], actor="test")
        key.refresh_from_db()
        assert (key.name, key.scopes, key.subject) == ("meter", ["registry:read"], "")
        assert text.startswith(key.prefix)
        assert is_key_of(text, bytes(key.digest))

    def test_the_log_tells_who_made_it_and_nothing_secret(self) -> None:
        key, text = create_key(name="meter", kind="device", subject="works", actor="staff:ann")
        record = ChangeRecord.objects.get(kind="key", object_id=str(key.pk))
        assert (record.actor, record.action, record.before) == ("staff:ann", "created", None)
        assert record.after is not None
        assert sorted(record.after) == ["ended_at", "expires_at", "kind", "name", "prefix", "scopes", "subject"]
        assert text.removeprefix(key.prefix) not in str(record.after)

    @pytest.mark.parametrize(
        ("values", "field"),
        [
            ({"name": ""}, "name"),
            ({"name": "x" * 101}, "name"),
            ({"name": "a\nb"}, "name"),
            ({"scopes": []}, "scopes"),
            ({"scopes": ["everything"]}, "scopes"),
            ({"subject": "works"}, "subject"),
            ({"kind": "device", "scopes": [], "subject": "unknown"}, "subject"),
            ({"kind": "client", "scopes": [], "subject": "nobody-knows-clients"}, "subject"),
            ({"kind": "device", "scopes": [], "subject": ""}, "subject"),
            ({"kind": "device", "subject": "works"}, "scopes"),
            ({"expires_at": timezone.now() - timedelta(seconds=1)}, "expires_at"),
        ],
    )
    def test_refuses_a_key_that_could_not_work(self, values: dict[str, Any], field: str) -> None:
        with pytest.raises(Invalid) as refused:
            create_key(**{"name": "meter", "scopes": ["registry:read"], "actor": "test", **values})
        assert list(refused.value.data["fields"]) == [field]
        assert not AccessKey.objects.exists()


class TestEndKey:
    def test_ends_it_once(self) -> None:
        key = make()
        end_key(key=key, actor="staff:ann")
        key.refresh_from_db()
        ended_at = key.ended_at
        end_key(key=key, actor="staff:bob")
        key.refresh_from_db()
        assert ended_at is not None
        assert key.ended_at == ended_at
        assert list(ChangeRecord.objects.filter(action="changed").values_list("actor", flat=True)) == ["staff:ann"]

    def test_cannot_be_taken_back(self) -> None:
        end_key(key=make(), actor="test")
        with pytest.raises(NotRevertible):
            revert_change(change_id=ChangeRecord.objects.get(action="changed").pk, actor="test")


class TestRotateKey:
    def test_the_new_one_has_the_same_rights_and_the_old_one_ends(self) -> None:
        old, old_text = create_key(name="meter", kind="device", subject="works", actor="test")
        new, new_text = rotate_key(key=old, actor="test")
        old.refresh_from_db()
        assert (new.name, new.kind, new.subject, new.ended_at) == ("meter", "device", "works", None)
        assert old.ended_at is not None
        assert old_text != new_text

    def test_a_key_that_has_ended_is_not_renewed(self) -> None:
        key = make()
        end_key(key=key, actor="test")
        with pytest.raises(KeyEnded):
            rotate_key(key=key, actor="test")

    @pytest.mark.django_db(transaction=True)
    def test_of_eight_at_once_one_succeeds(self, in_threads: Callable[..., list[Any]]) -> None:
        key = make()

        def rotate(number: int) -> bool:
            try:
                rotate_key(key=key, actor="test")
            except KeyEnded:
                return False
            return True

        assert sum(in_threads(rotate, 8)) == 1
        assert AccessKey.objects.filter(ended_at=None).count() == 1


class TestCreateKeyCommand:
    def test_prints_the_key_alone(self) -> None:
        text = run("meter", "--scope", "registry:read", "--scope", "operations", "--expires", "30")
        key = AccessKey.objects.get()
        assert is_key_of(text, bytes(key.digest))
        assert key.scopes == ["operations", "registry:read"]
        assert key.expires_at is not None
        assert timedelta(days=29) < key.expires_at - timezone.now() <= timedelta(days=30)

    def test_makes_the_key_of_a_device(self) -> None:
        text = run("meter", "--device", "works")
        assert text.startswith("pd_")
        assert AccessKey.objects.get().subject == "works"

    @pytest.mark.parametrize(
        ("arguments", "rule"),
        [
            ([], "exactly one of"),
            (["--scope", "operations", "--device", "works"], "exactly one of"),
            (["--client", "a", "--device", "works"], "exactly one of"),
            (["--scope", "everything"], "registry:read"),
            (["--device", "unknown"], "must be the id of a registered device"),
            (["--client", ""], "must be the id of a registered client"),
            (["--scope", "operations", "--expires", "0"], "from 1 to"),
            (["--scope", "operations", "--expires", "999999999999"], "from 1 to"),
        ],
    )
    def test_says_which_rule_was_broken(self, arguments: list[str], rule: str) -> None:
        with pytest.raises(CommandError, match=f"(?i){rule}"):
            run("meter", *arguments)
        assert not AccessKey.objects.exists()


def run(*arguments: str) -> str:
    printed = StringIO()
    call_command("create_key", *arguments, stdout=printed)
    return printed.getvalue().removesuffix("\n")

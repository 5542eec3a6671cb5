from io import StringIO
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db.models import BinaryField
from django.utils import timezone

from config.common.encryption import decrypt, encrypt, encrypted_columns
from config.records import reencryption
from config.records.models import IdempotencyRecord
from config.records.reencryption import reencrypt
from notifications.models import Endpoint, Theme

OLD, NEW, OTHER = (Fernet.generate_key().decode() for _ in range(3))
NOT_ENCRYPTED = {
    "records.AccessKey.digest",
    "records.IdempotencyRecord.digest",
    "notifications.ParkedMessage.body",
    "sensors.HistorySpool.batch",
    "sensors.SensorState.recent",
    "sensors.SignalPage.digests",
    "messaging.Message.digest",
    "workflows.WorkflowRevision.source",
    "exchange.ExchangeProcess.prepared",
}


@pytest.fixture
def kept(db: None, settings: Any) -> None:
    """A secret, one of before its rotation, and an answer, all under the old key; then there is a new one."""
    settings.FIELD_KEYS = (OLD,)
    rotated = {"old_secret": encrypt(b"before"), "old_secret_until": timezone.now()}
    Endpoint.objects.create(url="https://example.org/", secret=encrypt(b"secret"), **rotated)
    Endpoint.objects.create(url="mailto:a@example.org", secret=b"")
    IdempotencyRecord.objects.create(owner="key:1", key="k", digest=b"x", status=201, answer=encrypt(b"answer"))
    settings.FIELD_KEYS = (NEW, OLD)


def run() -> str:
    said = StringIO()
    call_command("reencrypt", stdout=said)
    return said.getvalue()


@pytest.mark.embedded
@pytest.mark.usefixtures("kept")
class TestReencrypt:
    def test_all_of_it_is_read_without_the_old_key(self, settings: Any) -> None:
        assert reencrypt().changed == 3
        settings.FIELD_KEYS = (NEW,)
        row = Endpoint.objects.get(url="https://example.org/")
        answer = IdempotencyRecord.objects.get().answer
        opened = [decrypt(bytes(value)) for value in (row.secret, row.old_secret, answer)]
        assert opened == [b"secret", b"before", b"answer"]

    def test_a_second_time_it_changes_nothing_and_says_that_the_key_can_be_dropped(self) -> None:
        assert "Run this once more" in run()
        said = run()
        assert said.startswith("0 values")
        assert "can be dropped" in said

    def test_goes_on_past_a_batch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for number in range(5):
            Endpoint.objects.create(url=f"https://example.org/{number}", secret=Fernet(OLD).encrypt(b"x"))
        monkeypatch.setattr(reencryption, "BATCH", 2)
        assert reencrypt().changed == 8

    def test_what_no_key_opens_is_left_and_told(self) -> None:
        lost = Fernet(OTHER).encrypt(b"x")
        row = Endpoint.objects.create(url="https://example.org/lost", secret=lost)
        with pytest.raises(CommandError, match="1 values cannot be read by any of FIELD_KEYS"):
            run()
        row.refresh_from_db()
        assert bytes(row.secret) == lost

    def test_a_secret_that_is_rotated_meanwhile_stays_rotated(self, monkeypatch: pytest.MonkeyPatch) -> None:
        row = Endpoint.objects.get(url="https://example.org/")
        rewrite = reencryption._rewrite

        def rotate_first(*args: Any) -> None:
            Endpoint.objects.filter(pk=row.pk).update(secret=encrypt(b"newer"))
            rewrite(*args)

        monkeypatch.setattr(reencryption, "_rewrite", rotate_first)
        reencrypt()
        row.refresh_from_db()
        assert decrypt(bytes(row.secret)) == b"newer"


def test_every_column_of_bytes_is_named_as_encrypted_or_as_not() -> None:
    columns = {
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if isinstance(field, BinaryField)
    }
    encrypted = {f"{each.model}.{field}" for each in encrypted_columns() for field in each.fields}
    assert columns - encrypted == NOT_ENCRYPTED
    assert encrypted <= columns
    assert Theme._meta.label in {each.model for each in encrypted_columns()}

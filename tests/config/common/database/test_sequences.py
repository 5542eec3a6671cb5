from datetime import timedelta

import pytest
from django.utils import timezone

from config.common.database.sequences import SINCE, advance_sequences
from notifications.models import Alert
from tests.notifications.alerts import make_alert
from tests.notifications.sending.deliveries import enqueue_state, make_endpoint

pytestmark = [pytest.mark.embedded, pytest.mark.django_db(transaction=True)]


def test_numbers_given_after_a_restore_were_given_to_nobody() -> None:
    now, endpoint = timezone.now(), make_endpoint()
    before = enqueue_state(endpoint).pk
    advance_sequences(at=now)
    after, alert = enqueue_state(endpoint, "thing/2").pk, make_alert().pk
    assert before < (now - SINCE).total_seconds() * 1000 < after
    assert alert > (now - SINCE).total_seconds() * 1000
    # Restored once more, an hour later, with what was given meanwhile unknown.
    advance_sequences(at=now + timedelta(hours=1))
    assert enqueue_state(endpoint, "thing/3").pk > after + 3_000_000


def test_numbers_never_go_back() -> None:
    advance_sequences(at=timezone.now() + timedelta(days=1))
    highest = make_alert(subject="thing/1").pk
    advance_sequences(at=timezone.now())
    assert make_alert(subject="thing/2").pk == highest + 1
    assert Alert.objects.count() == 2

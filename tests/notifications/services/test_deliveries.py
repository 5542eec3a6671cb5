import pytest
from django.db import IntegrityError, transaction

from notifications.models import Delivery
from tests.notifications.sending.deliveries import enqueue_state, make_endpoint

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def test_two_pending_messages_of_a_key_cannot_exist() -> None:
    endpoint = make_endpoint()
    older, newer = enqueue_state(endpoint, data=1), enqueue_state(endpoint, data=0)
    assert Delivery.objects.get(pk=older.pk).status == "superseded"
    again = Delivery.objects.filter(pk=older.pk)
    with pytest.raises(IntegrityError), transaction.atomic():
        again.update(status="pending", superseded_by=None, due_at=newer.due_at)

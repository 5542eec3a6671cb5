import pytest

from processes.coordination.models import AppEvent, AppEventPayload
from processes.coordination.protocol.statuses import EventStatus
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    make_change_set,
    request_change,
    status_of,
)

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]


class TestKeepPayloads:
    def test_what_cannot_be_read_is_refused_by_the_readers_and_stops_nobody(self) -> None:
        """Dropped here, the event would never be saved, and nothing may overtake what is not."""
        strange, other = (make_change_set(request_change("DummyItem", "insert", name=name)).event for name in "ab")
        AppEventPayload.objects.filter(app_event=strange).update(content='{"entity": "Portal", "id": 1}')
        InMemoryRoles().settle(lambda: status_of(other) == EventStatus.COMMITTED)
        assert status_of(strange) == EventStatus.CANCELED
        assert "Portal" in AppEvent.objects.get(pk=strange).reason

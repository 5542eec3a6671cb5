import pytest
from django.utils import timezone

from processes.coordination.models import WriterEvent
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.protocol.steps import mark_published
from processes.coordination.protocol.transitions import PUBLISHING, RoleKind
from tests.processes.coordination.in_memory_roles import DATABASES, InMemoryRoles, item

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]


class TestMarkPublished:
    @pytest.mark.parametrize(("status", "is_marked"), [(EventStatus.PREPARED, True), (EventStatus.PROCESSED, False)])
    def test_leaves_what_has_moved_on_since(self, status: EventStatus, is_marked: bool) -> None:
        """Its message was built, then an answer moved it: what it is now has been sent to nobody."""
        item("a")
        InMemoryRoles().settle(lambda: WriterEvent.objects.exists())
        WriterEvent.objects.update(app_event_status_id=status.value, is_published=False)
        step = PUBLISHING[RoleKind.COORDINATOR][EventStatus.PREPARED]
        mark_published(step, WriterEvent.objects.all(), [WriterEvent.objects.get().pk], at=timezone.now())
        assert WriterEvent.objects.get().is_published is is_marked

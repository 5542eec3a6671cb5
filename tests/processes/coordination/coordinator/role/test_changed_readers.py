"""Readers that are taken out of the configuration, or are new in it, while an event is under way."""

from collections.abc import Callable
from typing import Any

import pytest

from notifications.models import Alert
from processes.coordination.maintenance.rebuild import rebuild_reader
from processes.coordination.models import AppEvent, WriterEvent
from processes.coordination.protocol.statuses import EventStatus
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    item,
    let_time_pass,
    make_change_set,
    pass_deadline,
    request_change,
)
from tests.processes.coordination.second_reader import SECOND, items, rest_without_second, roles, second_reader

__all__ = ["roles", "second_reader"]
pytestmark = [pytest.mark.django_db(databases=[*DATABASES, SECOND]), pytest.mark.usefixtures("second_reader")]
WAITS_FOR_BOTH = [
    EventStatus.ACTIVATED,
    EventStatus.PREPARING,
    EventStatus.PREPARED,
    EventStatus.PROCESSING,
    EventStatus.COMMITTING,
]


def lead_to(status: EventStatus, roles: InMemoryRoles) -> None:
    roles.settle(lambda: WriterEvent.objects.filter(app_event_status_id=status.value).exists())


class TestTakenOut:
    """The second reader is silent, and its variable is removed."""

    @pytest.fixture
    def take_out(self, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Callable[[], None]:
        return lambda: monkeypatch.delitem(settings.DATABASES, SECOND)

    @pytest.mark.parametrize("since", WAITS_FOR_BOTH)
    def test_nobody_waits_for_it_any_longer(
        self, roles: InMemoryRoles, since: EventStatus, take_out: Callable[[], None]
    ) -> None:
        item("a")
        lead_to(since, roles)
        rest_without_second(roles)
        assert WriterEvent.objects.get().status == since
        take_out()
        for _ in range(2):
            let_time_pass()
            rest_without_second(roles)
        assert AppEvent.objects.get().status == EventStatus.COMMITTED
        assert items("reader_main") == items("default") != {}
        assert not Alert.objects.exists()

    def test_a_cancellation_is_not_sent_for_ever(self, roles: InMemoryRoles, take_out: Callable[[], None]) -> None:
        item("a")
        lead_to(EventStatus.PREPARED, roles)
        for passes in (pass_deadline, let_time_pass, let_time_pass):
            rest_without_second(roles)
            passes()
        take_out()
        rest_without_second(roles)
        assert (WriterEvent.objects.get().status, WriterEvent.objects.get().again_at) == (EventStatus.CANCELED, None)


class TestNew:
    """A second reader is configured and filled while an event is under way that the first one alone was asked about."""

    @pytest.mark.parametrize("since", WAITS_FOR_BOTH)
    def test_has_in_the_end_what_was_under_way(
        self, since: EventStatus, monkeypatch: pytest.MonkeyPatch, settings: Any
    ) -> None:
        with monkeypatch.context() as before:
            before.delitem(settings.DATABASES, SECOND)
            alone = InMemoryRoles("main")
            make_change_set(*(request_change("DummyItem", "insert", name=f"n{n}") for n in range(12)))
            lead_to(since, alone)
        rebuild_reader("second")
        InMemoryRoles("main", "second").settle_by_repeats()
        assert AppEvent.objects.get().status == EventStatus.COMMITTED
        assert items("reader_main") == items(SECOND) == items("default") != {}

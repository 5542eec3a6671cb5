import pytest

from notifications.models import Follower
from tests.notifications.recorded_events import record_numbered_events
from tests.staff import signed_in

LIST = "/admin/notifications/follower/"


@pytest.mark.embedded
@pytest.mark.django_db
class TestList:
    def test_shows_how_far_each_is_behind(self) -> None:
        record_numbered_events(5)
        Follower.objects.create(name="late", position=2)
        Follower.objects.create(name="early", position=5)
        rows = signed_in("viewer").get(LIST).context["cl"].result_list
        assert {row.name: row.events_behind for row in rows} == {"early": 0, "late": 3}

    @pytest.mark.parametrize(
        ("position", "failures", "state"), [(1, 0, "up to date"), (0, 0, "reading"), (0, 3, "failing")]
    )
    def test_tells_the_state_in_a_word(self, position: int, failures: int, state: str) -> None:
        record_numbered_events(1)
        Follower.objects.create(name="late", position=position, failures=failures)
        assert state in signed_in("viewer").get(LIST).content.decode()

    def test_one_page_shows_the_last_error(self) -> None:
        Follower.objects.create(name="late", last_error="ValueError: no shift")
        assert "no shift" in signed_in("viewer").get(f"{LIST}late/change/").content.decode()

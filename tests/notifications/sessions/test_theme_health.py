from typing import Any

import pytest

from notifications.models import Alert, RepeatSession, Theme
from notifications.sending.policy import BREAKER_FAILURES
from notifications.sessions.enqueue import enqueue_session
from notifications.sessions.operations import Finish
from notifications.sessions.theme_health import close_idle_breaker
from notifications.sessions.themes import delete_theme, update_theme
from tests.notifications.sessions.themes import Register, Scripted, pass_time, repeat_due, theme

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def failing(handle: Register) -> None:
    """Have a theme that has failed once less than opens its breaker."""
    handle(Scripted(*[OSError("no answer")] * 100))
    theme(repeat_limit=100, delay=10)
    enqueue_session(theme=7, records=[], delay=0)
    repeat(BREAKER_FAILURES - 1)


def repeat(times: int) -> None:
    for _ in range(times):
        pass_time(100)
        assert repeat_due()


def breaker() -> tuple[int, bool]:
    found = Theme.objects.get()
    return found.failures, found.opened_at is not None


def alerts(**values: Any) -> list[str]:
    return list(Alert.objects.filter(kind="theme.unreachable", **values).values_list("subject", flat=True))


@pytest.mark.usefixtures("failing")
class TestBreaker:
    def test_opens_at_the_fifth_repeat_in_a_row_without_an_answer(self) -> None:
        assert (breaker(), alerts()) == ((BREAKER_FAILURES - 1, False), [])
        repeat(1)
        assert (breaker(), alerts(resolved_at=None)) == ((BREAKER_FAILURES, True), ["theme/7"])

    def test_open_it_counts_on_in_one_alert_and_every_session_is_repeated(self) -> None:
        repeat(3)
        assert RepeatSession.objects.get().repeats == BREAKER_FAILURES + 2
        assert Alert.objects.get(kind="theme.unreachable").count == 3

    @pytest.mark.parametrize("answer", [None, Finish()])
    def test_any_answer_closes_it_and_its_alert(self, answer: Any, handle: Register) -> None:
        repeat(1)
        handle(Scripted(answer))
        repeat(1)
        assert (breaker(), alerts(resolved_at=None)) == ((0, False), [])

    def test_an_answer_between_two_failures_begins_the_count_anew(self, handle: Register) -> None:
        handle(Scripted(Finish(), OSError("no answer")))
        repeat(2)
        assert breaker() == (1, False)

    def test_closes_when_nothing_waits_any_more(self) -> None:
        repeat(1)
        close_idle_breaker(7)
        assert breaker()[1]
        RepeatSession.objects.all().delete()
        close_idle_breaker(7)
        assert (breaker(), alerts(resolved_at=None)) == ((0, False), [])

    def test_another_address_begins_anew(self) -> None:
        repeat(1)
        update_theme(number=7, actor="a", handler=None, url="http://127.0.0.1:9/")
        assert (breaker(), alerts(resolved_at=None)) == ((0, False), [])

    def test_the_alert_of_a_theme_that_is_deleted_is_closed(self) -> None:
        repeat(1)
        RepeatSession.objects.all().delete()
        delete_theme(number=7, actor="a")
        assert alerts(resolved_at=None) == []

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from config.common.correlation import correlated
from notifications.models import Alert, Event
from processes.coordination.models import AppEvent, DummyItem, RoleLife, WriterEvent
from processes.coordination.protocol.messages import COORDINATOR, Message, MessageType
from processes.coordination.protocol.statuses import EventStatus
from tests.processes.coordination.admin.change_set_outcomes import begin, commit, fail, refuse
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    make_change_set,
    request_change,
    status_of,
)
from tests.staff import signed_in

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]

LIST = "/admin/coordination/appevent/"
QUERIES = 15


@pytest.fixture
def operator() -> Client:
    return signed_in("operator")


@pytest.fixture
def roles() -> InMemoryRoles:
    return InMemoryRoles()


def listed(browser: Client, **query: str) -> list[int]:
    return [row.pk for row in browser.get(LIST, query).context["cl"].result_list]


def shown(browser: Client, address: str = LIST, **query: str) -> str:
    return browser.get(address, query).content.decode()


def address(event: int, page: str = "change") -> str:
    return f"{LIST}{event}/{page}/"


def said(browser: Client, address: str, reason: str) -> list[str]:
    """Send a form and return what is told afterwards."""
    answer = browser.post(address, {"reason": reason}, follow=True)
    return [str(message) for message in answer.context["messages"]]


class TestList:
    def test_says_what_it_is_how_far_it_is_and_what_readers_say(self, roles: InMemoryRoles, operator: Client) -> None:
        commit(roles, 12)
        begin(roles)
        page = shown(operator)
        for part in ("dummy item: insert", "12 of 12", "committed", "preparing", "dummy node: insert", "0 of 1"):
            assert part in page
        assert page.count('data-step="now"') == 1

    @pytest.mark.slow
    def test_newest_first_narrowed_and_found(self, roles: InMemoryRoles, operator: Client) -> None:
        with correlated("the-chain"):
            first = commit(roles)
        second, third = refuse(roles), begin(roles)
        assert listed(operator) == [third, second, first]
        assert listed(operator, status="live") == [third]
        assert listed(operator, entity="DummyNode") == [third]
        assert listed(operator, refused="main") == [second]
        assert listed(operator, q="the-chain") == [first]
        assert listed(operator, q=str(second)) == [second]
        assert listed(operator, q=f"coordination/{second}") == [second]
        assert listed(operator, q="9" * 30) == []

    @pytest.mark.slow
    def test_a_filter_finds_what_the_column_shows(self, roles: InMemoryRoles, operator: Client) -> None:
        event = begin(roles, EventStatus.PREPARED)
        found = {status for status in EventStatus if listed(operator, status=str(status.value)) == [event]}
        assert found == {EventStatus.PREPARED}
        assert listed(operator, status="nonsense") == [event]

    def test_a_refusal_remains_the_verdict_of_what_was_cancelled_for_it(
        self, roles: InMemoryRoles, operator: Client
    ) -> None:
        refuse(roles)
        page = shown(operator)
        assert "refused" in page
        assert page.count('data-step="bad"') == 2

    def test_what_waits_says_so(self, roles: InMemoryRoles, operator: Client) -> None:
        event = begin(roles)
        WriterEvent.objects.filter(pk=event).update(is_waiting=True)
        page = shown(operator)
        assert 'data-step="doubt"' in page
        assert "waiting" in page

    def test_costs_the_same_for_many(
        self, roles: InMemoryRoles, operator: Client, django_assert_num_queries: Any
    ) -> None:
        operator.get(LIST)
        for _ in range(3):
            commit(roles)
            with django_assert_num_queries(QUERIES):
                listed(operator)

    def test_the_menu_counts_what_waits_for_a_person(self, roles: InMemoryRoles, operator: Client) -> None:
        fail(roles)
        menu = operator.get(LIST).context["sidebar_navigation"]
        assert {item["title"]: item["badge"] for group in menu for item in group["items"]}["Change sets"] == "1"

    def test_a_viewer_may_look_others_may_not(self, roles: InMemoryRoles) -> None:
        event = commit(roles)
        viewer = signed_in("viewer", "vera")
        assert (viewer.get(LIST).status_code, viewer.get(address(event)).status_code) == (200, 200)
        stranger = Client()
        stranger.force_login(User.objects.create_user("anna", is_staff=True))
        assert (stranger.get(LIST).status_code, stranger.get(address(event)).status_code) == (403, 403)


class TestReadersCard:
    def test_says_how_many_wait_and_since_when(self, roles: InMemoryRoles, operator: Client) -> None:
        event = begin(roles)
        made_at = timezone.now() - timedelta(hours=2, minutes=1)
        WriterEvent.objects.filter(pk=event).update(date=made_at)
        assert "1 change set waiting for <time" in shown(operator)
        assert operator.get(LIST).context["card"].under_way == 1
        assert ">2\xa0hours</time>" in shown(operator)

    def test_says_whether_roles_were_heard_from_lately(self, roles: InMemoryRoles, operator: Client) -> None:
        assert "The Coordinator is not responding" in shown(operator)
        roles.live()
        roles.coordinator.run_once()
        RoleLife.objects.filter(name="reader/main").update(seen_at=timezone.now() - timedelta(seconds=16))
        card = operator.get(LIST).context["card"]
        alive = {row.title: row.is_alive for row in card.rows}
        assert alive == {"Writer": True, "Coordinator": True, "Reader main": False}
        assert "not responding" not in shown(operator)


class TestPage:
    def test_tells_all_of_a_committed_one(self, roles: InMemoryRoles, operator: Client) -> None:
        with correlated("the-chain"):
            made = make_change_set(request_change("DummyItem", "insert", name="crate"))
        roles.settle()
        page = shown(operator, address(made.event))
        for part in ("<ins>crate</ins>", "1 of 1", "/admin/trace/?id=the-chain", ">34.7<", "applies the commit rows"):
            assert part in page
        assert page.count('data-step="done"') == 10

    def test_shows_what_an_update_changes_alone(self, roles: InMemoryRoles, operator: Client) -> None:
        first = make_change_set(request_change("DummyItem", "insert", name="old"))
        made = make_change_set(request_change("DummyItem", "update", first.ids[0], name="new"))
        page = shown(operator, address(made.event))
        assert "<del>old</del>" in page
        assert "<ins>new</ins>" in page
        assert "correlation_id" not in page

    def test_of_many_payloads_the_first_and_how_many_more(self, operator: Client) -> None:
        made = make_change_set(
            *(request_change("DummyItem", "insert", name=f"crate {number}") for number in range(103))
        )
        page = shown(operator, address(made.event))
        assert "crate 99<" in page
        assert "crate 100<" not in page
        assert "and 3 more" in page

    def test_of_what_is_committed_and_cannot_be_applied_says_so(self, roles: InMemoryRoles, operator: Client) -> None:
        event = begin(roles, EventStatus.COMMITTING)
        refusal = Message(MessageType.PROCESSED, event=event, role="main", reason="a trigger says no")
        roles.bus.send([(COORDINATOR, refusal)])
        roles.coordinator.receive()
        page = shown(operator, address(event))
        for part in ("can no longer be cancelled", "a trigger says no", "refused", "cannot be cancelled"):
            assert part in page

    def test_says_why_it_was_cancelled_and_who_refused(self, roles: InMemoryRoles, operator: Client) -> None:
        event = refuse(roles)
        page = shown(operator, address(event))
        assert "Why it was cancelled" in page
        assert page.count("already exists") == 2
        assert "Try again" not in page

    def test_hostile_values_are_text(self, operator: Client) -> None:
        made = make_change_set(request_change("DummyItem", "insert", name="<script>x</script>"))
        page = shown(operator, address(made.event))
        assert "<script>x" not in page
        assert "&lt;script&gt;x&lt;/script&gt;" in page

    def test_an_unknown_one_leads_back(self, operator: Client) -> None:
        for number in ("7", "nonsense", "9" * 30):
            assert operator.get(f"{LIST}{number}/change/").status_code == 302


class TestResolve:
    @pytest.fixture
    def failed(self, roles: InMemoryRoles) -> int:
        return fail(roles)

    def test_the_page_explains_what_stands_in_the_way(self, failed: int, operator: Client) -> None:
        newer = AppEvent.objects.latest("pk")
        page = shown(operator, address(failed))
        assert f"since been changed by change set {newer.pk}" in page
        assert f'<a href="{address(newer.pk)}">change set {newer.pk}</a>' in page
        assert f'href="/admin/notifications/alert/{Alert.objects.get(kind="coordination.compensation").pk}/' in page
        assert address(failed, "retry") in page
        assert address(failed, "accept") in page

    def test_in_russian_every_reason_is_russian(self, failed: int, operator: Client) -> None:
        """What stands in the way, and why the reader had refused: both were told by others than the reader of this."""
        newer = AppEvent.objects.latest("pk")
        page = operator.get(address(failed), headers={"Accept-Language": "ru"}).content.decode()
        assert f"с тех пор изменён набором изменений {newer.pk}" in page
        assert "уже существует" in page
        assert "already exists" not in page
        assert "has since been changed" not in page

    def test_a_row_that_is_gone_stands_in_the_way(self, failed: int, operator: Client) -> None:
        DummyItem.objects.all().delete()
        assert shown(operator, address(failed)).count("deleted since") == 2

    def test_a_retry_that_fails_again_says_what_it_met(self, failed: int, operator: Client) -> None:
        (told,) = said(operator, address(failed, "retry"), "the reader is put right")
        assert told.startswith("The compensation failed again.")
        assert "has since been changed" in told
        assert status_of(failed) == EventStatus.COMPENSATION_FAILED

    def test_a_retry_takes_it_back(self, failed: int, operator: Client) -> None:
        DummyItem.objects.update(last_event_id=failed)
        assert said(operator, address(failed, "retry"), "put right") == ["The change set has been undone."]
        assert status_of(failed) == EventStatus.CANCELED
        assert not DummyItem.objects.exists()
        page = shown(operator, address(failed))
        assert "put right" in page
        assert "staff:olga" in page

    def test_accepting_lets_the_rows_stand(self, failed: int, operator: Client) -> None:
        names = set(DummyItem.objects.values_list("name", flat=True))
        assert said(operator, address(failed, "accept"), "they are right") == ["The Writer's values are kept."]
        assert status_of(failed) == EventStatus.CANCELED
        assert set(DummyItem.objects.values_list("name", flat=True)) == names
        assert Event.objects.get(type="coordination.resolved").payload["by"] == "staff:olga"

    @pytest.mark.parametrize("reason", ["", "  ", "x" * 501])
    def test_a_reason_is_required(self, failed: int, operator: Client, reason: str) -> None:
        answer = operator.post(address(failed, "accept"), {"reason": reason})
        assert answer.context["form"].errors["reason"]
        assert status_of(failed) == EventStatus.COMPENSATION_FAILED

    @pytest.mark.parametrize("page", ["retry", "accept"])
    def test_looking_at_the_question_changes_nothing(self, failed: int, operator: Client, page: str) -> None:
        assert operator.get(address(failed, page)).status_code == 200
        assert status_of(failed) == EventStatus.COMPENSATION_FAILED

    @pytest.mark.parametrize("page", ["retry", "accept"])
    def test_who_may_only_look_is_offered_nothing(self, failed: int, page: str) -> None:
        viewer = signed_in("viewer", "vera")
        assert address(failed, page) not in shown(viewer, address(failed))
        assert viewer.post(address(failed, page), {"reason": "mine"}).status_code == 403
        assert status_of(failed) == EventStatus.COMPENSATION_FAILED

    def test_what_someone_else_has_resolved_is_told(self, failed: int, operator: Client) -> None:
        said(operator, address(failed, "accept"), "they are right")
        assert said(operator, address(failed, "retry"), "me too") == ["This change set has already been resolved."]
        assert operator.post(address(10**6, "retry"), {"reason": "x"}).status_code == 404

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from config.common.encryption import decrypt
from config.records.models import ChangeRecord
from notifications.models import Theme
from notifications.models.session import OWN_THEMES_FROM
from notifications.sessions.enqueue import enqueue_session, enqueue_sessions
from notifications.sessions.lifecycle import create_session
from notifications.sessions.operations import Finish
from tests.notifications.sessions.themes import Scripted, repeat_due, theme
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIST, ADD = "/admin/notifications/theme/", "/admin/notifications/theme/add/"


@pytest.fixture
def operator() -> Client:
    return signed_in("operator")


def filled(**values: Any) -> dict[str, Any]:
    known = {"number": "7", "handler": "test", "url": "", "delay": "60", "jitter": "0", "timeout": "60"}
    return {**known, "repeat_limit": "10", "length_limit": "65536", "form_id": str(uuid4()), **values}


def page_of(number: int) -> str:
    return f"{LIST}{number}/change/"


class TestList:
    def test_says_who_repeats_how_often_and_how_many_there_are(self, operator: Client, handle: Any) -> None:
        theme(delay=600, jitter=5, repeat_limit=1)
        theme(8, url="https://partner.example/repeat")
        handle(Scripted(Finish()))
        enqueue_session(theme=7, records=[], delay=0)
        repeat_due()
        enqueue_sessions(theme=7, sessions=[[1], [2]], delay=3600)
        create_session(theme=8, records=[])
        page = operator.get(LIST).content.decode()
        for part in ("test", "https://partner.example/repeat", "10\xa0minutes, up to 5 s more", "1 repeat ·"):
            assert part in page
        for part in (
            "theme=7&amp;status=saved",
            ">2 saved<",
            ">1 exhausted<",
            "theme=8&amp;status=active",
            ">1 active<",
        ):
            assert part in page

    def test_costs_the_same_for_many(self, operator: Client, django_assert_max_num_queries: Any) -> None:
        operator.get(LIST)
        for number in range(20):
            theme(number)
            enqueue_session(theme=number, records=[])
        with django_assert_max_num_queries(10):
            assert len(operator.get(LIST).context["cl"].result_list) == 20

    def test_finds_by_number_handler_and_url(self, operator: Client) -> None:
        theme(70)
        theme(71, url="https://partner.example/repeat")
        found = [
            [row.pk for row in operator.get(LIST, {"q": text}).context["cl"].result_list]
            for text in ("70", "tes", "partner")
        ]
        assert found == [[70], [70], [71]]


class TestAdd:
    def test_one_with_a_handler(self, operator: Client) -> None:
        page = operator.post(ADD, filled(delay="2.5"), follow=True)
        assert "was added successfully" in page.content.decode()
        made = Theme.objects.get()
        assert (made.pk, made.handler, made.delay, made.secret) == (7, "test", 2.5, None)
        assert ChangeRecord.objects.get(kind="theme").actor == "staff:olga"

    def test_one_with_a_url_shows_its_secret_this_once(self, operator: Client) -> None:
        page = operator.post(ADD, filled(handler="", url="https://partner.example/repeat"))
        secret = decrypt(bytes(Theme.objects.get().secret)).decode()
        assert page.context["secret"] == secret
        assert secret in page.content.decode()
        assert secret not in operator.get(page_of(7)).content.decode()

    def test_a_form_that_is_sent_twice_makes_one_theme_and_one_secret(self, operator: Client) -> None:
        sent = filled(handler="", url="https://partner.example/repeat")
        first = operator.post(ADD, sent).context["secret"]
        operator.post(ADD, sent)
        operator.post(ADD, {**sent, "number": "8"})
        assert decrypt(bytes(Theme.objects.get().secret)).decode() == first

    def test_offers_the_handlers_that_are_registered_and_sensible_numbers(self, operator: Client) -> None:
        form = operator.get(ADD).context["adminform"].form
        assert (form["delay"].value(), form["repeat_limit"].value(), form["length_limit"].value()) == (60, 10, 65_536)
        choices = form.fields["handler"].choices
        assert {"", "test", "incidents"} <= {name for name, _ in choices}

    @pytest.mark.parametrize(
        ("wrong", "field"),
        [
            ({"handler": ""}, "handler"),
            ({"url": "https://partner.example/"}, "url"),
            ({"handler": "nobody"}, "handler"),
            ({"handler": "", "url": "ftp://partner.example/"}, "url"),
            ({"number": str(OWN_THEMES_FROM)}, "number"),
            ({"number": "-1"}, "number"),
            ({"timeout": "0"}, "timeout"),
            ({"timeout": "nan"}, "timeout"),
            ({"repeat_limit": "0"}, "repeat_limit"),
            ({"length_limit": str(2**40)}, "length_limit"),
            ({"delay": "-1"}, "delay"),
            ({"jitter": "1e12"}, "jitter"),
        ],
    )
    def test_what_breaks_a_rule_is_told_at_its_field(self, operator: Client, wrong: dict[str, str], field: str) -> None:
        page = operator.post(ADD, filled(**wrong))
        assert field in page.context["adminform"].form.errors
        assert not Theme.objects.exists()

    def test_a_number_that_is_taken_is_told_so(self, operator: Client) -> None:
        theme()
        page = operator.post(ADD, filled())
        assert page.context["adminform"].form.errors["number"] == ["A theme with this number already exists."]


class TestChange:
    def test_changes_what_was_changed_and_tells_of_it(self, operator: Client) -> None:
        theme()
        operator.post(page_of(7), filled(delay="5"), follow=True)
        assert Theme.objects.get().delay == 5
        told = ChangeRecord.objects.get(kind="theme")
        assert (told.before["delay"], told.after["delay"]) == (60, 5)
        assert "olga, <time" in operator.get(page_of(7)).content.decode()

    def test_a_first_url_shows_its_secret_and_a_new_address_does_not(self, operator: Client) -> None:
        theme()
        page = operator.post(page_of(7), filled(handler="", url="https://one.example/"))
        secret = decrypt(bytes(Theme.objects.get().secret)).decode()
        assert page.context["secret"] == secret
        page = operator.post(page_of(7), filled(handler="", url="https://two.example/"), follow=True)
        assert "was changed successfully" in page.content.decode()
        assert decrypt(bytes(Theme.objects.get().secret)).decode() == secret

    def test_counts_its_sessions_and_leads_to_them(self, operator: Client) -> None:
        theme()
        enqueue_sessions(theme=7, sessions=[[1], [2]], delay=3600)
        counts = operator.get(page_of(7)).context["page"].counts
        assert [(each.name, each.number) for each in counts] == [("saved", "2"), ("active", "0"), ("exhausted", "0")]
        assert len(operator.get(counts[0].page).context["cl"].result_list) == 2

    def test_of_the_products_own_the_handler_stays(self, operator: Client) -> None:
        number = OWN_THEMES_FROM + 1
        theme(number, handler="incidents")
        operator.post(page_of(number), filled(delay="300", handler="", url="https://one.example/"))
        made = Theme.objects.get()
        assert (made.handler, made.url, made.delay) == ("incidents", "", 300)


class TestPermissions:
    def test_a_viewer_looks_and_changes_nothing(self) -> None:
        viewer = signed_in("viewer", "victor")
        theme()
        assert viewer.get(page_of(7)).status_code == 200
        assert viewer.get(ADD).status_code == 403
        assert viewer.post(ADD, filled(number="9")).status_code == 403
        assert viewer.post(page_of(7), filled(delay="5")).status_code == 403
        assert Theme.objects.get().delay == 60

    def test_who_may_nothing_sees_nothing(self) -> None:
        browser = Client()
        browser.force_login(User.objects.create_user("ivan", is_staff=True))
        assert {browser.get(page).status_code for page in (LIST, ADD)} == {403}


class TestBreaker:
    def test_list_and_page_say_what_waits_for_a_theme_that_does_not_answer(self, operator: Client) -> None:
        theme(opened_at="2026-01-01T00:00:00Z", failures=5)
        theme(8)
        enqueue_sessions(theme=7, sessions=[[1], [2]], delay=3600)
        for page in (LIST, page_of(7)):
            text = operator.get(page).content.decode()
            assert text.count("not responding") == 1
            assert "waiting: 2, since" in text
        assert "not responding" not in operator.get(page_of(8)).content.decode()


class TestDelete:
    def test_deletes_a_theme_without_sessions_and_says_who(self, operator: Client) -> None:
        theme()
        assert "delete" in operator.get(page_of(7)).content.decode()
        assert operator.get(f"{LIST}7/delete/").status_code == 200
        answer = operator.post(f"{LIST}7/delete/", {"post": "yes"})
        assert (answer.status_code, answer["Location"]) == (302, LIST)
        assert not Theme.objects.filter(pk=7).exists()
        assert ChangeRecord.objects.get(kind="theme", action="deleted").actor == "staff:olga"

    def test_one_with_sessions_is_refused_in_words_and_stays(
        self, operator: Client, django_assert_max_num_queries: Any
    ) -> None:
        theme()
        enqueue_sessions(theme=7, sessions=[[n] for n in range(100)], delay=3600)
        with django_assert_max_num_queries(40):
            answer = operator.post(f"{LIST}7/delete/", {"post": "yes"}, follow=True)
        assert "sessions" in "".join(str(message) for message in answer.context["messages"])
        assert Theme.objects.filter(pk=7).exists()

    def test_the_products_own_and_those_who_may_not_change_cannot(self, operator: Client) -> None:
        theme(OWN_THEMES_FROM)
        theme()
        assert operator.post(f"{LIST}{OWN_THEMES_FROM}/delete/", {"post": "yes"}).status_code == 403
        assert signed_in("viewer", "victor").post(f"{LIST}7/delete/", {"post": "yes"}).status_code == 403
        assert Theme.objects.count() == 2

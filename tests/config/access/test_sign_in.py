import threading
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.test import Client
from django.utils import timezone

from config.access.passwords import SLOTS, hashing_slot
from config.access.sign_in_limits import LIMIT, NAME_LIMIT, NETWORK_LIMIT, OVERALL_LIMIT, WINDOW
from config.records.models import LogEntry, SignInAttempt

PAGE = "/admin/login/?next=/admin/password_change/"


def sign_in(name: str, password: str, *, address: str = "192.0.2.7", client: Client | None = None) -> Any:
    form = {"username": name, "password": password}
    return (client or Client()).post(PAGE, form, REMOTE_ADDR=address)


def counted() -> int:
    return sum(SignInAttempt.objects.values_list("failures", flat=True))


def fill(*, name: str = "", address: str = "", failures: int) -> None:
    values = {"failures": failures, "window_ends_at": timezone.now() + WINDOW}
    SignInAttempt.objects.update_or_create(values, name=name, address=address)


@pytest.fixture
def familiar(olga: User) -> Client:
    """A browser in which olga has signed in, and out again."""
    client = Client()
    sign_in("olga", "a long password", client=client)
    client.post("/admin/logout/")
    return client


@pytest.fixture
def olga(db: None) -> User:
    return User.objects.create_user("olga", password="a long password", is_staff=True)


@pytest.mark.embedded
@pytest.mark.usefixtures("olga")
class TestSignInForm:
    def test_lets_in_and_leaves_no_count(self) -> None:
        response = sign_in("olga", "a long password")
        assert (response.status_code, response["Location"]) == (302, "/admin/password_change/")
        assert counted() == 0

    def test_forgets_what_was_mistyped_before(self) -> None:
        sign_in("olga", "wrong")
        sign_in("olga", "a long password")
        assert not SignInAttempt.objects.filter(name="olga", address="192.0.2.7").exists()

    def test_leads_to_the_start_page_when_nothing_else_was_asked_for(self) -> None:
        form = {"username": "olga", "password": "a long password"}
        assert Client().post("/admin/login/", form)["Location"] == "/admin/"

    def test_past_the_limit_even_the_right_password_is_not_looked_at(self) -> None:
        for _ in range(LIMIT):
            sign_in("olga", "wrong")
        page = sign_in("olga", "a long password").content.decode()
        assert "Too many failed attempts. Try again in 10 minutes." in page

    def test_another_spelling_of_the_name_is_counted_too(self) -> None:
        for _ in range(LIMIT):
            sign_in("OLGA", "wrong")
        assert "Too many failed attempts" in sign_in("olga", "wrong").content.decode()

    def test_another_address_may_still_sign_in(self) -> None:
        for _ in range(LIMIT):
            sign_in("olga", "wrong")
        assert sign_in("olga", "a long password", address="192.0.2.8").status_code == 302

    def test_an_endless_name_is_counted_by_its_beginning(self) -> None:
        sign_in("o" * 5000, "wrong")
        assert set(SignInAttempt.objects.values_list("name", flat=True)) == {"", "o" * 150}

    def test_without_a_password_nothing_is_counted(self) -> None:
        sign_in("olga", "")
        assert not SignInAttempt.objects.exists()

    def test_a_network_that_has_guessed_at_many_names_is_shut_out(self) -> None:
        fill(address="192.0.2.7", failures=NETWORK_LIMIT)
        assert "Too many failed attempts" in sign_in("olga", "a long password").content.decode()
        assert sign_in("olga", "a long password", address="192.0.2.8").status_code == 302

    def test_a_name_that_many_networks_guess_at_is_shut_to_strangers(self) -> None:
        fill(name="olga", failures=NAME_LIMIT)
        assert "Too many failed attempts" in sign_in("olga", "a long password").content.decode()

    def test_past_the_limit_of_all_together_nobody_new_is_let_in(self) -> None:
        fill(failures=OVERALL_LIMIT)
        assert "Too many failed attempts" in sign_in("olga", "a long password").content.decode()

    def test_a_browser_that_has_signed_in_before_is_not_shut_out_by_others(self, familiar: Client) -> None:
        SignInAttempt.objects.all().delete()
        fill(failures=OVERALL_LIMIT)
        fill(name="olga", failures=NAME_LIMIT)
        fill(address="192.0.2.7", failures=NETWORK_LIMIT)
        assert sign_in("olga", "a long password", client=familiar).status_code == 302

    def test_it_has_no_more_guesses_than_others(self, familiar: Client) -> None:
        for _ in range(LIMIT):
            sign_in("olga", "wrong", client=familiar)
        page = sign_in("olga", "a long password", client=familiar).content.decode()
        assert "Too many failed attempts" in page

    def test_it_is_a_stranger_to_every_other_name(self, familiar: Client) -> None:
        fill(name="vera", failures=NAME_LIMIT)
        assert "Too many failed attempts" in sign_in("vera", "wrong", client=familiar).content.decode()

    def test_a_cookie_that_was_made_up_is_worth_nothing(self, familiar: Client) -> None:
        familiar.cookies["known_browser"] = familiar.cookies["known_browser"].value[:-1]
        fill(name="olga", failures=NAME_LIMIT)
        assert "Too many failed attempts" in sign_in("olga", "wrong", client=familiar).content.decode()

    def test_while_all_slots_hash_it_is_told_to_come_back_and_not_counted(
        self,
    ) -> None:
        taken = [threading.Event() for _ in range(SLOTS)]
        done = threading.Event()

        def hold(number: int) -> None:
            with hashing_slot():
                taken[number].set()
                done.wait(30)

        threads = [threading.Thread(target=hold, args=(number,)) for number in range(SLOTS)]
        with ExitStack() as stack:
            for thread in threads:
                thread.start()
                stack.callback(thread.join)
            stack.callback(done.set)
            assert all(event.wait(30) for event in taken)
            answer = sign_in("olga", "a long password").content.decode()
        assert "Too many passwords are being checked" in answer
        assert counted() == 0
        assert sign_in("olga", "a long password").status_code == 302


def log() -> list[tuple[str, str, int]]:
    entries = LogEntry.objects.filter(kind="account").exclude(text__startswith="The password").order_by("pk")
    return [(entry.level, str(entry).partition(" until ")[0], entry.count) for entry in entries]


@pytest.mark.embedded
@pytest.mark.usefixtures("olga")
class TestLog:
    def test_tells_who_came_in_from_where(self) -> None:
        sign_in("olga", "a long password")
        assert log() == [("info", "olga signed in from 192.0.2.7", 1)]

    def test_counts_the_failures_of_a_minute_and_tells_of_the_lock_once(self) -> None:
        with time_machine.travel(datetime(2026, 3, 1, 12, 0, tzinfo=UTC), tick=False):
            for _ in range(LIMIT + 5):
                sign_in("olga", "wrong")
        assert log() == [
            ("warning", "A sign-in as olga from 192.0.2.7 failed", LIMIT),
            ("warning", "Sign-ins as olga from 192.0.2.7 are blocked", 1),
        ]

    def test_keeps_no_name_that_is_nobodys_as_it_may_be_a_password(self) -> None:
        for _ in range(LIMIT):
            sign_in("correct horse", "olga")
        assert {text for _, text, _ in log()} == {"A sign-in from 192.0.2.7 failed: no such account"}
        assert not any("correct" in str(entry.data) for entry in LogEntry.objects.all())

    def test_tells_of_a_network_that_is_locked(self) -> None:
        fill(address="192.0.2.7", failures=NETWORK_LIMIT - 1)
        sign_in("nobody", "wrong")
        assert log()[-1][1] == "Sign-ins from 192.0.2.7 are blocked"


@pytest.mark.embedded
@pytest.mark.django_db(transaction=True)
class TestSignInRace:
    @pytest.mark.slow
    def test_of_many_guesses_at_once_at_most_ten_are_checked(
        self, in_threads: Callable[[Callable[[int], Any], int], list[Any]]
    ) -> None:
        User.objects.create_user("olga", password="a long password", is_staff=True)
        checked, lock = [], threading.Lock()

        def count(**kwargs: Any) -> None:
            with lock:
                checked.append(kwargs["credentials"]["username"])

        user_login_failed.connect(count)
        try:
            answers = in_threads(lambda number: sign_in("olga", f"guess {number}"), 32)
        finally:
            user_login_failed.disconnect(count)
        # On a busy machine some are told to come back: the connections of the pool are taken.
        pages = [answer.content.decode() for answer in answers if answer.status_code == 200]
        refused = [page for page in pages if "Too many" in page]
        assert 0 < len(checked) <= LIMIT
        assert len(refused) == len(pages) - len(checked)

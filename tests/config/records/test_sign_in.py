import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.test import Client

from config.records.models import SignInAttempt
from config.records.sign_in import LIMIT, WINDOW, Visitor, forget_attempts, reserve_attempt

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
VISITOR = Visitor(name="olga", address="192.0.2.7")
PAGE = "/admin/login/?next=/admin/password_change/"


def sign_in(name: str, password: str, *, address: str = "192.0.2.7") -> Any:
    return Client(REMOTE_ADDR=address).post(PAGE, {"username": name, "password": password})


@pytest.fixture
def olga(db: None) -> User:
    return User.objects.create_user("olga", password="a long password", is_staff=True)


@pytest.mark.embedded
@pytest.mark.django_db
class TestReserveAttempt:
    def test_grants_ten_and_refuses_the_eleventh(self) -> None:
        granted = [reserve_attempt(VISITOR, at=AT).granted for _ in range(LIMIT + 1)]
        assert granted == [True] * LIMIT + [False]

    def test_tells_how_long_the_window_still_lasts(self) -> None:
        reserve_attempt(VISITOR, at=AT)
        assert reserve_attempt(VISITOR, at=AT + timedelta(minutes=4)).wait == timedelta(minutes=6)

    def test_begins_again_when_the_window_has_ended(self) -> None:
        for _ in range(LIMIT + 5):
            reserve_attempt(VISITOR, at=AT)
        again = reserve_attempt(VISITOR, at=AT + WINDOW)
        assert (again.granted, again.wait) == (True, WINDOW)

    def test_refused_attempts_do_not_prolong_the_window(self) -> None:
        for minute in range(9):
            for _ in range(LIMIT):
                reserve_attempt(VISITOR, at=AT + timedelta(minutes=minute))
        assert reserve_attempt(VISITOR, at=AT + WINDOW).granted

    def test_counts_each_name_and_address_apart(self) -> None:
        for _ in range(LIMIT + 1):
            reserve_attempt(VISITOR, at=AT)
        others = [Visitor("olga", "192.0.2.8"), Visitor("ivan", "192.0.2.7")]
        assert all(reserve_attempt(other, at=AT).granted for other in others)

    def test_a_million_guesses_fit_the_column(self) -> None:
        SignInAttempt.objects.create(name="olga", address="192.0.2.7", failures=32767, window_ends_at=AT + WINDOW)
        assert not reserve_attempt(VISITOR, at=AT).granted


@pytest.mark.embedded
@pytest.mark.django_db
class TestForgetAttempts:
    def test_success_clears_the_count(self) -> None:
        for _ in range(LIMIT):
            reserve_attempt(VISITOR, at=AT)
        forget_attempts(VISITOR)
        assert reserve_attempt(VISITOR, at=AT).granted


class TestVisitor:
    def test_spellings_of_a_name_count_together(self) -> None:
        assert Visitor.of(None, " OLGA ") == Visitor.of(None, "olga")

    def test_a_name_is_cut_to_what_the_column_holds(self) -> None:
        assert len(Visitor.of(None, "ß" * 150).name) == 150


@pytest.mark.embedded
@pytest.mark.usefixtures("olga")
class TestSignInForm:
    def test_lets_in_and_leaves_no_count(self) -> None:
        sign_in("olga", "wrong")
        response = sign_in("olga", "a long password")
        assert (response.status_code, response["Location"]) == (302, "/admin/password_change/")
        assert not SignInAttempt.objects.exists()

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
        assert SignInAttempt.objects.get().name == "o" * 150

    def test_without_a_password_nothing_is_counted(self) -> None:
        sign_in("olga", "")
        assert not SignInAttempt.objects.exists()


@pytest.mark.embedded
@pytest.mark.django_db(transaction=True)
class TestSignInRace:
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
        assert 0 < len(checked) <= LIMIT
        assert sum("Too many failed attempts" in page for page in pages) == len(pages) - len(checked)

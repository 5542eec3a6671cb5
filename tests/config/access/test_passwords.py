import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher, check_password, identify_hasher, make_password
from django.contrib.auth.models import User
from django.test import Client

from config import settings as product
from config.access.passwords import SLOTS, PasswordsBusy, hashing_slot

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _hashers_of_the_product(settings: Any) -> None:
    settings.PASSWORD_HASHERS = product.PASSWORD_HASHERS


class TestHashers:
    def test_a_password_is_hashed_by_argon2_within_a_bound_of_memory(self) -> None:
        encoded = make_password("a long password")
        assert re.match(r"argon2\$argon2id\$v=19\$m=19456,t=2,p=1\$", encoded)
        assert check_password("a long password", encoded)
        assert not check_password("another", encoded)

    @pytest.mark.embedded
    @pytest.mark.django_db
    def test_an_older_hash_still_opens_and_is_replaced_at_the_sign_in(self) -> None:
        older = PBKDF2PasswordHasher().encode("a long password", "salt" * 6, 1000)
        User.objects.create(username="olga", password=older, is_staff=True)
        answer = Client().post("/admin/login/", {"username": "olga", "password": "a long password"})
        assert answer.status_code == 302
        assert identify_hasher(User.objects.get().password).algorithm == "argon2"


class TestHashingSlot:
    def test_whoever_holds_one_needs_no_second(self) -> None:
        with hashing_slot(), hashing_slot():
            assert make_password("a long password")

    @pytest.mark.parametrize("older", [False, True])
    def test_one_past_them_is_refused_at_once_and_they_come_back(self, older: bool) -> None:
        encoded = PBKDF2PasswordHasher().encode("x", "salt", 1000) if older else make_password("x")
        held, done = threading.Barrier(SLOTS + 1), threading.Event()

        def hold() -> None:
            with hashing_slot():
                held.wait(30)
                done.wait(30)

        threads = [threading.Thread(target=hold) for _ in range(SLOTS)]
        for thread in threads:
            thread.start()
        held.wait(30)
        try:
            with pytest.raises(PasswordsBusy):
                check_password("x", encoded)
        finally:
            done.set()
            for thread in threads:
                thread.join()
        assert check_password("x", encoded)


class TestCookies:
    @pytest.mark.parametrize(("url", "prefix"), [("https://postern.example", "__Host-"), ("http://127.0.0.1:8000", "")])
    def test_under_https_no_neighbour_can_plant_one(self, tmp_path: Path, url: str, prefix: str) -> None:
        names = ["SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME", "LANGUAGE_COOKIE_NAME", "KNOWN_BROWSER_COOKIE_NAME"]
        program = f"from config import settings as s; print(*[getattr(s, name) for name in {names}])"
        environment = {"PUBLIC_URL": url, "DATA_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        plain = ("sessionid", "csrftoken", "django_language", "known_browser")
        assert done.stdout.split() == [prefix + name for name in plain]

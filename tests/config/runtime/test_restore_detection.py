"""A database that was restored is noticed by what the volume of the messages remembers."""

import os
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from config.common.database import sequences
from config.common.database.sequences import last_issued_numbers
from config.runtime import restore_detection
from config.runtime.preparation import _check_message_volume
from config.runtime.restore_detection import FILE, detect_restore, save_issued_numbers
from messaging.files.paths import root
from messaging.files.volume import check_volume
from tests.notifications.alerts import make_alert
from tests.processes.exchange.test_volume import unmounted

pytestmark = [pytest.mark.embedded, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def _own_volume(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(restore_detection, "_kept", {})
    check_volume()


def fall_back(to: int) -> None:
    """Do to the numbers of alerts what an older copy of the database does."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT setval('notifications_alert_id_seq', %s)", [to])
        else:
            cursor.execute("UPDATE sqlite_sequence SET seq = %s WHERE name = 'notifications_alert'", [to])


class TestNoticeRestore:
    def test_numbers_given_since_the_copy_are_given_to_nobody_else(self) -> None:
        copied = make_alert(subject="thing/1").pk
        highest = make_alert(subject="thing/2").pk
        save_issued_numbers()
        fall_back(copied)
        assert detect_restore()
        assert make_alert(subject="thing/3").pk > highest

    def test_by_a_clock_that_is_behind_them_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sequences, "SINCE", timezone.now())
        copied, highest = make_alert(subject="thing/1").pk, make_alert(subject="thing/2").pk
        save_issued_numbers()
        fall_back(copied)
        assert detect_restore()
        assert make_alert(subject="thing/3").pk > highest

    def test_is_noticed_once(self) -> None:
        copied, _ = make_alert(subject="thing/1").pk, make_alert(subject="thing/2")
        save_issued_numbers()
        fall_back(copied)
        assert [detect_restore(), detect_restore()] == [True, False]

    def test_a_plain_start_changes_nothing(self) -> None:
        number = make_alert(subject="thing/1").pk
        save_issued_numbers()
        assert not detect_restore()
        assert make_alert(subject="thing/2").pk == number + 1

    @pytest.mark.parametrize("text", ["", "nonsense", "[1]", '{"notifications_alert": "x"}', '{"gone": 7}'])
    def test_a_file_that_is_none_of_ours_says_nothing_and_is_written_anew(self, text: str) -> None:
        (root() / FILE).write_text(text)
        assert not detect_restore()
        assert '"notifications_alert"' in (root() / FILE).read_text()


class TestKeepNumbers:
    def test_writes_only_what_is_new(self) -> None:
        save_issued_numbers()
        (root() / FILE).unlink()
        save_issued_numbers()
        assert not (root() / FILE).exists()
        make_alert()
        save_issued_numbers()
        assert (root() / FILE).exists()

    def test_without_the_volume_it_is_tried_again(self) -> None:
        make_alert()
        with unmounted():
            assert save_issued_numbers() is False
            assert os.listdir(root()) == []
        save_issued_numbers()
        assert str(last_issued_numbers()["notifications_alert"]) in (root() / FILE).read_text()


class TestPrepare:
    def test_looks_and_says_what_is_to_be_done(self) -> None:
        copied, highest = make_alert(subject="thing/1").pk, make_alert(subject="thing/2").pk
        save_issued_numbers()
        fall_back(copied)
        said: list[str] = []
        _check_message_volume(said.append)
        assert ["reindex_messages --after-restore" in line for line in said] == [True]
        assert make_alert(subject="thing/3").pk > highest

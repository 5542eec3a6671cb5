from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import get_language, override

from config.audit.log import NewLogEntry, write_log_entries, write_log_entry
from config.common import text_templates
from config.common.correlation import correlated
from config.records import retention
from config.records.models import LogEntry
from config.records.retention import expire_log

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

STEP = "Step %(step)s failed"


def write(template: str = STEP, **fields: Any) -> LogEntry:
    values = {"level": "info", "kind": "exchange", "data": {"step": "4"}, **fields}
    write_log_entry(template=template, **values)
    return LogEntry.objects.latest("id")


def aged(days: float, kind: str = "file") -> LogEntry:
    return write(kind=kind, at=timezone.now() - timedelta(days=days))


class TestWriteEntry:
    def test_keeps_what_happened_under_the_id_of_the_call(self) -> None:
        with correlated("call-0001"):
            entry = write(level="error", subject="process/7")
        assert (entry.level, entry.kind, entry.subject, entry.count) == ("error", "exchange", "process/7", 1)
        assert (entry.text, entry.data, entry.correlation_id) == ("Step 4 failed", {"step": "4"}, "call-0001")
        assert timedelta() <= timezone.now() - entry.at < timedelta(seconds=5)

    def test_keeps_words_that_no_database_would(self) -> None:
        """A file name that is no UTF-8 reaches the words of its error as half of a character."""
        entry = write(data={"step": "a\0b \udcff"}, subject="file/\udcff")
        assert (entry.text, entry.subject) == ("Step a\ufffdb \ufffd failed", "file/\ufffd")
        assert entry.data == {"step": "a\ufffdb \ufffd"}

    def test_takes_the_callers_time_cut_to_milliseconds(self) -> None:
        at = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
        assert write(at=at).at == at.replace(microsecond=678_000)

    def test_goes_with_the_transaction_of_the_fact(self) -> None:
        with transaction.atomic():
            write()
            transaction.set_rollback(True)
        assert not LogEntry.objects.exists()

    def test_inside_a_transaction_costs_one_statement(self, django_assert_max_num_queries: Any) -> None:
        with transaction.atomic(), django_assert_max_num_queries(1):
            write_log_entry(level="info", kind="exchange", template=STEP)

    def test_the_search_has_english_whatever_the_caller_speaks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(text_templates, "gettext", _into_russian)
        with override("ru"):
            entry = write()
            assert (entry.text, entry.words) == ("Step 4 failed", "Шаг 4 не удался")
        assert entry.words == "Step 4 failed"

    def test_an_unknown_level_cannot_be_kept(self) -> None:
        with pytest.raises(IntegrityError), transaction.atomic():
            write(level="fatal")


class TestWriteEntries:
    def test_writes_many_in_their_order(self) -> None:
        write_log_entries(NewLogEntry("info", "exchange", STEP, {"step": number}) for number in range(3))
        assert [entry.text for entry in LogEntry.objects.order_by("id")] == [f"Step {n} failed" for n in range(3)]

    def test_of_none_nothing_happens(self) -> None:
        write_log_entries([])
        assert not LogEntry.objects.exists()

    def test_a_fold_is_counted_on_the_first_row(self) -> None:
        for count in (2, 3):
            write_log_entries([NewLogEntry("warning", "refused", STEP, {"step": count}, fold="a", count=count)])
        entry = LogEntry.objects.get()
        assert (entry.count, entry.text) == (5, "Step 2 failed")

    def test_without_a_fold_equal_ones_stand_alone(self) -> None:
        write_log_entries([NewLogEntry("info", "file", STEP)] * 2)
        assert LogEntry.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_eight_that_count_the_same_folds_at_once_lose_nothing(in_threads: Callable[..., list[None]]) -> None:
    def count(number: int) -> None:
        for _ in range(5):
            write_log_entries([NewLogEntry("warning", "refused", STEP, fold=fold) for fold in "abc"])

    in_threads(count, 8)
    assert dict(LogEntry.objects.values_list("fold", "count")) == {"a": 40, "b": 40, "c": 40}


class TestSaying:
    @pytest.mark.parametrize("text", ["STEP 4", "ep 4 FA", "ошибка", "100%", "(a.b)"])
    def test_finds_a_part_whatever_its_case(self, text: str) -> None:
        wanted = write("Step 4 failed: Ошибка, 100% (A.B)")
        write("Another, 100 (acb)")
        assert list(LogEntry.objects.saying(text)) == [wanted]


class TestForgetOldLog:
    def test_what_is_old_goes_and_what_is_young_stays(self) -> None:
        for kind in ("file", "refused", "alert"):
            aged(91, kind)
        young = aged(89)
        expire_log()
        assert list(LogEntry.objects.all()) == [young]

    def test_entries_of_exchange_processes_stay(self) -> None:
        old = aged(400, "exchange")
        expire_log()
        assert list(LogEntry.objects.all()) == [old]

    def test_the_days_are_set(self, settings: Any) -> None:
        settings.RETENTION_DAYS = 1
        aged(1.1)
        expire_log()
        assert not LogEntry.objects.exists()

    def test_goes_through_more_than_one_step_and_may_run_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(retention, "BATCH", 3)
        for number in range(10):
            aged(100, "exchange" if number % 4 == 0 else "file")
        expire_log()
        expire_log()
        assert LogEntry.objects.count() == 3


def _into_russian(text: str) -> str:
    return "Шаг %(step)s не удался" if get_language() == "ru" and text == STEP else text

from typing import Any

import pytest

from config.dashboard.live.processes import MOST_ENDED
from processes.exchange.models import ExchangeProcess, ProcessMessage
from tests.config.dashboard.live.records import add_messages, make_process, move, shown_processes

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
Status = ExchangeProcess.Status


class TestReadProcesses:
    @pytest.mark.parametrize("status", Status.values)
    def test_shows_every_status_newest_first(self, status: str) -> None:
        made = [make_process(status, minute=minute).pk for minute in range(3)]
        rows = shown_processes()
        assert list(rows) == made[::-1]
        assert {row.status for row in rows.values()} == {status}

    def test_shows_all_that_are_under_way_and_the_last_of_the_ended(self) -> None:
        live = make_process(Status.READY_TO_COMMIT, minute=-60)
        doubtful = make_process(Status.IN_DOUBT, minute=-60)
        ended = [make_process(Status.DONE, minute=minute).pk for minute in range(MOST_ENDED + 5)]
        assert set(shown_processes()) == {live.pk, doubtful.pk, *ended[-MOST_ENDED:]}

    def test_tells_the_end_of_a_known_process_once_however_old_it_is(self) -> None:
        old = make_process(minute=-60)
        known = shown_processes()
        for minute in range(MOST_ENDED):
            make_process(Status.DONE, minute=minute)
        move(old, Status.TIMED_OUT)
        told = shown_processes(known)
        assert told[old.pk].status == Status.TIMED_OUT
        assert old.pk not in shown_processes(told)

    def test_counts_the_messages_that_were_not_left_out(self) -> None:
        process = make_process()
        add_messages(process, 3)
        known = shown_processes()
        ProcessMessage.objects.filter(process=process, place=0).update(is_left_out=True)
        assert known[process.pk].messages == 3
        assert shown_processes(known)[process.pk].messages == 2

    def test_counts_the_files_that_have_been_moved(self) -> None:
        process = make_process(Status.CLEANUP)
        add_messages(process, 2)
        add_messages(process, 1, moving_from="Messages")
        row = shown_processes()[process.pk]
        assert (row.files, row.moved, row.percent) == (3, 2, 66)

    def test_reads_no_more_often_for_many(self, django_assert_max_num_queries: Any) -> None:
        for number, status in enumerate(Status.values * 3):
            add_messages(make_process(status, minute=number), 2)
        with django_assert_max_num_queries(3):
            assert len(shown_processes()) > 20

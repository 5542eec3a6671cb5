import os
from datetime import timedelta

import pytest
from django.utils import timezone

from config.common.database.row_lists import read_lists
from config.dashboard.live.own_processes import SILENT_AFTER, ask_own_processes, read_own_processes
from config.records.models import RunningProcess
from config.records.retention import expire_answers
from config.runtime.heartbeat import HeartbeatDaemon

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def states() -> list[tuple[str, str]]:
    at = timezone.now()
    part = read_own_processes(at, queues={}, position=0, lists=read_lists(ask_own_processes(at)))
    return [(row["name"], row["state"]) for row in part["processes"]]


class TestHeartbeat:
    def test_a_process_that_beats_runs_and_one_that_stops_beating_is_silent(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("POSTERN_PROCESS", "scheduler")
        HeartbeatDaemon().beat_once()
        assert states() == [("scheduler", "ok")]
        RunningProcess.objects.update(seen_at=timezone.now() - SILENT_AFTER - timedelta(seconds=1))
        assert states() == [("scheduler", "silent")]
        HeartbeatDaemon().beat_once()
        assert states() == [("scheduler", "ok")]

    def test_one_that_is_started_again_takes_over_the_row_of_the_dead(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("POSTERN_PROCESS", "worker")
        HeartbeatDaemon().beat_once()
        long_ago = timezone.now() - timedelta(hours=1)
        RunningProcess.objects.update(pid=1, started_at=long_ago, seen_at=long_ago)
        HeartbeatDaemon().beat_once()
        row = RunningProcess.objects.get()
        assert row.pid == os.getpid()
        assert row.started_at > long_ago

    def test_one_that_ends_in_order_takes_its_row_along(self) -> None:
        daemon = HeartbeatDaemon()
        daemon.beat_once()
        daemon.stop()
        daemon.run()
        assert not RunningProcess.objects.exists()

    def test_the_dead_of_yesterday_are_forgotten(self) -> None:
        HeartbeatDaemon().beat_once()
        RunningProcess.objects.update(seen_at=timezone.now() - timedelta(hours=23))
        expire_answers()
        assert RunningProcess.objects.exists()
        RunningProcess.objects.update(seen_at=timezone.now() - timedelta(hours=25))
        expire_answers()
        assert not RunningProcess.objects.exists()

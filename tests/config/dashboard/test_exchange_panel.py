import json

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from config.dashboard.exchange_panel import ENDED_ROWS, build_panel
from messaging.models import ExchangeDatabase
from processes.exchange.models import ExchangeProcess
from tests.config.dashboard.live.conftest import AT
from tests.config.dashboard.live.records import make_process, shown_processes

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
Status = ExchangeProcess.Status


def start_page(*groups: str) -> str:
    person = User.objects.create_user("vera", is_staff=True)
    person.groups.set(Group.objects.filter(name__in=groups))
    client = Client()
    client.force_login(person)
    return client.get("/admin/").content.decode()


class TestBuildPanel:
    def test_parts_what_is_under_way_from_what_has_ended(self) -> None:
        live = [make_process(status).pk for status in (Status.STARTED, Status.FAILED, Status.IN_DOUBT)]
        for minute in range(ENDED_ROWS + 2):
            make_process(Status.DONE, minute=minute)
        panel = build_panel(list(shown_processes().values()), at=AT)
        assert {row.id for row, _ in panel.live} == set(live)
        assert [row.status for row, _ in panel.ended] == ["DONE"] * ENDED_ROWS

    def test_counts_the_processes_of_each_status_under_way(self) -> None:
        for status in (Status.STARTED, Status.STARTED, Status.CLEANUP, Status.DONE):
            make_process(status)
        counts = {share.status: share.count for share in build_panel(list(shown_processes().values()), at=AT).shares}
        assert counts == {"STARTED": 2, "READY_TO_COMMIT": 0, "CLEANUP": 1, "FAILED": 0, "IN_DOUBT": 0}

    def test_has_words_for_every_status(self) -> None:
        assert set(json.loads(build_panel(list(shown_processes().values()), at=AT).words)) == set(Status.values)


class TestStartPage:
    def test_says_that_nothing_is_exchanged(self) -> None:
        page = start_page("viewer")
        assert '<p class="pst-empty" data-when="idle" >' in page
        assert "postern/live.js" in page

    def test_shows_a_process_before_any_script_runs(self) -> None:
        process = make_process(Status.READY_TO_COMMIT)
        ExchangeDatabase.objects.update(name="<script>alert(1)</script>")
        page = start_page("viewer")
        assert f'id="process-{process.pk}" data-status="READY_TO_COMMIT"' in page
        assert "<script>alert" not in page

    def test_shows_nothing_of_it_without_the_permission(self) -> None:
        make_process()
        page = start_page()
        assert 'id="exchange"' not in page

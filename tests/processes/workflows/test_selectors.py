from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from config.common.database.sql import load_sql
from processes.workflows import selectors
from processes.workflows.engine.state_queries import get_variables
from processes.workflows.heads import PACKAGE
from processes.workflows.selectors import find_returns, list_versions, load_versions
from processes.workflows.services.returns import return_instance
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import ACTOR, Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

SIZE = 3000


class TestFindReturns:
    def test_are_the_versions_that_were_not_made_from_the_one_before(self, scene: Scene) -> None:
        head = scene.begin(chain("two", user("a"), user("b")))
        scene.complete(head)
        for version in (1, 2):
            return_instance(head.id, version=version, reason="again", actor=ACTOR, at=timezone.now())
        assert find_returns(head.id, most=10) == {3: 1, 4: 2}
        assert find_returns(head.id, most=1) == {4: 2}

    def test_are_found_by_their_index_however_many_versions_there_are(self, scene: Scene) -> None:
        head = scene.begin(chain("one", user("a")))
        is_postgresql = connection.vendor == "postgresql"
        instance = head.id if is_postgresql else head.id.hex
        with connection.cursor() as cursor:
            if is_postgresql:
                cursor.execute("SET LOCAL enable_seqscan = off")
            plan = "EXPLAIN" if is_postgresql else "EXPLAIN QUERY PLAN"
            cursor.execute(f"{plan} {load_sql(PACKAGE, 'returns')}", {"instance": instance, "most": 10})
            assert "version_return" in str(cursor.fetchall())


class TestLoadVersions:
    def test_reads_no_more_bodies_at_once_than_fit(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
    ) -> None:
        head = scene.begin(chain("three", user("a"), user("b"), user("c")), text="0" * SIZE)
        for number in "12":
            scene.complete(head, text=number * SIZE)
        versions = list(list_versions(head.id))
        monkeypatch.setattr(selectors, "PAGE_BYTES", 2 * SIZE)
        loading = load_versions(versions)
        with django_assert_num_queries(2):  # their sizes, and those of the first
            first = next(loading)
        with django_assert_num_queries(2):
            found = [first, *loading]
        assert [get_variables(each.state)["text"] for each in found if each.state] == [
            "2" * SIZE,
            "1" * SIZE,
            "0" * SIZE,
        ]

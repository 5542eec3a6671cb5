from typing import Any

import pytest

from processes.workflows import selectors
from processes.workflows.engine.state_queries import get_variables
from processes.workflows.selectors import list_versions, load_versions
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

SIZE = 3000


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

from dataclasses import replace

import pytest
from django.utils import timezone

from config.audit import explain
from config.audit.explain import MOST_EVIDENCE, Evidence, Explanation
from tests.sensors.api.callers import service

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def test_rows_of_evidence_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tuple(
        Evidence(timezone.now(), "delivery", number, "…", "notifications.view_delivery")
        for number in range(MOST_EVIDENCE + 1)
    )
    question = explain._questions["delivery"]
    long = replace(question, explain=lambda asked, asker: Explanation("Why?", "dead", "…", evidence=rows))
    monkeypatch.setitem(explain._questions, "delivery", long)
    found = service("history:read")("GET", "/explain/?delivery=1").json()
    assert [row["id"] for row in found["evidence"]] == list(range(MOST_EVIDENCE))

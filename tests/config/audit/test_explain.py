"""What is promised of every question: its words are documented and have a sentence in both languages."""

import re
from enum import StrEnum

import pytest
from django.conf import settings
from django.utils.translation import gettext, override

from config.audit.explain import find_question, list_questions
from processes.coordination.explanation import verdict as change_set_verdicts
from processes.coordination.explanation import words as coordination
from processes.exchange.explanation import verdict as message_verdicts
from processes.exchange.explanation import words as exchange
from processes.workflows.explanation import verdict as workflow_verdicts
from processes.workflows.explanation import words as workflows
from sensors.explanation import verdict as sensor_verdicts
from sensors.explanation import words as sensors

DOCUMENT = (settings.BASE_DIR / "docs" / "operations.md").read_text(encoding="utf-8")
SENTENCES = [
    *sensors.SENTENCES.items(),
    *exchange.SENTENCES.items(),
    *workflows.SENTENCES.items(),
    *workflows.TASK_SENTENCES.items(),
    *coordination.SENTENCES.items(),
]


SCENARIOS = {
    sensor_verdicts.Verdict: "sensors",
    message_verdicts.Verdict: "processes/exchange",
    workflow_verdicts.Verdict: "processes/workflows",
    workflow_verdicts.TaskVerdict: "processes/workflows",
    change_set_verdicts.Verdict: "processes/coordination",
}


@pytest.mark.parametrize("verdicts", SCENARIOS)
def test_every_verdict_has_a_scenario(verdicts: type[StrEnum]) -> None:
    folder = settings.BASE_DIR / "tests" / SCENARIOS[verdicts] / "explanation"
    text = "".join(file.read_text(encoding="utf-8") for file in folder.rglob("test_*.py"))
    named = set(re.findall(rf"\b{verdicts.__name__}\.([A-Z_]+)", text))
    assert {verdict.name for verdict in verdicts} - named == set()


def test_every_verdict_is_documented() -> None:
    words = {verdict for question in list_questions() for verdict in question.verdicts}
    assert {word for word in words if f"`{word}`" not in DOCUMENT} == set()


def test_every_verdict_has_a_sentence() -> None:
    assert {verdict.value for verdict, _ in SENTENCES} == {
        verdict for question in list_questions() for verdict in question.verdicts
    }


@pytest.mark.parametrize("sentence", [sentence for _, sentence in SENTENCES])
def test_every_sentence_is_there_in_russian(sentence: str) -> None:
    with override("ru"):
        assert gettext(sentence) != sentence


class TestFindQuestion:
    def test_is_known_by_its_parameter(self) -> None:
        found = find_question({"sensor": "0xA", "client": 1})
        assert found is not None
        assert found.parameter == "sensor"

    def test_a_task_may_be_named_with_its_instance(self) -> None:
        found = find_question({"instance": "x", "task": "a"})
        assert found is not None
        assert found.parameter == "task"

    def test_none_or_two_at_once_are_no_question(self) -> None:
        assert find_question({}) is None
        assert find_question({"sensor": "0xA", "delivery": 1}) is None
        assert find_question({"sensor": ""}) is None

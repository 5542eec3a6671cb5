"""The rule of the watermark, by a model that is searched through: every order of handing out, reading, committing,
asking, pausing, dying, giving back and joining of two consumers (and a third) with one signal and its probes."""

import os
from dataclasses import replace

import pytest

from sensors.heartbeat.watermark import proven_time
from tests.sensors.heartbeat.watermark_model import NEW, OLD, Rule, State, begin, search, settle, watermark

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(1800)]

STARTS = {
    "two probes": begin(probes=2),
    "a pause, a death or a return": begin(troubles=1),
    "a third joins": begin(joining=True),
}
if float(os.environ.get("DRILL_SCALE", "0")) >= 1:
    STARTS["a third joins in trouble"] = begin(troubles=1, joining=True)
    STARTS["two probes in trouble"] = begin(probes=2, troubles=1)


class TestProvenTime:
    def test_is_that_of_the_newest_probe_that_passed_before_every_mark(self) -> None:
        assert proven_time([(1, 2), (3, 5), (6, 9)], [5, 8]) == 3

    def test_is_unknown_without_a_consumer(self) -> None:
        assert proven_time([(1, 2)], list[int]()) is None

    def test_counts_only_probes_sent_after_messages_were_given_back(self) -> None:
        assert proven_time([(1, 2)], [5], proven_from=2) is None
        assert proven_time([(1, 2), (3, 4)], [5], proven_from=2) == 3


class TestModel:
    @pytest.mark.slow
    @pytest.mark.parametrize("start", STARTS.values(), ids=STARTS.keys())
    def test_the_rule_never_lies_and_never_stands_still(
        self, start: State, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
    ) -> None:
        searched = search(start, NEW)
        with capsys.disabled():
            name = request.node.callspec.id
            print(f"\nwatermark, {name}: {len(searched.states)} states, {searched.moves} moves searched")
        assert searched.lie is None
        for state in searched.states:
            after = settle(state, NEW)
            assert watermark(after) == max(sent for sent, _ in after.probes), state

    def test_the_old_rule_lies_with_two_consumers_and_no_trouble_at_all(self) -> None:
        searched = search(begin(), OLD)
        assert searched.lie is not None
        # The signal lies in the channel of one, the probe went through the other, and both have committed since.
        assert sum(step.endswith("is handed a message") for step in searched.lie) == 2
        assert sum(step.endswith("reads a frame") for step in searched.lie) == 1
        assert sum(step.endswith("commits") for step in searched.lie) == 2

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("rule", "start"),
        [
            (replace(NEW, asks=False), begin()),
            (replace(NEW, registers_first=False), begin(joining=True)),
            (replace(NEW, raises_proven_from=False), begin(troubles=1)),
        ],
        ids=["without the question", "without the row before the first message", "without a new beginning"],
    )
    def test_no_part_of_the_rule_can_be_left_out(self, rule: Rule, start: State) -> None:
        assert search(start, rule).lie is not None

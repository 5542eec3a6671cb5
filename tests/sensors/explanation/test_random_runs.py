"""Every signal of a random run has a delivery or a verdict for every client, and it is the one the model expects."""

from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from config.audit.explain import Asker
from sensors.explanation.answer import explain_client
from tests.sensors.explanation.run_model import ATTEMPTS, SENSOR, Run

pytestmark = [pytest.mark.embedded, pytest.mark.django_db, pytest.mark.slow]

PLACES, SWITCHES = st.integers(0, 1), st.booleans()
STEPS = st.one_of(
    st.tuples(st.just("signal"), st.integers(0, 40), st.integers(0, 1)),
    st.tuples(st.just("signal"), st.integers(0, 40), st.integers(0, 1)),
    st.tuples(st.just("again"), st.integers(0, 20)),
    st.tuples(st.just("broken")),
    st.tuples(st.just("lose")),
    st.tuples(st.just("set_link"), PLACES, SWITCHES),
    st.tuples(st.just("set_client"), PLACES, st.sampled_from(["active", "paused", "muted"]), SWITCHES),
    st.tuples(st.just("set_sensor"), st.sampled_from(["active", "muted"]), SWITCHES),
    st.tuples(st.just("send"), st.sampled_from([200, 500])),
)


class _RolledBack(Exception):
    pass


@pytest.fixture
def _few_attempts(settings: Any) -> None:
    settings.DELIVERY_ATTEMPTS = ATTEMPTS


def ask(client: int, **asked: Any) -> str:
    return explain_client({"sensor": SENSOR, "client": client, **asked}, Asker()).verdict


@pytest.mark.usefixtures("_few_attempts")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, min_size=4, max_size=24))
def test_every_signal_has_the_verdict_that_the_model_expects(steps: list[tuple[Any, ...]]) -> None:
    try:
        with transaction.atomic():
            check_run(steps)
            raise _RolledBack
    except _RolledBack:
        pass


def check_run(steps: list[tuple[Any, ...]]) -> None:
    run = Run()
    run.set_link(0, True)
    for step in steps:
        run.step(*step)
    for fact in run.facts:
        for customer in run.customers:
            expected = run.expect(fact, customer)
            event(expected.value)
            signal = {"signal": fact.signal} if fact.signal else {}
            found = ask(customer.pk, at=fact.at, about=fact.about, **signal)
            assert found == expected, (fact, customer)
    expected_now = run.expect_now()
    if expected_now is not None:
        assert ask(run.customers[0].pk, at=timezone.now()) == expected_now

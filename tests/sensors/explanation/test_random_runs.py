"""Every signal of a random run has a delivery or a verdict for every client, and it is the one the model expects."""

import os
import random
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from config.audit.explain import Asker
from sensors.explanation.answer import explain_client
from sensors.explanation.verdict import Verdict
from tests.sensors.explanation.run_model import ATTEMPTS, BREAKER, MODELLED, Run

pytestmark = [pytest.mark.embedded, pytest.mark.django_db, pytest.mark.slow, pytest.mark.usefixtures("_few_attempts")]

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
SEED, LONG_RUN = 58, 110
"""Of the run that must reach every verdict; a change of the steps may need another seed."""
ASKED_EVERY = 10
"""Steps after which is asked what has changed: much is settled by the end."""
Step = tuple[Any, ...]

WEIGHTS = {
    "move": 8,
    "signal": 3,
    "again": 2,
    "broken": 1,
    "lose": 3,
    "set_link": 3,
    "set_client": 5,
    "set_sensor": 2,
    "succeed": 4,
    "fail": 5,
}
"""How often each kind of step comes."""
KINDS = [kind for kind, weight in WEIGHTS.items() for _ in range(weight)]


def make_step(kind: str, chance: random.Random) -> Step:
    place, other = chance.randint(0, 1), chance.randint(0, 1)
    match kind:
        case "signal":
            return ("signal", place, chance.randint(0, 40), other)
        case "again":
            return ("again", place, chance.randint(0, 20))
        case "set_link":
            return ("set_link", place, other, chance.random() < 0.6)
        case "set_client":
            switch = chance.choice(["active", "paused", "muted"])
            return ("set_client", place, switch, chance.random() < (0.7 if switch == "active" else 0.4))
        case "set_sensor":
            return ("set_sensor", place, chance.choice(["active", "muted"]), chance.random() < 0.6)
        case "succeed":
            return ("send", 200)
        case "fail":
            return ("send", 500, chance.randint(1, ATTEMPTS))
    return (kind, place)


RANDOM_STEPS = st.builds(make_step, st.sampled_from(KINDS), st.randoms(use_true_random=False))

MOVED, FAILED = ("move", 0), ("send", 500)
SHORTEST: dict[Verdict, Sequence[Step]] = {
    Verdict.TOLD: [MOVED, ("send", 200)],
    Verdict.SENSOR_INACTIVE: [MOVED, ("set_sensor", 0, "active", False)],
    Verdict.REFUSED: [("broken", 0)],
    Verdict.REPEAT: [MOVED, ("again", 0, 0)],
    Verdict.UNCHANGED: [("signal", 0, 1, 1), ("signal", 0, 2, 1)],
    Verdict.LATE: [("signal", 0, 2, 1), ("signal", 0, 1, 0)],
    Verdict.NOT_LINKED: [MOVED],
    Verdict.UNLINKED: [MOVED, ("set_link", 0, 0, False)],
    Verdict.CLIENT_INACTIVE: [("set_client", 0, "active", False), MOVED],
    Verdict.MUTED: [MOVED, ("set_client", 0, "muted", True), ("lose", 0)],
    Verdict.LOSS_UNTOLD: [MOVED, ("set_client", 0, "muted", True), ("lose", 0), MOVED],
    Verdict.SUPERSEDED: [MOVED, MOVED],
    Verdict.DEAD: [MOVED, *[FAILED] * ATTEMPTS],
    Verdict.PAUSED: [("set_client", 0, "paused", True), MOVED],
    Verdict.BREAKER_OPEN: [*[MOVED, FAILED] * BREAKER],
    Verdict.PENDING: [MOVED],
}
"""By the verdict, the shortest run that reaches it."""


class _RolledBack(Exception):
    pass


@pytest.fixture
def _few_attempts(settings: Any) -> None:
    settings.DELIVERY_ATTEMPTS = ATTEMPTS


@settings(
    max_examples=max(15, int(750 * SCALE)),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(st.builds(make_step, st.sampled_from(KINDS), st.randoms(use_true_random=False)), min_size=4, max_size=24)
)
def test_every_signal_has_the_verdict_that_the_model_expects(steps: list[Step]) -> None:
    for verdict in check_run(steps):
        event(verdict.value)


def test_every_modelled_verdict_has_a_run_that_reaches_it() -> None:
    assert SHORTEST.keys() == MODELLED


@pytest.mark.parametrize("verdict", SHORTEST)
def test_the_shortest_run_reaches_its_verdict(verdict: Verdict) -> None:
    assert verdict in check_run(SHORTEST[verdict])


def test_a_long_run_reaches_every_modelled_verdict() -> None:
    chance = random.Random(SEED)
    assert check_run([make_step(chance.choice(KINDS), chance) for _ in range(LONG_RUN)]) == MODELLED


def check_run(steps: Sequence[Step]) -> set[Verdict]:
    """Ask about every fact of a run, and take the run back; return the verdicts that it has come to."""
    met: set[Verdict] = set()
    try:
        with transaction.atomic():
            run, asked = Run(), dict[tuple[int, int], Verdict]()
            for place, step in enumerate(steps):
                run.step(*step)
                if step[0] in ("again", "broken"):
                    met |= ask_about_now(run)
                if place % ASKED_EVERY == 0:
                    met |= ask_about_facts(run, asked)
            met |= ask_about_facts(run, {})
            raise _RolledBack
    except _RolledBack:
        return met


def ask_about_facts(run: Run, asked: dict[tuple[int, int], Verdict]) -> set[Verdict]:
    """Ask about those whose verdict is another than when they were asked about before."""
    met = set()
    for place, fact in enumerate(run.facts):
        for customer in run.customers:
            expected = run.expect(fact, customer)
            if asked.get((place, customer.pk)) == expected:
                continue
            asked[place, customer.pk] = expected
            signal = {"signal": fact.signal} if fact.signal else {}
            found = ask(fact.sensor, customer.pk, at=fact.at, about=fact.about, **signal)
            assert found == expected, (fact, customer)
            met.add(expected)
    return met


def ask_about_now(run: Run) -> set[Verdict]:
    """Ask about this minute, of which nothing is known but what was refused or repeated."""
    met = set()
    for door in run.doors:
        if door.now is not None:
            assert ask(door.id, run.customers[0].pk, at=timezone.now()) == door.now
            met.add(door.now)
    return met


def ask(sensor: str, client: int, **asked: Any) -> str:
    return explain_client({"sensor": sensor, "client": client, **asked}, Asker()).verdict

"""The whole contract of sessions against a model: callers, workers, deaths and late writers in any order."""

import time
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from notifications.errors import RepeatLimitReached, SessionTooLong, StaleChange
from notifications.models import Alert, Event, RepeatSession, SessionRecord, SessionStep, Theme
from notifications.sessions.claims import Claim, claim_due
from notifications.sessions.enqueue import enqueue_session
from notifications.sessions.handlers import register_handler
from notifications.sessions.lifecycle import (
    append_records,
    create_session,
    delete_session,
    rewrite_records,
    save_session,
)
from notifications.sessions.operations import Append, Delete, Finish, Operation, Rewrite
from notifications.sessions.operator_actions import revive_sessions
from notifications.sessions.outcomes import settle_lapsed_once
from notifications.sessions.repeat import Repeat, settle_now
from notifications.sessions.storage import read_records
from tests.notifications.sessions.model import Model, ModelSession, ThemeRules
from tests.notifications.sessions.themes import Scripted, pass_time

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

THEMES = [ThemeRules(7, 20, 2, 30, 10), ThemeRules(8, 60, 1, 60, 0)]

themes = st.sampled_from(THEMES)
records = st.lists(st.sampled_from([0, None, "ab", {"a": [1]}]), max_size=4)
picks = st.integers(0, 10)
delays = st.sampled_from([None, 0, 10, 20])
changes = st.sampled_from([0, 0, 0, -1, 1])
"""How far from the newest change the caller is."""
scripts = st.tuples(
    st.lists(st.tuples(st.sampled_from(["append", "rewrite"]), records), max_size=2),
    st.sampled_from(["finish", "raise", "finish", "delete", ""]),
).map(lambda parts: [*parts[0], *([(parts[1], [])] if parts[1] else [])])
tens = st.integers(0, 4)

Script = list[tuple[str, list[Any]]]


class Contract(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.late: list[tuple[Claim, ModelSession]] = []
        for each in THEMES:
            values = {"timeout": each.timeout, "repeat_limit": each.repeat_limit, "length_limit": each.length_limit}
            Theme.objects.create(number=each.number, delay=each.delay, jitter=0, handler="test", **values)

    def teardown(self) -> None:
        with connection.cursor() as cursor:
            for model in (SessionRecord, SessionStep, RepeatSession, Theme, Alert, Event):
                cursor.execute(f"DELETE FROM {model._meta.db_table}")

    @rule(theme=themes, found=records)
    def create(self, theme: ThemeRules, found: list[Any]) -> None:
        if self.model.fits(theme, found):
            self.model.begin(create_session(theme=theme.number, records=found), theme, found)
        else:
            with pytest.raises(SessionTooLong):
                create_session(theme=theme.number, records=found)

    @rule(theme=themes, found=records, delay=delays)
    def remember(self, theme: ThemeRules, found: list[Any], delay: int | None) -> None:
        if not self.model.fits(theme, found):
            with pytest.raises(SessionTooLong):
                enqueue_session(theme=theme.number, records=found, delay=delay)
            return
        session_id = enqueue_session(theme=theme.number, records=found, delay=delay)
        self.model.begin(session_id, theme, found)
        self.model.save(self.model.sessions[session_id], theme.delay if delay is None else delay)
        self.model.sessions[session_id].change = 1

    @precondition(lambda self: self.model.sessions)
    @rule(pick=picks, found=records, is_rewrite=st.booleans(), stale=changes)
    def edit(self, pick: int, found: list[Any], is_rewrite: bool, stale: int) -> None:
        session = self.pick(pick)
        wanted = found if is_rewrite else session.records + found
        call = rewrite_records if is_rewrite else append_records
        error = StaleChange if stale else None if self.model.fits(session.theme, wanted) else SessionTooLong
        if error is not None:
            with pytest.raises(error):
                call(session_id=session.id, change=session.change + stale, records=found)
            return
        call(session_id=session.id, change=session.change, records=found)
        self.model.edit(session, wanted)

    @precondition(lambda self: self.model.sessions)
    @rule(pick=picks, delay=delays, stale=changes)
    def save(self, pick: int, delay: int | None, stale: int) -> None:
        session = self.pick(pick)
        error = StaleChange if stale else RepeatLimitReached if session.status == "exhausted" else None
        if error is not None:
            with pytest.raises(error):
                save_session(session_id=session.id, change=session.change + stale, delay=delay)
            return
        save_session(session_id=session.id, change=session.change, delay=delay)
        self.model.save(session, session.theme.delay if delay is None else delay)

    @precondition(lambda self: self.model.sessions)
    @rule(pick=picks)
    def delete(self, pick: int) -> None:
        session = self.pick(pick)
        delete_session(session_id=session.id)
        del self.model.sessions[session.id]

    @precondition(lambda self: any(each.status == "exhausted" for each in self.model.sessions.values()))
    @rule(pick=picks)
    def revive(self, pick: int) -> None:
        exhausted = [each for each in self.model.sessions.values() if each.status == "exhausted"]
        session = exhausted[pick % len(exhausted)]
        assert revive_sessions(session_ids=[session.id], actor="test") == 1
        session.repeats = 0
        self.model.save(session, 0)

    @rule(script=scripts, limit=st.integers(1, 5), after=tens)
    def repeat(self, script: Script, limit: int, after: int) -> None:
        self.pass_time(after)
        settle_lapsed_once()
        self.model.lapse()
        for claim, session in self.claim(limit):
            self.run(claim, session, script)

    @rule(after=tens)
    def die(self, after: int) -> None:
        """A worker claims and is not heard of again, for now."""
        self.pass_time(after)
        self.late += self.claim(1)

    @precondition(lambda self: self.late)
    @rule(script=scripts)
    def wake_up_late(self, script: Script) -> None:
        """It was not dead: what it writes counts only if nobody has touched the session since."""
        claim, session = self.late.pop(0)
        if self.model.sessions.get(session.id) is session and session.change == claim.row.change:
            self.run(claim, session, script)
            return
        before = list(RepeatSession.objects.order_by("pk").values())
        Repeat(self.scripted(claim, script)).run(settle_now)
        assert list(RepeatSession.objects.order_by("pk").values()) == before

    def run(self, claim: Claim, session: ModelSession, script: Script) -> None:
        Repeat(self.scripted(claim, script)).run(settle_now)
        for name, found in script:
            if name == "delete":
                break
            if name in ("finish", "raise"):
                self.model.fail(session)
                return
            wanted = session.records + found if name == "append" else found
            if self.model.fits(session.theme, wanted):
                session.records, session.change = wanted, session.change + 1
        del self.model.sessions[session.id]

    def pass_time(self, after: int) -> None:
        time.sleep(0.002)  # SQLite knows no less than a millisecond
        pass_time(after * 10)
        self.model.now += after * 10

    def claim(self, limit: int) -> list[tuple[Claim, ModelSession]]:
        claims, expected = claim_due(limit), self.model.claim(limit)
        assert [claim.row.pk for claim in claims] == [session.id for session in expected], "by time, then by saving"
        return list(zip(claims, expected, strict=True))

    def scripted(self, claim: Claim, script: Script) -> Claim:
        register_handler("test", Scripted(*(_operation(name, found) for name, found in script)))
        return claim

    def pick(self, number: int) -> ModelSession:
        return list(self.model.sessions.values())[number % len(self.model.sessions)]

    @invariant()
    def the_database_is_as_the_model_says(self) -> None:
        rows = list(RepeatSession.objects.order_by("pk"))
        found = read_records([row.pk for row in rows])
        kept = [(row.pk, row.change, row.status, row.repeats, row.is_repeating, found[row.pk]) for row in rows]
        assert kept == [session.row for session in self.model.sessions.values()]

    @invariant()
    def an_alert_is_open_while_a_theme_has_an_exhausted_session(self) -> None:
        alerts = set(Alert.objects.exclude(status="resolved").values_list("subject", flat=True))
        exhausted = {each.theme.number for each in self.model.sessions.values() if each.status == "exhausted"}
        assert alerts == {f"theme/{number}" for number in exhausted}


def _operation(name: str, found: list[Any]) -> Operation | Exception:
    if name in ("append", "rewrite"):
        return Append(found) if name == "append" else Rewrite(found)
    if name == "raise":
        return ValueError()
    return Delete() if name == "delete" else Finish()


@pytest.mark.slow
def test_the_contract_holds_in_any_order() -> None:
    bounded = settings(
        max_examples=20,
        stateful_step_count=40,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # to make a failure shorter would take minutes
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Contract, settings=bounded)

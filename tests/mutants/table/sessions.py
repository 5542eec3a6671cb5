"""Mechanisms of repeat sessions: one worker at a time, late ones write nothing, and there is an end to repeats."""

from tests.mutants.mutant import Change, Engine, mutant

SESSION_OUTCOMES = "notifications/sessions/outcomes.py"

IN_SIMULATION = "tests/simulation/test_worlds.py::test_nothing_is_wrong_whatever_the_seed[sessions]"
OF_REPEAT = "tests/notifications/sessions/test_repeat.py"

ROWS = (
    mutant(
        "a session is deleted under its fence (SQLite)",
        why="a worker that comes late must not delete what another, or a caller, has taken over",
        taken_away="the look at the change",
        path=SESSION_OUTCOMES,
        text="gone = [pk for pk, change in fenced if (pk, change) in current]",
        instead="gone = [pk for pk, change in fenced]",
        noticed_by=(
            f"{OF_REPEAT}::TestFence::test_a_delete_that_came_late_is_cancelled_not_acknowledged",
            IN_SIMULATION,
        ),
    ),
    mutant(
        "a session is deleted under its fence (PostgreSQL)",
        why="a worker that comes late must not delete what another, or a caller, has taken over",
        taken_away="the change in the join",
        path="notifications/sql/delete_sessions.postgresql.sql",
        text="JOIN done USING (id, change)",
        instead="JOIN done USING (id)",
        noticed_by=f"{OF_REPEAT}::TestFence::test_a_delete_that_came_late_is_cancelled_not_acknowledged",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "a session is saved again under its fence (SQLite)",
        why="a worker that comes late writes nothing",
        taken_away="the fenced write",
        path=SESSION_OUTCOMES,
        text='            finish(outcome.claim.row, fence="change", change=F("change") + 1, **common | place)',
        instead='            RepeatSession.objects.filter(pk=outcome.claim.row.pk).update(change=F("change") + 1,'
        " **common | place)",
        noticed_by=f"{OF_REPEAT}::TestFence::test_a_worker_that_is_late_writes_nothing",
    ),
    mutant(
        "a session is saved again under its fence (PostgreSQL)",
        why="a worker that comes late writes nothing",
        taken_away="the change in the join",
        path="notifications/sql/save_sessions.postgresql.sql",
        text="AS session USING (id, change)",
        instead="AS session USING (id)",
        noticed_by=f"{OF_REPEAT}::TestFence::test_a_worker_that_is_late_writes_nothing",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "an operation looks at the fence first",
        why="a worker that comes late must not touch the records, not even in a transaction that fails",
        taken_away="the renewal before the edit",
        path="notifications/sessions/repeat.py",
        text='        renew(row, lease=LEASE, fence="change")\n        changes = edit(row, bodies)\n',
        instead="        changes = edit(row, bodies)\n",
        noticed_by=f"{OF_REPEAT}::TestFence::test_its_operation_is_cancelled",
        guard=[
            Change(
                "notifications/sessions/repeat.py",
                '        finish(row, fence="change", change=F("change") + 1, **changes)\n',
                '        type(row).objects.filter(pk=row.pk).update(change=F("change") + 1, **changes)\n',
            )
        ],
        guard_name="the fenced write at its end, which rolls the edit back",
    ),
    mutant(
        "a caller names the newest change",
        why="of two who write at once the second is told that it knows too little",
        taken_away="the comparison",
        path="notifications/sessions/lifecycle.py",
        text="    if session.change != change:",
        instead="    if False:",
        noticed_by=(
            "tests/notifications/api/sessions/test_sessions.py::TestAppendAndRewrite::test_a_stale_change_is_refused",
            IN_SIMULATION,
        ),
        kinds=["KeyError"],
    ),
    mutant(
        "writes of one session follow each other",
        why="two with the same change would both be taken",
        taken_away="the lock of the session",
        path="notifications/sessions/lifecycle.py",
        text='rows = RepeatSession.objects.select_for_update(of=("self",)).select_related("theme")',
        instead='rows = RepeatSession.objects.select_related("theme")',
        noticed_by="tests/notifications/sessions/test_lifecycle.py::test_of_eight_with_one_change_one_is_taken",
        engine=Engine.POSTGRESQL,
        kinds=["IntegrityError"],
    ),
    mutant(
        "a worker that dies counts as a failure",
        why="a session that kills its workers must be exhausted in the end",
        taken_away="the difference between a death and a lapse",
        path=SESSION_OUTCOMES,
        text="Result.DIED if each.row.is_repeating else Result.LAPSED",
        instead="Result.LAPSED",
        noticed_by=f"{OF_REPEAT}::TestLapse::test_a_repeat_whose_worker_died_counts_as_failed",
    ),
    mutant(
        "the lease is renewed while a handler runs",
        why="another worker would begin what is still being done",
        taken_away="the renewal",
        path="notifications/sessions/repeat.py",
        text='                renew(self.claim.row, lease=LEASE, fence="change")\n',
        instead="",
        noticed_by=(
            "tests/notifications/sessions/repeater/test_silence.py::TestSilence"
            "::test_the_lease_is_renewed_while_the_handler_runs",
            IN_SIMULATION,
        ),
        kinds=["Timeout"],
    ),
    mutant(
        "a session has so many repeats",
        why="what never succeeds must be seen by staff, not repeated for ever",
        taken_away="the limit",
        path=SESSION_OUTCOMES,
        text="return is_failure and outcome.claim.row.repeats + 1 >= outcome.claim.theme.repeat_limit",
        instead="return False",
        noticed_by=f"{OF_REPEAT}::TestExhaustion::test_the_nth_failure_raises_an_alert_and_an_event",
    ),
)

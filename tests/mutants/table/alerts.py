"""Mechanisms of alerts: raised once, escalated once, and overtaken by whoever takes them on."""

from tests.mutants.mutant import Engine, mutant

ALERTS = "notifications/services/alerts.py"

OF_ALERTS = "tests/notifications/services/test_alerts.py"
OF_ESCALATION = "tests/notifications/services/test_escalation.py::TestEscalateOnce"

ROWS = (
    mutant(
        "an equal alert is counted, not raised again",
        why="people are notified once of one thing",
        taken_away="the look at the count",
        path=ALERTS,
        text="        if count == 1:",
        instead="        if True:",
        noticed_by=f"{OF_ALERTS}::TestLog::test_a_new_alert_is_one_entry_and_its_repeats_are_none",
        proves=[
            "notifications/models/alert.py::alert_once_until_resolved once",
            "notifications/sql/raise_alert.sqlite.sql once",
            "notifications/sql/raise_alert.postgresql.sql once",
        ],
        kinds=["MultipleObjectsReturned"],
    ),
    mutant(
        "an acknowledgement overtakes the escalation",
        why="nobody is called for what somebody has taken on",
        taken_away="the fence that it raises",
        path=ALERTS,
        text='update(**changes, due_at=None, fence=F("fence") + 1)',
        instead="update(**changes, due_at=None)",
        noticed_by=f"{OF_ESCALATION}::test_an_acknowledgement_between_the_claim_and_the_move_wins",
        kinds=["IntegrityError"],
    ),
    mutant(
        "a mute overtakes the escalation",
        why="nobody is called for what was muted a moment ago",
        taken_away="the fence that it raises",
        path=ALERTS,
        text='due_at=due_at, fence=F("fence") + 1)',
        instead="due_at=due_at)",
        noticed_by=f"{OF_ESCALATION}::test_a_mute_between_the_claim_and_the_move_wins",
    ),
    mutant(
        "a changed ladder overtakes the escalation",
        why="whoever was added is notified, also of what was just being escalated",
        taken_away="the fence that it raises",
        path="notifications/services/ladder.py",
        text='update(due_at=Now(), fence=F("fence") + 1)',
        instead="update(due_at=Now())",
        noticed_by=f"{OF_ESCALATION}::test_a_ladder_changed_between_the_claim_and_the_move_is_looked_at_again",
    ),
    mutant(
        "a rung is written with its messages",
        why="a process that dies between would leave the rung notified, and nobody called",
        taken_away="the transaction around both",
        path="notifications/services/escalation.py",
        text="            with transaction.atomic():\n                _escalate(alert)",
        instead="            if True:\n                _escalate(alert)",
        noticed_by=f"{OF_ESCALATION}::test_a_climber_that_dies_leaves_the_rung_to_the_next_one",
        kinds=["TransactionManagementError"],
    ),
    mutant(
        "an alert that is not resolved is one",
        why="two of one cause would be closed by halves",
        taken_away="the lock of who closes it",
        path=ALERTS,
        text="rows = Alert.objects.select_for_update(no_key=True).filter(kind=kind, subject=subject)",
        instead="rows = Alert.objects.filter(kind=kind, subject=subject)",
        noticed_by=f"{OF_ALERTS}::TestCloseAlert::test_of_eight_at_once_one_closes_it",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "one of two takes an alert on",
        why="the second is told who has it",
        taken_away="the lock of the alert",
        path=ALERTS,
        text="alert = Alert.objects.select_for_update(no_key=True).filter(pk=alert_id).first()",
        instead="alert = Alert.objects.filter(pk=alert_id).first()",
        noticed_by=f"{OF_ALERTS}::TestAcknowledge::test_of_eight_at_once_one_has_it",
        engine=Engine.POSTGRESQL,
    ),
)

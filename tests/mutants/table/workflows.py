"""Mechanisms of workflows: the chain of versions, events taken once, effects, timers, work of others, the way back."""

from tests.mutants.mutant import Change, Engine, mutant

WRITE = "processes/workflows/services/write_step.py"
ARRIVALS = "processes/workflows/services/events/arrivals.py"
HANDLERS = "processes/workflows/services/effects/handlers.py"
WORK_ITEMS = "processes/workflows/services/work_items.py"
TIMERS = "processes/workflows/services/timers.py"
RETURNS = "processes/workflows/services/returns.py"
BATCHES = "processes/workflows/services/batches/run.py"

IN_SIMULATION = "tests/simulation/test_worlds.py::test_nothing_is_wrong_whatever_the_seed[workflows]"
OF_SERVICES = "tests/processes/workflows/services"
OF_HEADS = "tests/processes/workflows/test_heads.py::TestTakeCachedHead"
OF_RACES = f"{OF_SERVICES}/commands/test_races.py::TestEightWorkers"
OF_FOLLOWER = f"{OF_SERVICES}/events/follower/test_follower.py"
OF_DISPATCH = f"{OF_SERVICES}/effects/test_dispatch.py"
OF_WORK_ITEMS = f"{OF_SERVICES}/test_work_items.py"
OF_BATCHES = f"{OF_SERVICES}/batches/test_run.py"
OF_NOTICES = f"{OF_SERVICES}/test_task_notices.py::TestAssigned"

ROWS = (
    mutant(
        "whoever was overtaken at a batch writes nothing",
        why="two workers at one batch would count instances twice, and say of changed ones that they were refused",
        taken_away="the fence of the finishing write",
        path=BATCHES,
        text="    finish(batch, due_at=Now() + LEASE, **changes)\n",
        instead="    WorkflowBatch.objects.filter(pk=batch.pk).update(due_at=Now() + LEASE, **changes)\n",
        noticed_by=f"{OF_BATCHES}::TestTransactions::test_whoever_was_overtaken_writes_nothing",
    ),
    mutant(
        "a slice that is repeated looks at what is still ahead",
        why="a commit whose answer was lost is repeated: changed instances would be refused by their own change",
        taken_away="the second look",
        path=BATCHES,
        text="        ahead = list(_ahead(batch).filter(pk__in=[item.pk for item in items]))\n",
        instead="        ahead = list(items)\n",
        noticed_by=f"{OF_BATCHES}::TestFaults::test_a_slice_that_was_written_and_is_repeated_changes_nothing",
    ),
    mutant(
        "the head moves by compare-and-set (SQLite)",
        why="two commands on one version would make a fork, or lose one of the two",
        taken_away="the head in the filter",
        path=WRITE,
        text="            pk=step.instance_id, head=step.head, open_incidents=step.open_incidents\n",
        instead="            pk=step.instance_id, open_incidents=step.open_incidents\n",
        noticed_by=(f"{OF_HEADS}::test_somebody_who_was_faster_is_not_overwritten", IN_SIMULATION),
        kinds=["IntegrityError"],
    ),
    mutant(
        "the head moves by compare-and-set (PostgreSQL)",
        why="two commands on one version would make a fork, or lose one of the two",
        taken_away="the head in the condition",
        path="processes/workflows/sql/move_head.postgresql.sql",
        text="AND head = %(head)s AND",
        instead="AND %(head)s::bigint IS NOT NULL AND",
        noticed_by=f"{OF_HEADS}::test_somebody_who_was_faster_is_not_overwritten",
        engine=Engine.POSTGRESQL,
        kinds=["IntegrityError", "UniqueViolation"],
    ),
    mutant(
        "an event is taken once by its key (SQLite)",
        why="an event that is handed over again after a crash must not be taken twice",
        taken_away="taken_key of the version",
        path=WRITE,
        text="        bodies=step.digests,\n        taken_key=step.taken_key,\n",
        instead="        bodies=step.digests,\n        taken_key=None,\n",
        noticed_by=(
            f"{OF_FOLLOWER}::TestWaiting::test_a_place_that_goes_on_waiting_takes_an_event_once",
            IN_SIMULATION,
        ),
    ),
    mutant(
        "an event is taken once by its key (PostgreSQL)",
        why="an event that is handed over again after a crash must not be taken twice",
        taken_away="taken_key of the version",
        path=WRITE,
        text='        "taken_key": step.taken_key,\n',
        instead='        "taken_key": None,\n',
        noticed_by=f"{OF_FOLLOWER}::TestWaiting::test_a_place_that_goes_on_waiting_takes_an_event_once",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "an instance takes a key once",
        why="it is the constraint that refuses the second",
        taken_away="the unique constraint",
        path="processes/workflows/migrations/0001_workflows.py",
        text="fields=('instance', 'taken_key'), name='version_takes_once'",
        instead="fields=('instance', 'taken_key', 'number'), name='version_takes_once'",
        noticed_by=f"{OF_FOLLOWER}::TestWaiting::test_a_place_that_goes_on_waiting_takes_an_event_once",
    ),
    mutant(
        "an event of before a subscription is not for it",
        why="a follower that is behind hands over what happened before the instance waited",
        taken_away="the position from which it waits",
        path="processes/workflows/services/events/subscribers.py",
        text="filter(name__in=arrival.called, after_position__lt=arrival.position)",
        instead="filter(name__in=arrival.called)",
        noticed_by=f"{OF_FOLLOWER}::TestStarts::test_whoever_begins_by_an_event_does_not_take_it_again",
        kinds=["DoesNotExist"],
    ),
    mutant(
        "an event starts an instance once",
        why="an event that is handed over again must not start a second one",
        taken_away="the look for the key of the start",
        path="processes/workflows/services/events/starts.py",
        text="    if WorkflowInstance.objects.filter(start_key=start.start_key).exists():\n        return\n",
        instead="",
        noticed_by=f"{OF_FOLLOWER}::TestStarts::test_once",
        guard=[
            Change(
                "processes/workflows/services/write_step.py",
                '        start_key=new_instance["start_key"],\n',
                "        start_key=None,\n",
            )
        ],
        guard_name="start_key is unique",
    ),
    mutant(
        "an event from outside counts once under its id",
        why="a caller that repeats its call makes one event",
        taken_away="the row of the id",
        path="processes/workflows/services/events/receive.py",
        text="            ReceivedEvent.objects.create(source=source[:160], event_id=event_id)\n",
        instead="",
        noticed_by=f"{OF_SERVICES}/events/test_receive.py::TestReceiveEvent::test_the_same_id_of_a_source_counts_once",
        proves=["processes/workflows/models/event.py::received_event_once once"],
    ),
    mutant(
        "the id of an event stands with its event",
        why="an id that is known without its event would swallow the repeat",
        taken_away="the transaction around both",
        path="processes/workflows/services/events/receive.py",
        text="        with transaction.atomic():\n            ReceivedEvent",
        instead="        if True:\n            ReceivedEvent",
        noticed_by=f"{OF_SERVICES}/events/test_receive.py::TestReceiveEvent::test_dies_whole",
        kinds=["TransactionManagementError"],
    ),
    mutant(
        "an event of RabbitMQ is acknowledged after its commit",
        why="a consumer that dies would take it along",
        taken_away="the order of commit and acknowledgement",
        path="processes/workflows/services/events/amqp.py",
        text="        try:\n            if message.was_delivered:",
        instead="        channel.basic_ack(message.tag)\n"
        "        channel.basic_ack = channel.basic_nack = lambda *_, **__: None\n"
        "        try:\n            if message.was_delivered:",
        noticed_by=f"{OF_SERVICES}/events/test_amqp.py::TestEventConsumer"
        "::test_gives_back_what_the_database_could_not_take",
        engine=Engine.POSTGRESQL,
        proves=["processes/workflows/services/events/amqp.py::EventConsumer._consume acknowledgement"],
    ),
    mutant(
        "an event for a suspended instance is kept once",
        why="handed over again it is already there",
        taken_away="ignore_conflicts",
        path=ARRIVALS,
        text="PostponedEvent.objects.bulk_create([postponed], ignore_conflicts=True)",
        instead="PostponedEvent.objects.bulk_create([postponed])",
        noticed_by=f"{OF_FOLLOWER}::TestWaiting::test_a_suspended_instance_takes_it_when_it_goes_on",
        kinds=["TransactionManagementError", "IntegrityError"],
    ),
    mutant(
        "a postponed event is dropped under its fence",
        why="an instance that was suspended again meanwhile still waits for it",
        taken_away="the fence in the filter",
        path=ARRIVALS,
        text="rows = PostponedEvent.objects.filter(pk=postponed.pk, fence=postponed.fence)",
        instead="rows = PostponedEvent.objects.filter(pk=postponed.pk)",
        noticed_by=f"{OF_FOLLOWER}::TestWaiting::test_one_who_is_overtaken_leaves_a_postponed_event_to_the_other",
    ),
    mutant(
        "an alert of a workflow is raised with its mark",
        why="a crash between the two would raise it again, or never",
        taken_away="the transaction around both",
        path=HANDLERS,
        text="    with transaction.atomic():\n        mark_dispatched(effect)\n        subject",
        instead="    if True:\n        mark_dispatched(effect)\n        subject",
        noticed_by=(f"{OF_DISPATCH}::TestMark::test_stands_with_the_effect", IN_SIMULATION),
    ),
    mutant(
        "a webhook of a workflow is enqueued with its mark",
        why="a crash between the two would send it twice",
        taken_away="the transaction around both",
        path=HANDLERS,
        text="    with transaction.atomic():\n        (effect.delivery,) =",
        instead="    if True:\n        (effect.delivery,) =",
        noticed_by=f"{OF_DISPATCH}::TestMark::test_stands_with_the_effect",
    ),
    mutant(
        "a message of a workflow is sent with its mark",
        why="a crash between the two would send it twice, or never",
        taken_away="the transaction around both",
        path=HANDLERS,
        text="        with transaction.atomic():\n            mark_dispatched(effect)\n            _insert(message)",
        instead="        if True:\n            mark_dispatched(effect)\n            _insert(message)",
        noticed_by=f"{OF_DISPATCH}::TestMark::test_stands_with_the_effect",
    ),
    mutant(
        "an effect is marked under its fence",
        why="a worker that was overtaken must not dispatch what another has, or what a return has cancelled",
        taken_away="the fenced write",
        path=HANDLERS,
        text="    finish(effect, status=WorkflowEffect.Status.LEFT, left_at=Now(), due_at=None, delivery"
        "=effect.delivery)",
        instead="    WorkflowEffect.objects.filter(pk=effect.pk).update(\n"
        "        status=WorkflowEffect.Status.LEFT, left_at=Now(), due_at=None, delivery=effect.delivery\n    )",
        noticed_by=f"{OF_SERVICES}/test_returns.py::TestReturnInstance"
        "::test_an_effect_that_is_just_being_dispatched_does_not_leave",
    ),
    mutant(
        "a return overtakes the dispatch",
        why="an effect of an abandoned branch must not leave",
        taken_away="the fence that it raises",
        path=RETURNS,
        text='waiting.update(status=Effect.CANCELLED, due_at=None, fence=F("fence") + 1)',
        instead="waiting.update(status=Effect.CANCELLED, due_at=None)",
        noticed_by=f"{OF_SERVICES}/test_returns.py::TestReturnInstance"
        "::test_an_effect_that_is_just_being_dispatched_does_not_leave",
    ),
    mutant(
        "a timer that another has fired is left alone",
        why="whoever comes late must not delete, or withhold, the timer of the next round",
        taken_away="the fence in the filter",
        path=TIMERS,
        text="rows = WorkflowTimer.objects.filter(pk=timer.pk, fence=timer.fence)",
        instead="rows = WorkflowTimer.objects.filter(pk=timer.pk)",
        noticed_by=f"{OF_SERVICES}/test_timers.py::TestFireDueTimers"
        "::test_whoever_comes_late_leaves_the_timer_of_the_next_round",
    ),
    mutant(
        "a start timer moves with the instance it starts",
        why="a crash between the two would miss a time",
        taken_away="the transaction around both",
        path=TIMERS,
        text="        with transaction.atomic():\n            _set_next(timer, at=at)",
        instead="        if True:\n            _set_next(timer, at=at)",
        noticed_by=f"{OF_SERVICES}/test_timers.py::TestStartDueInstances::test_whoever_dies_in_it_has_done_nothing",
        proves=["processes/workflows/services/timers.py::_set_next lease"],
    ),
    mutant(
        "work belongs to the worker that locked it",
        why="a worker that was overtaken must not complete the work of another",
        taken_away="the comparison of the workers",
        path=WORK_ITEMS,
        text="    if item.worker != worker:\n        raise NotLocked\n",
        instead="",
        noticed_by=(
            f"{OF_WORK_ITEMS}::TestCompleteExternalTask::test_another_worker_may_not",
            f"{OF_WORK_ITEMS}::TestCompleteExternalTask::test_whoever_was_overtaken_has_no_effect",
        ),
    ),
    mutant(
        "work of an abandoned branch has no effect",
        why="after a return the same number may stand for another task",
        taken_away="the look at branch and time",
        path=WORK_ITEMS,
        text="    if item.status == WorkItem.Status.ABANDONED or is_earlier:\n        raise Abandoned\n",
        instead="",
        noticed_by=f"{OF_SERVICES}/test_returns.py::TestReturnInstance"
        "::test_an_external_task_of_the_abandoned_branch_has_no_effect",
        kinds=["NotPossible"],
    ),
    mutant(
        "a lock is extended under its fence",
        why="a worker that was overtaken must not hold the work of another",
        taken_away="the fenced write",
        path=WORK_ITEMS,
        text="        renew(item, lease=lock)\n",
        instead="        WorkItem.objects.filter(pk=item.pk).update(due_at=Now() + lock)\n",
        noticed_by=f"{OF_WORK_ITEMS}::TestExtendLock::test_one_who_is_overtaken_meanwhile_is_told_so",
    ),
    mutant(
        "a failure of work is written under its fence",
        why="a worker that was overtaken must not offer the work of another again",
        taken_away="the fenced write",
        path=WORK_ITEMS,
        text='        finish(item, retries=retries, due_at=Now() + delay, worker="", last_error=text)\n',
        instead="        WorkItem.objects.filter(pk=item.pk).update(\n"
        '            retries=retries, due_at=Now() + delay, worker="", last_error=text\n        )\n',
        noticed_by=f"{OF_WORK_ITEMS}::TestFailExternalTask::test_one_who_is_overtaken_meanwhile_is_told_so",
    ),
    mutant(
        "a suspension overtakes who has the work",
        why="nobody may fail or extend what is suspended",
        taken_away="the fence that it raises",
        path="processes/workflows/services/suspension.py",
        text='        items.update(due_at=None, fence=F("fence") + 1)',
        instead="        items.update(due_at=None)",
        noticed_by=f"{OF_WORK_ITEMS}::TestFailExternalTask::test_one_whose_task_is_withheld_or_closed_meanwhile_is_told_so",
    ),
    mutant(
        "a closed task overtakes who has it (SQLite)",
        why="a failure that comes late would offer it again, though it is closed",
        taken_away="the fence that a step raises",
        path=WRITE,
        text='items.update(status=status, closed_by=step.number, due_at=None, fence=F("fence") + 1)',
        instead="items.update(status=status, closed_by=step.number, due_at=None)",
        noticed_by=f"{OF_WORK_ITEMS}::TestFailExternalTask::test_one_whose_task_is_withheld_or_closed_meanwhile_is_told_so",
        kinds=["IntegrityError"],
    ),
    mutant(
        "a closed task overtakes who has it (PostgreSQL)",
        why="a failure that comes late would offer it again, though it is closed",
        taken_away="the fence that a step raises",
        path="processes/workflows/sql/write_step.postgresql.sql",
        text="closed_by = %(number)s, due_at = NULL, fence = item.fence + 1",
        instead="closed_by = %(number)s, due_at = NULL",
        noticed_by=f"{OF_WORK_ITEMS}::TestFailExternalTask::test_one_whose_task_is_withheld_or_closed_meanwhile_is_told_so",
        engine=Engine.POSTGRESQL,
        kinds=["IntegrityError"],
    ),
    mutant(
        "an assignment overtakes the mail about the one before",
        why="nobody is told of a task that is another's by now",
        taken_away="the fence that it raises",
        path="processes/workflows/services/task_assignment.py",
        text="        item.fence += 1  # overtakes",
        instead="        item.fence += 0  # overtakes",
        noticed_by=f"{OF_NOTICES}::test_whoever_is_overtaken_by_another_assignment_tells_nobody",
    ),
    mutant(
        "a mail about a task is written with its mark",
        why="whoever dies between the two would tell it twice, or never",
        taken_away="the transaction around both",
        path="processes/workflows/services/task_notices.py",
        text="            with transaction.atomic():\n                _notify(item)",
        instead="            if True:\n                _notify(item)",
        noticed_by=f"{OF_NOTICES}::test_whoever_dies_between_mark_and_mail_has_told_nobody",
        proves=["processes/workflows/services/task_notices.py::_notify lease"],
    ),
    mutant(
        "one of two claims a task",
        why="the second is told who has it",
        taken_away="the lock of the task",
        path="processes/workflows/services/task_assignment.py",
        text='rows = WorkItem.objects.select_for_update(no_key=True, of=("self",)).select_related("instance")',
        instead='rows = WorkItem.objects.select_related("instance")',
        noticed_by=f"{OF_SERVICES}/test_task_assignment.py::TestClaim::test_of_two_at_once_one_has_it",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "a command that fails on an old head is tried again",
        why="what has moved meanwhile may fit now: an incident would be false",
        taken_away="the comparison of the head",
        path="processes/workflows/services/incidents.py",
        text="        if instance.head != head.number:\n            return None\n",
        instead="",
        noticed_by=f"{OF_SERVICES}/test_incidents.py::TestOpenIncident"
        "::test_one_that_was_overtaken_is_tried_again_instead",
    ),
    mutant(
        "a draft is saved over the version that was read",
        why="of two who draw at once the second is told",
        taken_away="the comparison of the versions",
        path="processes/workflows/services/definitions/drafts.py",
        text="        if row.version != version:\n            raise DraftChanged(version=row.version)\n        Work",
        instead="        Work",
        noticed_by=f"{OF_SERVICES}/definitions/test_drafts.py",
    ),
    mutant(
        "visits are counted by one at a time",
        why="two would add the same steps to the figures",
        taken_away="the lock of the steps",
        path="processes/workflows/visits/fold.py",
        text='waiting = StepVisits.objects.select_for_update(skip_locked=True).order_by("pk")',
        instead='waiting = StepVisits.objects.order_by("pk")',
        noticed_by="tests/processes/workflows/visits/test_fold.py::TestTwoAtOnce::test_each_step_is_counted_once",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "visits are added and deleted together",
        why="whoever dies between would count them twice",
        taken_away="the transaction around both",
        path="processes/workflows/visits/fold.py",
        text="    with transaction.atomic():\n        waiting",
        instead="    if True:\n        waiting",
        noticed_by="tests/processes/workflows/visits/test_fold.py::TestFoldVisits"
        "::test_whoever_dies_in_it_has_counted_nothing",
    ),
    mutant(
        "inputs of a trial are done once",
        why="of two followers at once the second would count the same differences again",
        taken_away="the look whether the inputs were there to be deleted",
        path="processes/workflows/services/shadow/follow.py",
        text="    if deleted != len(inputs):\n        raise _Overtaken\n",
        instead="    del deleted\n",
        noticed_by="tests/processes/workflows/services/shadow/test_follow.py"
        "::TestFollowing::test_inputs_that_another_follower_has_done_are_not_done_again",
    ),
)

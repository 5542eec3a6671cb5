"""Mechanisms of the exchange with an ERP: API_1 to API_7, time-outs, doubt, and the files that follow the rows."""

from tests.mutants.mutant import Change, Engine, mutant

START = "processes/exchange/services/start.py"
PREPARE = "processes/exchange/services/prepare.py"
DECISIONS = "processes/exchange/services/decisions.py"
TRANSITIONS = "processes/exchange/transitions.py"
SETTLEMENT = "processes/exchange/services/settlement.py"

OF_SERVICES = "tests/processes/exchange/services"
OF_TRANSITIONS = "tests/processes/exchange/test_transitions.py::TestEveryCallInEveryStatus"
OF_TIMEOUTS = f"{OF_SERVICES}/test_timeouts.py::TestTimeOutOnce"

ROWS = (
    mutant(
        "API_1 locks its database",
        why="of two at once one takes the messages: none gets into two processes",
        taken_away="the lock of the database",
        path=START,
        text="        ExchangeDatabase.objects.select_for_update(no_key=True).get(pk=database.pk)\n",
        instead="",
        noticed_by=f"{OF_SERVICES}/start/test_start.py::TestAtOnce::test_one_of_eight_starts",
        engine=Engine.POSTGRESQL,
        kinds=["RuntimeError", "IntegrityError"],
    ),
    mutant(
        "API_1 takes what still waits",
        why="a message that another process has taken meanwhile must not be in two",
        taken_away="the count of what was taken",
        path=START,
        text="    if taken != len(chosen):",
        instead="    if False:",
        noticed_by=f"{OF_SERVICES}/start/test_start.py::TestAtOnce::test_no_message_gets_into_two_processes",
        engine=Engine.POSTGRESQL,
        guard=[
            Change(START, "        ExchangeDatabase.objects.select_for_update(no_key=True).get(pk=database.pk)\n", "")
        ],
        guard_name="the lock of the database",
    ),
    mutant(
        "a lane has one process",
        why="two at once would process the messages of one subsystem in any order",
        taken_away="BUSY",
        path=START,
        text="        if overlap(lane, other_lane):",
        instead="        if False:",
        noticed_by=f"{OF_SERVICES}/start/test_start.py::TestLanes::test_overlapping_ones_are_busy",
    ),
    mutant(
        "API_1 repeated under its id is the same process",
        why="an ERP whose answer was lost must not wait for the time-out",
        taken_away="the look for the first call",
        path=START,
        text="    if repeated is not None:",
        instead="    if False:",
        noticed_by=f"{OF_SERVICES}/start/test_request_id.py::TestSameId::test_while_started_the_answer_is_the_same",
    ),
    mutant(
        "an answer that was asked for again does not end its process",
        why="the first connection may be found cut after the second answer was received",
        taken_away="the fence that a repeat raises",
        path=START,
        text="    process.fence += 1  # an earlier answer",
        instead="    process.fence += 0  # an earlier answer",
        noticed_by=f"{OF_SERVICES}/start/test_request_id.py::TestSameId"
        "::test_an_answer_before_it_that_is_found_cut_ends_nothing",
    ),
    mutant(
        "an answer that was cut ends its own process alone",
        why="the ERP may have gone on meanwhile",
        taken_away="the comparison of the fence",
        path=DECISIONS,
        text="        if process.fence != fence or judge_call(",
        instead="        if judge_call(",
        noticed_by=f"{OF_SERVICES}/start/test_request_id.py::TestSameId"
        "::test_an_answer_before_it_that_is_found_cut_ends_nothing",
    ),
    mutant(
        "ids that the ERP found committed settle their processes",
        why="doubt resolves itself, without an operator",
        taken_away="the settlement in API_1",
        path=START,
        text="            if verdict == Verdict.DO:\n                settle_committed(",
        instead="            if False:\n                settle_committed(",
        noticed_by=f"{OF_SERVICES}/start/test_start.py::TestCommitted::test_settles_what_waits_for_it",
    ),
    mutant(
        "API_2 frees what it leaves out",
        why="messages that the ERP does not want now must not wait for the process",
        taken_away="the requeue",
        path=DECISIONS,
        text="        requeue_after_setback(requests_of(process).filter(pk__in=left_out))\n",
        instead="",
        noticed_by=f"{OF_SERVICES}/decisions/test_accept.py::TestAccept::test_what_is_left_out_is_free_at_once",
    ),
    mutant(
        "replies are on the disk before API_3 answers",
        why="an ERP that commits would have replies that nobody gets",
        taken_away="the order of files and rows",
        changes=[
            Change(PREPARE, "    try:\n        write_drafts(prepared.replies)\n", "    try:\n        pass\n"),
            Change(PREPARE, "    name_drafts(rows)\n", "    write_drafts(prepared.replies)\n    name_drafts(rows)\n"),
        ],
        noticed_by=f"{OF_SERVICES}/test_prepare.py::TestDisk::test_replies_that_cannot_be_written_end_the_process",
    ),
    mutant(
        "API_3 repeated has the same body",
        why="other results under the same process must not be told that they were stored",
        taken_away="the comparison of the digests",
        path=PREPARE,
        text='    if verdict == Verdict.REPEAT and bytes(process.prepared or b"") != digest:',
        instead="    if False:",
        noticed_by=f"{OF_SERVICES}/test_prepare.py::TestRepeat::test_another_body_is_a_conflict",
        kinds=["KeyError"],
    ),
    mutant(
        "API_3 looks at the results again under the lock",
        why="API_2 may have narrowed the process while the files were written",
        taken_away="the second check",
        path=PREPARE,
        text="                _check_results(locked, prepared.results)  # API_2 may have come in between\n",
        instead="",
        noticed_by=f"{OF_SERVICES}/test_prepare.py::TestAtOnce::test_narrowed_meanwhile_it_is_refused",
        kinds=["KeyError", "IntegrityError"],
    ),
    mutant(
        "drafts of what was not stored are dropped",
        why="of four equal calls one has its files; the others must leave none",
        taken_away="the deletion",
        path=PREPARE,
        text="    if verdict != Verdict.DO:\n        drop_drafts(rows)\n",
        instead="    if verdict != Verdict.DO:\n",
        noticed_by=f"{OF_SERVICES}/test_prepare.py::TestAtOnce::test_same_body_from_four_places_is_ok_once",
    ),
    mutant(
        "a decision locks its process",
        why="of opposite decisions at once one holds, and the other is a contradiction",
        taken_away="the lock of the process",
        path="processes/exchange/services/processes.py",
        text="rows = ExchangeProcess.objects.select_for_update(no_key=True).filter(pk=process_id)",
        instead="rows = ExchangeProcess.objects.filter(pk=process_id)",
        noticed_by=f"{OF_SERVICES}/decisions/test_decisions.py::TestAtOnce::test_opposite_decisions_are_one_and_a_contradiction",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "API_4 repeated is OK",
        why="an ERP whose answer was lost must not take it for a refusal and roll back",
        taken_away="the repeats of API_4",
        path=TRANSITIONS,
        text="    Call.COMMIT: (Status.CLEANUP, Status.FAILED, Status.DONE),\n",
        instead="",
        noticed_by=OF_TRANSITIONS,
    ),
    mutant(
        "API_5 after API_4 changes nothing",
        why="what was committed must not be offered again",
        taken_away="the statuses in which a roll back is done",
        path=TRANSITIONS,
        text="    Call.ROLL_BACK: UNSETTLED,",
        instead="    Call.ROLL_BACK: (*UNSETTLED, Status.CLEANUP),",
        noticed_by=OF_TRANSITIONS,
    ),
    mutant(
        "API_6 ends what is not prepared alone",
        why="after API_3 the ERP may have committed",
        taken_away="the statuses in which an interrupt is done",
        path=TRANSITIONS,
        text="    Call.INTERRUPT: (Status.STARTED,),\n    Call.ABANDON",
        instead="    Call.INTERRUPT: (Status.STARTED, Status.READY_TO_COMMIT),\n    Call.ABANDON",
        noticed_by=OF_TRANSITIONS,
    ),
    mutant(
        "API_7 against an earlier word is a contradiction",
        why="the ERP says the opposite of what was done: staff must look",
        taken_away="the comparison of the decisions",
        path=TRANSITIONS,
        text="return Verdict.REPEAT if decision == _RESOLVES[call] else Verdict.CONTRADICT",
        instead="return Verdict.REPEAT",
        noticed_by=OF_TRANSITIONS,
    ),
    mutant(
        "a time-out is void after a call of the ERP",
        why="a process that went on between the claim and the lock has its time",
        taken_away="the fence in the filter",
        path="processes/exchange/services/timeouts.py",
        text="select_for_update(no_key=True).filter(pk=process_id, fence=fence)",
        instead="select_for_update(no_key=True).filter(pk=process_id)",
        noticed_by=f"{OF_TIMEOUTS}::test_what_the_erp_says_after_the_claim_counts",
    ),
    mutant(
        "API_3 raises the fence",
        why="a time-out that was claimed before it is void",
        taken_away="fence + 1",
        path=PREPARE,
        text="    process.fence += 1\n",
        instead="",
        noticed_by=f"{OF_TIMEOUTS}::test_what_the_erp_says_after_the_claim_counts",
    ),
    mutant(
        "a settled process has another fence",
        why="a time-out that was claimed before it is void",
        taken_away="fence + 1",
        path=SETTLEMENT,
        text="    process.fence += 1  # whoever",
        instead="    process.fence += 0  # whoever",
        noticed_by=f"{OF_TIMEOUTS}::test_what_the_erp_says_after_the_claim_counts",
        guard=[
            Change(
                "processes/exchange/services/timeouts.py",
                "        if process.status == Status.STARTED:",
                "        if process.status != Status.READY_TO_COMMIT:",
            )
        ],
        guard_name="a time-out looks at the status under the lock",
    ),
    mutant(
        "replies that are taken back go after the commit",
        why="where the commit fails the process still has them",
        taken_away="on_commit",
        path=SETTLEMENT,
        text="    transaction.on_commit(lambda: drop_drafts(replies), robust=True)",
        instead="    drop_drafts(replies)",
        noticed_by=f"{OF_SERVICES}/settlement/test_settlement.py::TestCutOff::test_replies_are_there_after_a_rollback_that_failed",
    ),
    mutant(
        "one STARTED process of a request id",
        why="two calls with one id at once are one process",
        taken_away="the unique constraint",
        path="processes/exchange/migrations/0002_process_request_id.py",
        text='name="process_started_once_per_request",\n                fields=["database", "request_id"],',
        instead='name="process_started_once_per_request",\n                fields=["database", "request_id", "id"],',
        noticed_by=f"{OF_SERVICES}/start/test_request_id.py::TestOtherId"
        "::test_two_at_once_are_kept_apart_by_the_database",
    ),
)

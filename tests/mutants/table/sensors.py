"""Mechanisms of sensors: ingest and its acknowledgements, the watermark, the sweep, history and its spool."""

from tests.mutants.mutant import Change, Engine, mutant

CONSUMER = "sensors/ingest/consumer.py"
LIVENESS = "sensors/heartbeat/ingest_liveness.py"
OF_SERVERS = "tests/sensors/heartbeat/test_clock.py::TestTwoServers"
FOLD = "sensors/ingest/fold.py"

OF_CONSUMER = "tests/sensors/ingest/test_consumer.py"
OF_HISTORY = "tests/sensors/history/test_consumer.py"
OF_FOLD = "tests/sensors/ingest/test_fold.py"
OF_SWEEP = "tests/sensors/heartbeat/test_sweep.py"
IN_SIMULATION = "tests/simulation/test_worlds.py::test_nothing_is_wrong_whatever_the_seed[signals]"
OF_WATERMARK = "tests/sensors/heartbeat/test_watermark.py"
OF_POISON = "tests/notifications/services/test_poison.py::TestHandleRedelivered"

BEFORE_HISTORY = Change(
    CONSUMER,
    "        self._passing = (batch, applied, sent)\n        sent.outcome.add_done_callback(lambda _: self._wake())",
    "        self._acknowledge(batch, applied)",
)
BEFORE_COMMIT = Change(
    CONSUMER,
    "        mark = partial(record_progress, self.name, batch.proven, batch.probes)\n",
    "        mark = partial(record_progress, self.name, batch.proven, batch.probes)\n"
    "        if batch.last_tag:\n            self._channel.basic_ack(batch.last_tag, multiple=True)\n"
    "            batch.last_tag = 0\n",
)

ROWS = (
    mutant(
        "signals are acknowledged once history has confirmed them (simulated broker)",
        why="whatever is lost on its way to the queue of history is delivered again",
        taken_away="the wait for the confirmation",
        changes=[BEFORE_HISTORY],
        noticed_by=IN_SIMULATION,
    ),
    mutant(
        "signals are acknowledged after their commit (simulated broker)",
        why="a consumer that dies would take what it has acknowledged with it",
        taken_away="the order of commit and acknowledgement",
        changes=[BEFORE_COMMIT],
        noticed_by=IN_SIMULATION,
    ),
    mutant(
        "signals are acknowledged once history has confirmed them",
        why="a crash between the commit and the queue of history would leave history without them",
        taken_away="the wait for the confirmation",
        changes=[BEFORE_HISTORY],
        noticed_by=f"{OF_CONSUMER}::test_what_history_has_not_confirmed_stays_in_the_queue",
        engine=Engine.POSTGRESQL,
        proves=["sensors/ingest/consumer.py::Consumer._acknowledge acknowledgement"],
    ),
    mutant(
        "signals are acknowledged after their commit",
        why="a consumer that dies would take what it has acknowledged with it",
        taken_away="the order of commit and acknowledgement",
        changes=[BEFORE_COMMIT],
        noticed_by=f"{OF_CONSUMER}::TestConsumer"
        "::test_a_crash_before_the_acknowledgement_repeats_the_batch_without_effect",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "a consumer registers before it subscribes",
        why="from its first message on there may be signals that only it has: nobody may be called silent meanwhile",
        taken_away="the mark of the consumer",
        path=CONSUMER,
        text="        self._committer.submit(register_consumer, self.name).result()\n",
        instead="",
        noticed_by=f"{OF_CONSUMER}::TestWatermark::test_follows_the_probe_once_every_consumer_has_committed",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "what is delivered again is counted before it is read",
        why="a message that kills its consumer would kill every one after it",
        taken_away="the look at the broker's flag",
        path=CONSUMER,
        text="        elif method.redelivered:",
        instead="        elif False:",
        noticed_by="tests/faults/test_hostile_messages.py"
        "::test_signals_that_fail_for_no_known_reason_are_parked_and_the_line_goes_on",
        engine=Engine.POSTGRESQL,
        kinds=["ZeroDivisionError"],
    ),
    mutant(
        "a batch of history is acknowledged after its insert",
        why="ClickHouse may fail in the middle: what is acknowledged by then is nowhere",
        taken_away="the order of insert and acknowledgement",
        path="sensors/history/consumer.py",
        text="        batch, self._batch = self._batch, Batch()\n        try:\n            _wait_for(",
        instead="        batch, self._batch = self._batch, Batch()\n"
        "        channel.basic_ack(batch.last_tag, multiple=True)\n        channel.basic_ack = lambda *_, **__: None\n"
        "        try:\n            _wait_for(",
        noticed_by=f"{OF_HISTORY}::TestRunOnce::test_acknowledges_after_the_insert_and_not_before",
        engine=Engine.POSTGRESQL,
        proves=["sensors/history/consumer.py::HistoryConsumer._write acknowledgement"],
    ),
    mutant(
        "overflow is acknowledged after its commit",
        why="what the broker is told to drop must be in the spool by then",
        taken_away="the order of commit and acknowledgement",
        path="sensors/history/overflow.py",
        text="    with transaction.atomic():\n"
        "        HistorySpool.objects.bulk_create(HistorySpool(batch=pack_bodies(some))"
        " for some in _bundles(bodies))\n        _raise_alert()\n    channel.basic_ack(last_tag, multiple=True)\n",
        instead="    channel.basic_ack(last_tag, multiple=True)\n    with transaction.atomic():\n"
        "        HistorySpool.objects.bulk_create(HistorySpool(batch=pack_bodies(some))"
        " for some in _bundles(bodies))\n        _raise_alert()\n",
        noticed_by="tests/sensors/history/test_overflow.py::TestMoveOverflow"
        "::test_what_the_database_could_not_take_stays_in_the_queue",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "the spool is emptied after the insert",
        why="ClickHouse may go away in the middle: what is deleted by then is nowhere",
        taken_away="the order of insert and deletion",
        path="sensors/history/spool.py",
        text="        try:\n            write_signals(get_store(), signals, unreadable)\n",
        instead="        _delete(group)\n        try:\n            write_signals(get_store(), signals, unreadable)\n",
        noticed_by="tests/sensors/history/test_spool.py::TestDrainSpoolOnce"
        "::test_what_the_store_could_not_take_stays_and_is_due_again_soon",
        kinds=["DoesNotExist"],
    ),
    mutant(
        "the spool's rows are due again under their fence",
        why="a drainer that was overtaken must not make the rows of its successor due",
        taken_away="the fence in the filter",
        path="sensors/history/spool.py",
        text="HistorySpool.objects.filter(pk=row.pk, fence=row.fence).update(",
        instead="HistorySpool.objects.filter(pk=row.pk).update(",
        noticed_by="tests/sensors/history/test_spool.py::TestDrainSpoolOnce"
        "::test_one_that_was_overtaken_leaves_the_rows_to_the_other",
    ),
    mutant(
        "the watermark waits for every consumer",
        why="a signal may lie with another consumer than the one that met the probe: its sensor is not silent",
        taken_away="the marks of the consumers",
        path="sensors/heartbeat/watermark.py",
        text="if passed <= slowest and (proven_from",
        instead="if (proven_from",
        noticed_by=(
            f"{OF_WATERMARK}::TestProvenTime::test_is_that_of_the_newest_probe_that_passed_before_every_mark",
            f"{OF_WATERMARK}::TestModel::test_the_rule_never_lies_and_never_stands_still",
        ),
    ),
    mutant(
        "probes count that were sent after messages came back",
        why="what a consumer gives back is behind the probes that have passed",
        taken_away="proven_from",
        path="sensors/heartbeat/watermark.py",
        text=" and (proven_from is None or sent >= proven_from))",
        instead=")",
        noticed_by=f"{OF_WATERMARK}::TestProvenTime::test_counts_only_probes_sent_after_messages_were_given_back",
    ),
    mutant(
        "nothing is proven while a way in is closed",
        why="an outage is recorded when it is over: until then nothing later may be judged",
        taken_away="the times of the ways in",
        path=LIVENESS,
        text="return None if proven is None else min(proven, queue.heard_at, *times)",
        instead="return None if proven is None else proven",
        noticed_by=f"{OF_SWEEP}::TestHearing::test_with_a_broker_nothing_is_judged_later_than_the_last_check_of_each_way_in",
    ),
    mutant(
        "deaf spans are written",
        why="the time in which nothing could be heard is no silence of the sensors",
        taken_away="the row of the outage",
        path=LIVENESS,
        text="            _write_outage(last, now)\n",
        instead="            pass\n",
        noticed_by=(
            f"{OF_SWEEP}::TestHearing::test_a_gap_is_recorded_as_an_outage",
            "tests/sensors/heartbeat/test_clock.py::TestRestart::test_after_any_outage_each_sensor_has_its_whole_time",
        ),
        kinds=["DoesNotExist"],
    ),
    mutant(
        "nothing is judged while one web server stands still",
        why="some sensors may call that server alone, and nobody hears them",
        taken_away="the slowest of the servers",
        path=LIVENESS,
        text="return min(times, default=None)",
        instead="return max(times, default=None)",
        noticed_by=f"{OF_SERVERS}::test_who_calls_the_one_that_stands_still_is_not_lost",
    ),
    mutant(
        "a web server that is gone holds up nobody for ever",
        why="without it no sensor would ever be lost again",
        taken_away="the dropping of its row",
        path=LIVENESS,
        text="            _drop_silent_servers(now, but=way_in)\n",
        instead="            pass\n",
        noticed_by=f"{OF_SERVERS}::test_one_that_is_silent_for_good_is_dropped_and_its_outage_is_written_once",
    ),
    mutant(
        "the outage of a web server that is dropped is written",
        why="who called it has not been silent",
        taken_away="the row of the outage",
        path=LIVENESS,
        text="        _write_outage(row.heard_at, now)\n",
        instead="",
        noticed_by=f"{OF_SERVERS}::test_one_that_is_silent_for_good_is_dropped_and_its_outage_is_written_once",
        kinds=["DoesNotExist"],
    ),
    mutant(
        "web servers end one after the other",
        why="two that see each other alive would both take their rows along, and nobody knew since when none hears",
        taken_away="the lock of the rows",
        path=LIVENESS,
        text="_calls_rows().select_for_update().order_by",
        instead="_calls_rows().order_by",
        noticed_by="tests/sensors/heartbeat/test_clock.py::test_of_two_servers_that_end_at_once_one_leaves_its_row",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "only web servers drop one another",
        why="while none is left nobody is heard, and its row is all that says so",
        taken_away="the question who checks",
        path=LIVENESS,
        text="        if way_in != WayIn.QUEUE:  # while",
        instead="        if True:  # while",
        noticed_by=f"{OF_SERVERS}::test_the_queue_alone_drops_nobody",
    ),
    mutant(
        "silence is judged after it has settled",
        why="an outage shorter than two checks goes unnoticed for so long",
        taken_away="two intervals",
        path=LIVENESS,
        text="return None if mark is None else mark - SETTLING",
        instead="return mark",
        noticed_by=f"{OF_SWEEP}::TestHearing::test_silence_is_judged_two_checks_later",
    ),
    mutant(
        "an outage gives the whole timeout again",
        why="after it a sensor must have its time to speak",
        taken_away="the outages",
        path="sensors/heartbeat/deadline.py",
        text="    return min(listening_again + timeout, heard_at + 2 * timeout + outage_time)",
        instead="    return heard_at + timeout",
        noticed_by=(
            "tests/sensors/heartbeat/test_deadline.py::TestLossDeadline::test_after_an_outage_the_timeout_begins_anew",
            f"{OF_SWEEP}::TestSweepOnce::test_an_outage_is_no_silence",
        ),
    ),
    mutant(
        "outages cannot put a loss off for ever",
        why="a server that restarts again and again would hide a dead sensor",
        taken_away="the bound of twice the timeout",
        path="sensors/heartbeat/deadline.py",
        text="    return min(listening_again + timeout, heard_at + 2 * timeout + outage_time)",
        instead="    return listening_again + timeout",
        noticed_by="tests/sensors/heartbeat/test_deadline.py::TestLossDeadline"
        "::test_outages_that_keep_coming_cannot_put_it_off_for_ever",
    ),
    mutant(
        "the sweep locks what it judges",
        why="of two sweeps at once one announces a loss, and none of a sensor that is just being heard",
        taken_away="the lock",
        path="sensors/heartbeat/sweep.py",
        text='SensorState.objects.select_for_update(of=("self",), skip_locked=True)',
        instead="SensorState.objects.all()",
        noticed_by=f"{OF_SWEEP}::test_eight_sweeps_at_once_announce_each_loss_once",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "a door left open is reported under lock",
        why="of two at once one reports it",
        taken_away="the lock",
        path="sensors/heartbeat/left_open.py",
        text='SensorState.objects.select_for_update(of=("self",), skip_locked=True)',
        instead="SensorState.objects.all()",
        noticed_by="tests/sensors/heartbeat/test_left_open.py::TestReport::test_two_at_once_report_it_once",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "states are locked for the fold",
        why="two batches with one sensor would each fold into the state that they have read",
        taken_away="FOR NO KEY UPDATE",
        path="sensors/sql/lock_states.postgresql.sql",
        text="ORDER BY sensor_id\nFOR NO KEY UPDATE",
        instead="ORDER BY sensor_id",
        noticed_by="tests/sensors/ingest/test_state_rows.py::TestLockStates"
        "::test_one_that_had_to_wait_reads_and_writes_the_row_that_the_other_left",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "a repeat is recognised",
        why="a signal that comes twice ends no loss and is seen once",
        taken_away="the sensor's memory",
        path=FOLD,
        text=" or state.memory.holds(signal):",
        instead=":",
        noticed_by="tests/sensors/ingest/test_memory.py",
    ),
    mutant(
        "older pages are recalled",
        why="a repeat may be older than what stands in the state row",
        taken_away="the pages",
        path="sensors/ingest/state_rows.py",
        text="    if late:\n        for sensor_id, page in",
        instead="    if not late:\n        for sensor_id, page in",
        noticed_by="tests/sensors/ingest/test_memory.py",
    ),
    mutant(
        "the greatest time and id counts, whatever comes last",
        why="a late signal is history and changes no state",
        taken_away="the order of two signals of one time",
        path=FOLD,
        text="        return signal.id > self.last_id",
        instead="        return True",
        noticed_by=OF_FOLD,
    ),
    mutant(
        "the greatest time counts, whatever comes last",
        why="a late signal is history and changes no state",
        taken_away="the order of two times",
        path=FOLD,
        text="            return last_at is None or signal.at > last_at",
        instead="            return True",
        noticed_by=OF_FOLD,
    ),
    mutant(
        "signals without a broker are history in their transaction",
        why="there is no queue that would bring them there",
        taken_away="the write into history",
        path="sensors/ingest/accept.py",
        text="apply_signals(items, also=store_in_transaction)",
        instead="apply_signals(items)",
        noticed_by=(
            "tests/sensors/api/signals/test_signals.py::TestSignals"
            "::test_one_signal_is_accepted_and_is_state_event_and_history",
            IN_SIMULATION,
        ),
    ),
    mutant(
        "history takes a signal once (SQLite)",
        why="a batch that comes again after a crash must not stand there twice",
        taken_away="ignore_conflicts",
        path="sensors/history/database.py",
        text="[_signal_row(signal) for signal in signals], ignore_conflicts=True, batch_size=500",
        instead="[_signal_row(signal) for signal in signals], batch_size=500",
        noticed_by="tests/sensors/history/test_spool.py::TestKeepInTransaction"
        "::test_without_clickhouse_the_signals_are_history_at_once_and_once",
        kinds=["IntegrityError"],
    ),
    mutant(
        "history takes a signal once (PostgreSQL)",
        why="a batch that comes again after a crash must not stand there twice",
        taken_away="ON CONFLICT DO NOTHING",
        path="sensors/sql/insert_signals.postgresql.sql",
        text="ON CONFLICT (sensor_id, at, signal_id) DO NOTHING",
        instead="",
        noticed_by="tests/sensors/history/test_spool.py::TestKeepInTransaction"
        "::test_without_clickhouse_the_signals_are_history_at_once_and_once",
        engine=Engine.POSTGRESQL,
        kinds=["IntegrityError", "UniqueViolation"],
    ),
    mutant(
        "history takes an event once",
        why="a follower that died between its insert and its position brings it again",
        taken_away="ignore_conflicts",
        path="sensors/history/database.py",
        text="StoredEvent.objects.bulk_create(rows, ignore_conflicts=True, batch_size=STEP)",
        instead="StoredEvent.objects.bulk_create(rows, batch_size=STEP)",
        noticed_by="tests/sensors/history/test_follower.py::TestKeepEvents::test_a_second_time_changes_nothing",
        kinds=["IntegrityError", "HistoryRefused"],
    ),
    mutant(
        "an attempt is counted before it is made",
        why="a message whose consumer dies each time must be parked in the end",
        taken_away="the count",
        path="notifications/services/poison.py",
        text='_select_counts(messages).update(failures=F("failures") + 1, tried_at=Now())',
        instead='_select_counts(messages).update(failures=F("failures"), tried_at=Now())',
        noticed_by=(
            f"{OF_POISON}::test_the_culprit_alone_is_parked_and_the_others_are_handled",
            f"{OF_POISON}::test_what_its_process_dies_of_is_parked_in_the_end_without_being_touched",
        ),
        kinds=["Timeout"],
    ),
    mutant(
        "a sensor's changes follow each other",
        why="two who change one sensor at once would each log and write the values that they have read",
        taken_away="the lock of its state row",
        path="sensors/services/locks.py",
        text="SensorState.objects.select_for_update(no_key=True).filter(",
        instead="SensorState.objects.filter(",
        noticed_by="tests/sensors/services/test_sensors.py::TestRaces::test_changes_of_one_sensor_follow_each_other",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "imports of the same sensors follow each other",
        why="two at once would each write the values that they have read",
        taken_away="the lock of the states",
        path="sensors/sql/lock_import_states.postgresql.sql",
        text="    ORDER BY state.sensor_id\n    FOR NO KEY UPDATE\n",
        instead="    ORDER BY state.sensor_id\n",
        noticed_by="tests/sensors/services/test_file_imports.py::TestImportFile::test_locks_what_changes_in_one_statement_before_the_first_is_written",
        engine=Engine.POSTGRESQL,
    ),
)

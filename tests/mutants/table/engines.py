"""Mechanisms around engines that are away or silent: who waits for them, how long, and who is told at once."""

from tests.mutants.mutant import Engine, mutant

READERS = "processes/coordination/gateway/readers.py"
POSTGRESQL = "config/engines/postgresql.py"

OF_SILENCE = "tests/processes/coordination/api/test_silent_reader.py"
FIRST_ALONE = "test_the_first_waits_for_a_moment_and_the_next_not_at_all"
OF_CALLS = "tests/sensors/api/signals/test_signals.py::TestThroughTheQueue"
OF_MUTE = "test_a_mute_broker_keeps_one_call_for_a_moment_and_the_others_not_at_all"

ROWS = (
    mutant(
        "a reader's database that has not answered is not asked by the next call",
        why="each call would wait for it anew, in a slot that signals need",
        taken_away="the circuit breaker",
        path=READERS,
        text="        with _breaker(alias).call(failures=(ReaderAway,)):\n",
        instead="        with _breaker(alias).call(failures=()):\n",
        noticed_by=f"{OF_SILENCE}::TestMuteAtConnect::{FIRST_ALONE}",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "a call waits for a connection to a reader's database for a moment",
        why="five seconds of the pool's are too long for whoever holds a slot",
        taken_away="the pool's time-out",
        path=POSTGRESQL,
        text="        database.pool.timeout = seconds\n",
        instead="        database.pool.timeout = 4 * seconds\n",
        noticed_by=f"{OF_SILENCE}::TestMuteAtConnect::{FIRST_ALONE}",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "a reader's database that falls silent on a standing connection is left",
        why="a frozen server keeps no time-out of its own: the call would wait for ever",
        taken_away="most of the limit",
        path=POSTGRESQL,
        text="    session.silence_limit = seconds\n",
        instead="    session.silence_limit = 6 * seconds\n",
        noticed_by=(
            f"{OF_SILENCE}::TestSilentLater::{FIRST_ALONE}",
            f"{OF_SILENCE}::TestSilentLater::test_whoever_waits_for_a_change_set_is_told",
        ),
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "roles wait for their database for as long as it works",
        why="a statement of theirs may take minutes over a connection that a call has used before",
        taken_away="the end of the limit",
        path=POSTGRESQL,
        text="        session.silence_limit = None\n",
        instead="        pass\n",
        noticed_by=f"{OF_SILENCE}::TestSilentLater::test_a_statement_of_a_role_may_work_for_longer",
        engine=Engine.POSTGRESQL,
        kinds=("OperationalError",),
    ),
    mutant(
        "while a call declares the queue of signals the others do not wait for it",
        why="a mute broker would hold every slot for as long as the first call may take",
        taken_away="that the lock is only tried",
        path="sensors/ingest/signal_queue.py",
        text="    if not _declaring.acquire(blocking=False):\n",
        instead="    if not _declaring.acquire():\n",
        noticed_by=f"{OF_CALLS}::{OF_MUTE}",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "a broker that has not confirmed in time is not asked by the next call",
        why="each call would wait for it anew before it is served directly",
        taken_away="the circuit breaker",
        path="sensors/ingest/accept.py",
        text="            with _broker.call(failures=(NotPublished,)):\n",
        instead="            with _broker.call(failures=()):\n",
        noticed_by=f"{OF_CALLS}::{OF_MUTE}",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "a call waits for the declaration for as long as it may take itself",
        why="a broker that falls silent once it has let a client in would hold it until heartbeats are missed",
        taken_away="the call's own time",
        path="sensors/ingest/signal_queue.py",
        text="        _declaration.wait(max(0.01, until - time.monotonic()))\n",
        instead="        _declaration.wait(10)\n",
        noticed_by=f"{OF_CALLS}::test_one_that_falls_silent_before_it_has_opened_a_channel_is_left_too",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "a mute broker is an error of AMQP, as one that is gone",
        why="whoever passes over a broker that is away would fail with a fault of ours",
        taken_away="the translation of pika's time-out",
        path="config/engines/amqp.py",
        text="    except AMQPConnectorException as error:\n",
        instead="    except AMQPConnectionError as error:\n",
        noticed_by="tests/config/engines/test_health.py::TestConnect"
        "::test_a_mute_broker_is_an_error_of_amqp_as_one_that_is_gone",
        kinds=("AMQPConnectorStackTimeout",),
    ),
)

"""Mechanisms of messages and their files: drafts, names, folders, what is swept and what is never given up."""

from tests.mutants.mutant import Change, Engine, mutant

SEND = "messaging/services/send.py"
FETCH = "messaging/services/fetch.py"
RETENTION = "messaging/services/retention.py"

IN_SIMULATION = "tests/simulation/test_worlds.py::test_nothing_is_wrong_whatever_the_seed[messages]"
OF_SEND = "tests/messaging/api/messages/test_send.py"
OF_FETCH = "tests/messaging/api/messages/test_fetch.py"
OF_RETENTION = "tests/messaging/services/test_retention.py"

ROWS = (
    mutant(
        "the folder of a draft is synced before the row",
        why="after a crash the row would lead to a file without a name",
        taken_away="sync_folder",
        path="messaging/files/drafts.py",
        text="    sync_folder(drafts[0].parent)\n",
        instead="",
        noticed_by=(
            "tests/messaging/files/test_drafts.py::TestCrash"
            "::test_whatever_a_crash_keeps_the_drafts_are_whole_once_they_are_written",
            IN_SIMULATION,
        ),
    ),
    mutant(
        "a draft is on the disk before its row",
        why="a row without its file is a message that was accepted and is lost",
        taken_away="the order of file and row",
        changes=[
            Change(SEND, "    write_drafts([(message, payload)])\n    # An error", "    # An error"),
            Change(
                SEND,
                "    name_drafts([message])\n",
                "    write_drafts([(message, payload)])\n    name_drafts([message])\n",
            ),
        ],
        noticed_by=(f"{OF_SEND}::TestDisk::test_failure_at_any_step_of_the_write_keeps_nothing", IN_SIMULATION),
    ),
    mutant(
        "a draft that a row knows is not swept",
        why="it is all there is of a message whose sender died before the rename",
        taken_away="the look for its row",
        path=RETENTION,
        text="        if message is not None and message.file_gone_at is None and not _place_draft(message):\n"
        "            return\n",
        instead="",
        noticed_by=f"{OF_RETENTION}::TestSweepDrafts::test_draft_of_an_accepted_message_gets_its_name",
    ),
    mutant(
        "a young draft is not swept",
        why="its row may be about to be committed",
        taken_away="the hour that it has",
        path=RETENTION,
        text="DRAFT_LIFE_SECONDS = 3600.0",
        instead="DRAFT_LIFE_SECONDS = -1.0",
        noticed_by=f"{OF_RETENTION}::TestSweepDrafts::test_young_draft_stays",
    ),
    mutant(
        "files of a live process are not deleted",
        why="its end is not known: they may be needed",
        taken_away="the look at the process",
        path=RETENTION,
        text="        process=None, file_gone_at=None, arrived_at__lt=",
        instead="        file_gone_at=None, arrived_at__lt=",
        noticed_by=f"{OF_RETENTION}::TestForgetOldFiles::test_nothing_of_a_process_that_is_not_settled_goes",
    ),
    mutant(
        "files are left alone while the volume is away",
        why="every file seems gone then: all messages would be given up",
        taken_away="the check before the upkeep",
        path=RETENTION,
        text="            check_volume()\n            work()",
        instead="            work()",
        noticed_by="tests/processes/exchange/test_volume.py::TestWork::test_old_files_are_not_taken_for_deleted",
        guard=[
            Change(
                "messaging/files/placement.py",
                "    with volume_present(message.database_id):\n        return _look(message)",
                "    return _look(message)",
            )
        ],
        guard_name="no look without the volume is believed",
    ),
    mutant(
        "nothing is written where the volume was",
        why="a file under the mount point is hidden once the volume is back",
        taken_away="the check after the write",
        path="messaging/files/drafts.py",
        text="    check_volume()  # last:",
        instead="    # last:",
        noticed_by="tests/messaging/files/test_volume.py::TestWriting",
    ),
    mutant(
        "a file is looked for again while its sender may rename it",
        why="one round without it proves nothing: a message would be given up that is there",
        taken_away="the second and third look",
        path="messaging/files/placement.py",
        text="LOOKS = 3",
        instead="LOOKS = 1",
        noticed_by="tests/messaging/files/test_placement.py::TestPutInPlace::test_name_given_between_look_and_move_is_seen",
        kinds=["FileMissing"],
    ),
    mutant(
        "a message is accepted once under its id (SQLite)",
        why="a device that repeats its call sends one message",
        taken_away="the look for the id",
        path=SEND,
        text="        if taken.exists() or not addressee.exists():",
        instead="        if not addressee.exists():",
        noticed_by=f"{OF_SEND}::TestRepeat::test_same_id_and_body_has_the_same_answer",
        kinds=["IntegrityError"],
    ),
    mutant(
        "a message is accepted once under its id (PostgreSQL)",
        why="a device that repeats its call sends one message",
        taken_away="ON CONFLICT DO NOTHING",
        path="messaging/sql/accept_message.postgresql.sql",
        text="    ON CONFLICT (enterprise_id, public_id) DO NOTHING\n",
        instead="",
        noticed_by=f"{OF_SEND}::TestRepeat::test_same_id_and_body_has_the_same_answer",
        engine=Engine.POSTGRESQL,
        kinds=["IntegrityError", "UniqueViolation"],
        proves=["messaging/models/message.py::message_id_once_per_enterprise once"],
    ),
    mutant(
        "a repeat has the same body",
        why="another message under a known id must not be told that it was accepted",
        taken_away="the comparison of the digests",
        path=SEND,
        text=" or bytes(message.digest) != digest:",
        instead=":",
        noticed_by=f"{OF_SEND}::TestRepeat::test_another_body_is_a_conflict",
        kinds=["KeyError"],
    ),
    mutant(
        "a move that the disk refused stays pending",
        why="the row would say that the file lies where it does not",
        taken_away="the pending move",
        path=FETCH,
        text='        wake_mover()\n    else:\n        message.moving_from = ""\n',
        instead='        wake_mover()\n    message.moving_from = ""\n',
        noticed_by=f"{OF_FETCH}::TestConfirm::test_stands_though_the_disk_refuses_and_the_move_follows",
    ),
    mutant(
        "a mover has the row locked across the rename",
        why="where the row changes meanwhile a late mover would put the file into the wrong folder",
        taken_away="FOR NO KEY UPDATE",
        path="messaging/sql/lock_message.postgresql.sql",
        text=" FOR NO KEY UPDATE",
        instead="",
        noticed_by="tests/processes/exchange/services/test_cleanup.py::TestAtOnce"
        "::test_resolved_while_a_file_is_moved_it_ends_where_the_row_says",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "an id is a device's or a database's",
        why="keys and names of files go by it",
        taken_away="the lock of the id",
        path="messaging/sql/lock_account_id.postgresql.sql",
        text="SELECT pg_advisory_xact_lock(hashtextextended('messaging.account:' || %s, 0))",
        instead="SELECT length(%s)",
        noticed_by="tests/messaging/services/test_party_kind.py::TestAtOnce"
        "::test_a_device_and_a_database_never_get_the_same_id",
        engine=Engine.POSTGRESQL,
    ),
    mutant(
        "a message is set aside or taken by API_1",
        why="it must not be with an ERP while staff believe that they hold it",
        taken_away="the lock of the database and the message",
        changes=[
            Change(
                "messaging/services/set_aside.py",
                "database = ExchangeDatabase.objects.select_for_update(no_key=True).filter(",
                "database = ExchangeDatabase.objects.filter(",
            ),
            Change(
                "messaging/services/set_aside.py",
                "return Message.objects.select_for_update(no_key=True).get(pk=message_id)",
                "return Message.objects.get(pk=message_id)",
            ),
        ],
        noticed_by="tests/messaging/services/test_set_aside.py::TestSetAside::test_at_once_with_api_1_one_of_them_has_it",
        engine=Engine.POSTGRESQL,
        kinds=["IntegrityError"],
    ),
    mutant(
        "of rotations at once the last key works",
        why="two keys of one device would both be valid",
        taken_away="the lock of the party",
        path="messaging/services/party_kind.py",
        text="rows: Any = self.model._default_manager.select_for_update(no_key=True)",
        instead="rows: Any = self.model._default_manager.all()",
        noticed_by="tests/messaging/services/test_party_kind.py::TestAtOnce"
        "::test_of_rotations_at_once_the_last_key_alone_works",
        engine=Engine.POSTGRESQL,
    ),
)

"""Which test goes one past each bound of sensors, messages, deliveries and the Coordination."""

PARTIES = {
    "notifications/services/test_resend.py": {
        "page.undelivered": "TestDeadLetters::test_are_counted_by_endpoint_as_far_as_the_bound"
    },
    "sensors/api/signals/test_signals.py": {
        "signals.list": "TestSignals::test_a_list_of_more_than_a_thousand_is_an_error",
        "signals.broker": (
            "TestThroughTheQueue::test_a_mute_broker_keeps_one_call_for_a_moment_and_the_others_not_at_all"
        ),
    },
    "sensors/ingest/test_signals.py": {
        "signals.message": "TestOverAmqp::test_a_message_over_256_kib_is_refused",
        "signals.ahead": "TestReadSignals::test_more_than_five_minutes_ahead_is_refused",
    },
    "sensors/ingest/test_rejections.py": {
        "signals.rejected": "TestRecordRejections::test_beyond_the_limit_a_minute_has_one_row_for_the_rest"
    },
    "sensors/ingest/test_repeats.py": {"signals.repeated": "TestRecordRepeats::test_a_storm_stays_a_few_rows"},
    "sensors/api/test_as_of.py": {"as_of.sensors": "TestClient::test_names_so_many_sensors_and_counts_the_others"},
    "sensors/api/test_history.py": {"history.days": "TestClientHistory::test_takes_31_days_and_no_more"},
    "sensors/history/clickhouse/test_silence.py": {
        "history.time": "test_the_first_waits_for_a_moment_and_the_next_not_at_all",
        "history.calls": "test_of_forty_at_once_only_half_of_the_slots_wait",
    },
    "sensors/services/test_sheets.py": {
        "import.bytes": "TestReadSheet::test_takes_ten_megabytes_and_not_one_byte_more",
        "import.rows": "TestReadSheet::test_takes_a_hundred_thousand_rows_and_not_one_more",
        "import.line": "TestReadSheet::test_takes_a_line_of_the_limit_and_not_a_character_more",
        "import.csv_cell": "TestReadSheet::test_takes_a_cell_of_the_limit_and_not_a_character_more",
    },
    "sensors/services/test_workbook.py": {
        "import.unpacked": "TestBounds::test_what_claims_to_unpack_to_too_much_is_not_unpacked",
        "import.part": "TestBounds::test_a_part_is_counted_while_it_is_unpacked",
        "import.parts": "TestBounds::test_parts_are_counted_before_the_archive_is_opened",
        "import.depth": "TestBounds::test_depth",
        "import.tag": "TestBounds::test_a_tag_without_an_end_is_not_kept",
        "import.columns": "TestBounds::test_columns",
        "import.cells": "TestBounds::test_cells",
        "import.cell": "TestBounds::test_length_of_a_cell",
        "import.texts": "TestBounds::test_shared_texts",
        "import.text": "TestBounds::test_characters_of_all_cells",
    },
    "messaging/test_protocol.py": {
        "message.depth": "TestCheckPayload::test_takes_the_limit_and_not_a_level_more",
        "message.body_depth": "TestReadBody::test_a_payload_may_be_as_deep_as_any_json_and_the_body_stands_around_it",
    },
    "messaging/api/messages/test_send.py": {
        "message.bytes": "TestPayload::test_limit_is_of_the_file",
        "message.ahead": "TestCreatedAt::test_takes_five_minutes_ahead_and_not_a_millisecond_more",
    },
    "processes/exchange/services/start/test_pick.py": {
        "exchange.files": "TestLimits::test_smaller_number_of_files_counts",
        "exchange.bytes": "TestLimits::test_smaller_size_counts",
    },
    "processes/exchange/services/test_prepare.py": {
        "exchange.replies": "TestTakenBack::test_more_than_a_thousand_are_refused"
    },
    "processes/exchange/services/decisions/test_decisions.py": {
        "exchange.error": "TestRollBack::test_wrong_body_is_refused"
    },
    "processes/exchange/services/test_timeouts.py": {
        "exchange.started": "TestTimeOutOnce::test_started_too_long_ago_its_messages_are_offered_again",
        "exchange.ready": "TestTimeOutOnce::test_ready_too_long_ago_it_is_in_doubt",
    },
    "notifications/api/sessions/test_sessions.py": {
        "session.bytes": "TestAppendAndRewrite::test_too_long_changes_nothing"
    },
    "notifications/sessions/test_repeat.py": {
        "session.operations": "TestFailure::test_a_handler_without_end_is_a_failure"
    },
    "notifications/sessions/test_webhook.py": {
        "session.calls": "TestOperations::test_have_an_end_after_a_hundred_calls",
        "session.time": "TestFailure::test_no_answer_within_the_themes_timeout",
        "session.answer": "TestFailure::test_an_answer_of_more_bytes_than_are_read",
    },
    "notifications/sessions/test_workers.py": {
        "session.theme": "TestThemeSlots::test_a_theme_has_as_many_as_there_are_workers_and_not_one_more",
        "session.open": "TestHangingTheme::test_behind_an_open_breaker_it_has_one_slot",
        "session.slow": "TestThemeSlots::test_no_more_are_set_aside_than_there_may_be",
    },
    "notifications/sending/webhook/test_bad_receivers.py": {
        "webhook.time": "TestPostToBadReceivers::test_one_that_never_answers_ends_by_the_time_limit",
        "webhook.answer": "TestPostToBadReceivers::test_ten_megabytes_are_not_fetched",
        "webhook.header": "TestPostToBadReceivers::test_headers_have_a_number_and_a_length",
        "webhook.headers": "TestPostToBadReceivers::test_headers_have_a_number_and_a_length",
    },
    "notifications/sending/webhook/test_retry_after.py": {
        "webhook.retry_after": "TestParseRetryAfter::test_seconds_dates_and_nonsense",
    },
    "notifications/sending/test_claims.py": {
        "webhook.slots": "TestWhatWaits::test_no_endpoint_has_more_than_its_slots"
    },
    "notifications/sending/test_sender.py": {
        "webhook.all": "TestSlots::test_so_many_are_under_way_and_ten_times_as_many_of_the_slow"
    },
    "notifications/sending/test_policy.py": {
        "webhook.attempts": "TestJudge::test_the_last_attempt_ends_in_death_with_its_reason"
    },
    "notifications/sending/test_outcomes.py": {
        "webhook.breaker": "TestTheBreaker::test_opens_after_so_many_failures_in_a_row_and_closes_with_a_success",
        "webhook.open": "TestTheBreaker::test_open_for_three_days_it_disables_the_endpoint_with_an_alert",
    },
    "sensors/heartbeat/test_sweep.py": {
        "webhook.list": "TestSweepOnce::test_five_losses_of_one_client_are_one_list_of_at_most_200"
    },
    "processes/coordination/api/test_rows.py": {
        "rows.list": "TestCreate::test_a_list_has_so_many_rows_and_not_one_more",
        "reader.wait": "TestWait::test_after_ten_seconds_the_caller_is_told_to_come_back",
        "reader.waiting": "TestWait::test_those_who_wait_leave_slots_to_others",
    },
    "processes/coordination/api/test_silent_reader.py": {
        "reader.silence": "TestMuteAtConnect::test_the_first_waits_for_a_moment_and_the_next_not_at_all",
        "reader.calls": "TestFortyAtOnce::test_a_quarter_of_the_slots_stays_free",
    },
    "processes/coordination/coordinator/test_decisions.py": {
        "coordination.deadline": "TestDeadline::test_of_a_silent_reader_cancels_the_event"
    },
    "processes/coordination/coordinator/test_activation.py": {
        "coordination.parallel": "TestChoose::test_begins_in_the_order_of_the_positions"
    },
    "processes/coordination/bus/test_amqp.py": {
        "envelope.number": "TestSend::test_is_written_to_disk_in_envelopes_of_a_hundred",
        "envelope.bytes": "TestSend::test_an_envelope_holds_few_large_messages",
    },
    "sensors/explanation/test_collect.py": {
        "explain.around": "TestBounds::test_refusals_around_a_time",
        "explain.attempts": "TestBounds::test_attempts_of_a_delivery",
        "explain.lists": "TestBounds::test_lists_that_name_the_sensor",
        "explain.later": "TestBounds::test_deliveries_behind_one_that_a_mute_withheld",
        "explain.changes": "TestBounds::test_entries_of_the_change_log",
        "explain.nearby": "TestBounds::test_events_beside_a_verdict",
    },
    "sensors/admin/test_sensors.py": {
        "action.sensors": "TestBulkActions::test_too_many_are_refused",
    },
    "sensors/admin/test_clients.py": {
        "action.clients": "TestMuteMany::test_takes_the_first_of_too_many",
    },
    "notifications/admin/test_deliveries.py": {
        "action.deliveries": "TestList::test_of_too_many_the_first_are_sent_again",
    },
    "notifications/admin/test_alerts.py": {
        "action.alerts": "TestInbox::test_of_too_many_the_first_are_acknowledged",
    },
    "messaging/admin/test_messages.py": {
        "action.messages": "TestList::test_of_too_many_the_first_go_back",
    },
    "notifications/admin/sessions/test_list.py": {
        "action.sessions": "TestRepeatMany::test_so_many_are_acted_on_and_not_one_more",
        "action.sessions_deleted": "TestRepeatMany::test_too_many_are_refused_before_anything_is_done",
        "form.shift": "TestShiftMany::test_a_wrong_delay_is_told_at_its_field",
    },
    "notifications/admin/test_session_records.py": {
        "form.records": "TestEditRecords::test_what_is_too_long_for_a_form_is_not_offered",
    },
}

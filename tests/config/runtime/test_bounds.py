import ast
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from config.runtime.bounds import Bound, FieldBound, bounds, field_bounds, render
from config.runtime.bounds.bound import count
from tests.config.api.test_strictness import Callers, fill

TOP = Path(__file__).parents[3]
FIELDS = list(field_bounds())

ONE_PAST = {
    "config/runtime/test_bounds.py": {"changes.list": "test_one_past_the_limit_of_a_field_is_refused_by_name"},
    "config/runtime/test_connections.py": {
        "connections": "TestNumber::test_a_proxy_has_all_of_them",
        "connections.address": "TestNumber::test_one_address_has_its_share_and_another_its_own",
        "head.url": "TestHead::test_a_url_of_the_limit_is_taken_and_one_byte_more_is_not",
        "head.bytes": "TestHead::test_headers_of_the_limit_are_taken_and_one_byte_more_is_not",
        "head.number": "TestHead::test_so_many_headers_are_taken_and_one_more_is_not",
        "head.time": "TestTime::test_a_head_that_does_not_come_is_not_waited_for",
        "idle": "TestTime::test_nor_is_a_further_call_on_the_same_connection",
        "pipelined": "TestNumber::test_so_many_calls_wait_on_one_connection_and_those_behind_are_not_answered",
        "reader.stalled": "TestTime::test_a_reader_that_stops_is_not_waited_for",
        "reader.end": "TestTime::test_a_reader_that_stops_is_not_waited_for",
        "socket.bytes": "TestWebSocket::test_takes_a_message_of_the_limit_and_not_a_byte_more",
    },
    "config/dashboard/live/test_watched_rows.py": {
        "socket.rows": "TestParseWatch::test_refuses_what_is_not_watched_and_what_is_too_much"
    },
    "config/dashboard/live/test_broadcast.py": {"socket.time": "TestSlowSocket::test_is_cut_off_when_it_reads_no_more"},
    "config/common/web/limits/test_calls.py": {
        "answer.rate": "TestLargeAnswers::test_of_one_caller_are_sent_at_its_rate_after_a_burst_and_nobody_else_waits",
        "calls": "TestShare::test_one_address_has_only_so_many_calls_under_way",
        "slots.static": "TestGate::test_refuses_one_call_too_many_under_its_path",
        "correlation.id": "TestCorrelationId::test_makes_one_instead_of_a_wrong_one",
        "body.bytes": "TestBodyLimit::test_each_path_has_the_limit_of_the_settings",
        "body.message": "TestBodyLimit::test_each_path_has_the_limit_of_the_settings",
        "body.prepare": "TestBodyLimit::test_each_path_has_the_limit_of_the_settings",
        "answer.time": "TestPatience::test_a_caller_that_stops_reading_counts_as_gone",
        "rate.refused": "TestRefusedOften::test_one_past_the_burst_is_told_to_come_back_before_the_app",
    },
    "config/common/web/limits/test_lanes.py": {
        "slots.api": "test_each_kind_has_so_many_and_not_one_more",
        "slots.large": "test_each_kind_has_so_many_and_not_one_more",
        "slots.pages": "test_each_kind_has_so_many_and_not_one_more",
        "slots.sign_in": "test_each_kind_has_so_many_and_not_one_more",
        "slots.metrics": "test_each_kind_has_so_many_and_not_one_more",
    },
    "config/common/web/limits/test_slots.py": {
        "slots.places": "TestLend::test_so_many_wait_and_no_more_than_their_share_of_the_places",
        "slots.heavy": "TestLend::test_whoever_takes_much_of_the_processor_beside_others_has_few_at_once",
    },
    "config/common/web/limits/test_bodies.py": {
        "body.time": "TestPace::test_a_body_that_stalls_is_given_up",
        "body.longest": "TestPace::test_none_takes_longer_than_the_longest",
        "body.disk": "TestFiles::test_are_written_no_faster_than_the_disk_can_bear_and_nobody_is_blamed_for_it",
        "body.files": "TestFiles::test_of_one_caller_are_within_its_share",
        "body.rate": "TestFiles::test_of_one_caller_come_at_its_rate_after_a_burst_and_nobody_else_waits_for_it",
    },
    "config/common/web/test_handler.py": {
        "answer.bytes": "test_large_answers_that_wait_have_room_of_which_each_caller_has_a_share",
        "sign_in.forms": "test_sign_ins_past_their_rate_cost_no_page_and_a_known_browser_has_its_own",
    },
    "config/common/web/test_json_codec.py": {
        "json.depth": "TestDecode::test_refuses_anything_else_and_names_the_place",
        "json.containers": "TestBounds::test_takes_so_many_and_not_one_more",
        "json.values": "TestBounds::test_takes_so_many_and_not_one_more",
    },
    "config/common/web/test_pagination.py": {
        "list.rows": "TestParameters::test_a_wrong_limit_is_named",
        "list.bytes": "TestBytesOfAPage::test_a_page_ends_where_its_bytes_are_used_up_and_next_leads_on",
    },
    "config/audit/api/test_explain.py": {"explain.rows": "test_rows_of_evidence_are_bounded"},
    "config/audit/api/test_trace.py": {"trace.rows": "TestTrace::test_is_bounded"},
    "config/admin_base/test_search.py": {
        "search.text": "TestSearch::test_what_is_longer_is_cut",
        "search.hits": "TestSearch::test_there_are_at_most_so_many_of_a_kind",
        "search.all": "TestSearch::test_all_sources_together_look_no_longer_than_a_search_may",
        "search.time": "TestSearch::test_a_look_through_a_table_ends_with_its_time",
    },
    "config/api/test_strictness.py": {
        "faults.entries": "TestMany::test_a_list_of_faults_names_some",
        "faults.rules": "TestMany::test_an_answer_names_no_more_rules_than_anybody_reads",
    },
    "config/api/test_idempotency.py": {
        "idempotency.key": "TestError::test_a_wrong_key_is_named",
        "idempotency.time": "TestRepeat::test_after_a_day_is_another_call",
    },
    "config/admin_base/test_lists.py": {
        "page.rows": "TestCount::test_ends_at_its_bound_and_so_do_the_pages",
        "page.sorted": "TestSorting::test_of_a_long_list_goes_by_columns_with_an_index_alone",
        "page.export": "TestExport::test_of_too_many_rows_asks_to_narrow_the_list",
    },
    "config/admin_base/test_confirm_many.py": {
        "page.batch": "TestConfirmMany::test_acts_batch_by_batch_for_a_script_that_shows_how_far_it_is"
    },
    "config/admin_base/test_saved_filters.py": {"page.filters": "TestSaveFilter::test_has_a_bound"},
    "config/admin_base/test_mute.py": {"page.mute": "TestMuteForm::test_takes_a_time_within_a_year_and_no_later_one"},
    "notifications/services/test_resend.py": {
        "page.undelivered": "TestDeadLetters::test_are_counted_by_endpoint_as_far_as_the_bound"
    },
    "processes/workflows/admin/version_tree/test_layout.py": {
        "page.tree": "TestLayOut::test_of_a_long_line_the_newest_and_the_first_are_drawn",
        "page.branches": "TestLayOut::test_a_line_across_a_return_that_is_not_drawn_counts_what_it_passes",
    },
    "config/dashboard/test_menu.py": {"page.badge": "TestNavigation::test_counts_no_further_than_its_bound"},
    "config/access/test_sign_in_limits.py": {
        "sign_in.pair": "TestReserveAttempt::test_grants_ten_and_refuses_the_eleventh",
        "sign_in.network": "TestReserveAttempt::test_a_network_has_its_limit_whatever_the_names",
        "sign_in.name": "TestReserveAttempt::test_a_name_has_its_limit_whatever_the_networks",
        "sign_in.all": "TestReserveAttempt::test_all_together_have_their_limit_for_a_minute",
    },
    "config/access/test_sign_in.py": {"sign_in.browser": "TestSignInForm::test_it_has_no_more_guesses_than_others"},
    "config/access/test_passwords.py": {
        "sign_in.slots": "TestHashingSlot::test_one_past_them_is_refused_at_once_and_they_come_back"
    },
    "config/access/test_sessions.py": {
        "session.idle": "TestSessionStore::test_a_session_that_nobody_used_for_so_long_is_over",
        "session.age": "TestSessionStore::test_two_weeks_after_it_began_it_is_over_however_it_was_used",
    },
    "config/api/test_base_view.py": {"rate.key": "TestRate::test_the_call_past_the_rate_is_refused"},
    "config/access/test_failed_keys.py": {
        "rate.wrong_key": "TestFailedKeys::test_past_the_rate_wrong_keys_are_refused_without_a_query"
    },
    "config/common/web/test_rates.py": {
        "rate.enterprise": "TestEnterpriseRate::test_devices_and_databases_of_an_enterprise_share_one"
    },
    "processes/workflows/engine/execution/limits/test_depth.py": {
        "file.nested": "TestNesting::test_one_deeper_is_refused_with_its_element_and_line",
        "instance.depth": "TestCalls::test_deeper_than_a_state_may_be_is_a_failure_of_the_command",
    },
    "processes/workflows/services/events/follower/test_chains.py": {
        "chain.hops": "TestEvents::test_one_that_begins_itself_ends_after_so_many_hops",
        "chain.starts": "TestEvents::test_one_that_begins_two_of_itself_is_held_by_its_rate",
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
    "processes/workflows/engine/bpmn/test_hostile.py": {
        "file.bytes": "TestParseXml::test_reads_nothing_beyond_them",
        "file.depth": "TestParseXml::test_reads_nothing_beyond_them",
        "file.elements": "TestParseXml::test_reads_so_many_elements_and_not_one_more",
        "file.attributes": "TestParseXml::test_reads_so_many_attributes_and_not_one_more",
        "file.nodes": "TestSize::test_of_a_process",
        "file.flows": "TestSize::test_of_a_process",
        "file.expressions": "TestSize::test_of_all_expressions",
        "file.expression_text": "TestSize::test_of_all_expressions",
    },
    "processes/workflows/engine/bpmn/validation/test_validation.py": {
        "file.names": "TestIds::test_more_than_200_characters_are_refused",
        "file.problems": "TestAllAtOnce::test_no_more_than_a_hundred",
    },
    "processes/workflows/engine/bpmn/test_extensions.py": {
        "file.fields": "TestForms::test_what_cannot_be_shown_is_refused",
        "file.choices": "TestForms::test_a_field_has_so_many_choices_and_not_one_more",
    },
    "processes/workflows/engine/test_patterns.py": {
        "file.pattern": "TestCompilePattern::test_so_many_characters_are_taken_and_not_one_more",
    },
    "processes/workflows/engine/test_form_files.py": {
        "file.forms": "TestLimits::test_there_are_so_many_forms_and_not_one_more",
    },
    "processes/workflows/engine/bpmn/test_retries.py": {
        "file.tries": "TestLimits::test_there_are_so_many_attempts_and_not_one_more",
        "file.pauses": "TestLimits::test_there_are_so_many_pauses_and_not_one_more",
        "file.pause": "TestLimits::test_a_pause_is_so_long_and_not_a_second_longer",
    },
    "processes/workflows/engine/cmmn/test_limits.py": {
        "file.items": "TestLimits::test_as_many_plan_items_as_are_allowed_are_read",
        "file.stages": "TestLimits::test_stages_as_deep_as_is_allowed_are_read",
        "file.on_parts": "TestLimits::test_a_sentry_has_so_many_on_parts",
        "file.awaited": "TestLimits::test_criteria_count_with_what_they_wait_for",
        "file.case_file": "TestLimits::test_as_many_items_of_the_case_file_as_are_allowed_are_read",
    },
    "processes/workflows/engine/expressions/test_parser.py": {
        "expression.text": "TestSize::test_one_more_is_refused",
        "expression.parts": "TestSize::test_one_more_part_is_refused",
        "expression.depth": "TestDepth::test_one_more_is_refused",
        "expression.steps": "TestWork::test_ends_after_so_many_steps",
        "expression.string": "TestWork::test_takes_the_limit_and_not_one_more",
        "expression.items": "TestWork::test_takes_the_limit_and_not_one_more",
        "expression.integer": "TestWork::test_takes_the_limit_and_not_one_more",
    },
    "processes/workflows/engine/dmn/test_tables.py": {
        "dmn.columns": "TestRefused::test_says_what_is_wrong_and_where",
        "dmn.rules": "TestRefused::test_says_what_is_wrong_and_where",
        "dmn.entries": "TestRefused::test_says_what_is_wrong_and_where",
        "dmn.expressions": "TestRefused::test_more_expressions_than_a_file_may_have_are_refused",
        "dmn.expression_text": "TestRefused::test_more_expressions_than_a_file_may_have_are_refused",
    },
    "processes/workflows/engine/dmn/test_evaluation.py": {
        "dmn.decisions": "TestFiles::test_what_cannot_be_evaluated_is_refused",
        "feel.calls": "TestLogic::test_a_function_that_calls_itself_fails",
    },
    "processes/workflows/engine/feel/test_limits.py": {
        "feel.text": "test_a_malformed_text_says_what_is_wrong",
        "feel.parts": "test_a_malformed_text_says_what_is_wrong",
        "feel.depth": "test_a_malformed_text_says_what_is_wrong",
        "feel.steps": "test_what_would_take_too_long_fails_soon",
        "feel.string": "test_what_would_take_too_long_fails_soon",
        "feel.items": "test_what_would_take_too_long_fails_soon",
    },
    "processes/workflows/engine/lint/test_lint.py": {"lint.findings": "test_no_more_than_a_hundred_are_named"},
    "processes/workflows/engine/lint/test_tables.py": {"lint.rules": "test_a_large_table_is_judged_soon"},
    "processes/workflows/api/test_decisions.py": {
        "dmn.stored": "TestPublish::test_a_file_that_would_be_stored_too_often_is_refused"
    },
    "processes/workflows/engine/execution/limits/test_limits.py": {
        "command.steps": "TestCommandBudget::test_steps",
        "command.looks": "TestCommandBudget::test_looks",
        "command.weighed": "TestCommandBudget::test_bytes_that_are_weighed",
        "command.effects": "TestCommandBudget::test_bytes_of_effects",
        "instance.variables": "TestCommandBudget::test_bytes_of_variables",
    },
    "processes/workflows/engine/test_runner.py": {
        "instance.tokens": "TestLimits::test_tokens_are_counted",
        "instance.items": "TestLimits::test_so_many_items_of_cases",
        "instance.calls": "TestLimits::test_so_many_call_one_another",
        "variable.depth": "TestLimits::test_values_have_a_depth",
        "variable.name": "TestLimits::test_names_have_a_length",
    },
    "processes/workflows/engine/execution/test_loops.py": {
        "instance.rounds": "TestParallelMultiInstance::test_a_number_of_rounds_that_cannot_be_fails"
    },
    "processes/workflows/engine/execution/test_compensation.py": {
        "instance.undo": "TestLog::test_does_not_grow_without_end"
    },
    "processes/workflows/engine/dialects/test_bounds.py": {
        "file.processes": "TestProcesses::test_so_many_are_run_and_not_one_more",
        "file.report": "TestReport::test_a_list_has_so_many_entries_and_the_rest_is_counted",
    },
    "processes/workflows/services/definitions/test_library.py": {
        "definition.cache": "TestCompiledCache::test_those_used_last_stay_as_many_as_fit"
    },
    "processes/workflows/services/definitions/test_drafts.py": {
        "draft.bytes": "TestSaveDraft::test_is_bounded",
        "drafts": "TestSaveDraft::test_so_are_the_drafts",
    },
    "processes/workflows/services/definitions/test_scenarios.py": {
        "scenarios.bytes": "TestSaveScenarios::test_is_bounded",
        "scenarios.number": "TestSaveScenarios::test_is_bounded",
        "scenarios.steps": "TestSaveScenarios::test_is_bounded",
        "scenarios.seconds": "TestRehearse::test_ends_when_its_time_is_over",
    },
    "processes/workflows/services/shadow/test_end.py": {"shadows": "TestBegin::test_at_most_so_many_are_on_trial"},
    "processes/workflows/services/shadow/test_follow.py": {
        "shadow.twins": "TestBounds::test_beyond_so_many_twins_an_idle_one_gives_way",
        "shadow.state": "TestBounds::test_a_state_that_grows_too_large_is_not_followed",
        "shadow.reported": "TestBounds::test_a_twin_that_differs_in_too_much_is_not_followed",
        "shadow.places": "TestBounds::test_examples_and_places_are_few",
        "shadow.examples": "TestBounds::test_examples_and_places_are_few",
        "shadow.side": "TestBounds::test_a_long_value_is_cut",
        "shadow.waiting": "TestBounds::test_one_that_is_too_far_behind_goes_deaf",
        "shadow.seconds": "TestBounds::test_a_turn_takes_no_more_than_its_time",
    },
    "processes/workflows/engine/test_twin.py": {
        "shadow.path": "TestCompareAnswers::test_a_path_that_was_cut_is_not_compared"
    },
    "processes/workflows/engine/test_scenarios.py": {
        "scenario.timers": "TestPlayScenario::test_a_clock_that_never_rests_is_bounded"
    },
    "processes/workflows/engine/bpmn/test_people.py": {
        "file.candidates": "TestLimits::test_a_file_names_so_many_candidates_and_not_one_more",
        "task.name": "TestFailures::test_values_that_are_no_names",
        "task.notes": "TestLimits::test_so_many_notes_are_kept",
    },
    "processes/workflows/admin/tasks/test_list.py": {
        "task.words": "TestLimits::test_so_many_words_count",
        "task.groups": "TestLimits::test_so_many_groups_count",
        "task.people": "TestLimits::test_so_many_people_are_offered",
    },
    "processes/workflows/test_filters.py": {
        "instance.terms": "TestFilter::test_so_many_variables_and_no_more",
        "instance.term": "TestFilter::test_large_values_and_odd_characters_are_no_terms",
    },
    "processes/workflows/api/test_batches.py": {
        "filter.variables": "TestFilters::test_what_no_index_answers_is_refused",
        "batch.instances": "TestBatches::test_too_much_at_once_is_refused",
        "batch.named": "TestBatches::test_so_many_may_be_named",
        "batches.under_way": "TestBatches::test_too_much_at_once_is_refused",
        "batches": "TestBatches::test_too_much_at_once_is_refused",
    },
    "processes/workflows/services/batches/test_run.py": {
        "batch.slice": "TestTransactions::test_whoever_is_killed_is_followed_by_another",
        "batch.incidents": "TestRetry::test_so_many_incidents_of_an_instance_are_retried",
        "batch.outcomes": "TestDryRun::test_so_many_different_outcomes_are_shown",
    },
    "processes/workflows/services/test_plan_step.py": {
        "event.type": "TestThrownEvents::test_a_type_that_is_too_long_is_an_incident",
        "task.search": "TestSearchOfTasks::test_is_cut",
    },
    "processes/workflows/services/events/test_receive.py": {
        "event.message": "TestReceiveMessage::test_takes_a_body_of_the_limit_and_not_a_byte_more"
    },
    "processes/workflows/api/instances/test_pages.py": {
        "external.bytes": "TestFetch::test_as_many_as_fit_are_locked_and_the_others_wait_in_their_order"
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
}
"""By file, the test that goes one past each row of the table."""


class TestTable:
    def test_each_row_has_a_name_of_its_own_and_a_test_that_goes_one_past_it(self) -> None:
        rows = Counter(row.name for section in bounds().values() for row in section)
        assert rows == Counter(name for tests in ONE_PAST.values() for name in tests)
        assert max(rows.values()) == 1

    @pytest.mark.parametrize("file", ONE_PAST)
    def test_the_tests_are_there(self, file: str) -> None:
        assert set(ONE_PAST[file].values()) - names_in(TOP / "tests" / file) == set()

    def test_rows_of_a_section_can_be_told_apart(self) -> None:
        for section, rows in bounds().items():
            assert max(Counter((row.what, row.per) for row in rows).values()) == 1, section

    def test_a_limit_that_would_read_as_nothing_is_refused(self) -> None:
        with pytest.raises(ValueError, match="0\\.25"):
            count(0.25, "s")
        with pytest.raises(ValueError, match="'0 s'"):
            Bound("name", "what", count(0, "s"), "per", "past")
        assert Bound("name", "what", "0.25 s", "per", "past").limit == "0.25 s"

    def test_no_time_is_written_as_a_clock_shows_it(self) -> None:
        rows = [row for section in bounds().values() for row in section]
        assert [row.name for row in rows if re.search(r"\d:\d\d", f"{row.limit} {row.past}")] == []

    def test_the_document_is_what_the_command_prints(self) -> None:
        kept = (TOP / "docs" / "bounds.md").read_text()
        assert kept == render(), "run: python manage.py show_bounds > docs/bounds.md"


def names_in(file: Path) -> set[str]:
    """Name the tests of a file as pytest does: those of its classes behind the name of the class."""
    top = ast.parse(file.read_text()).body
    groups = [("", top), *((f"{each.name}::", each.body) for each in top if isinstance(each, ast.ClassDef))]
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {f"{prefix}{each.name}" for prefix, body in groups for each in body if isinstance(each, functions)}


@pytest.mark.django_db
@pytest.mark.embedded
@pytest.mark.parametrize(
    "bound", FIELDS, ids=[f"{each.method} {each.path} {each.field} {each.rule}" for each in FIELDS]
)
def test_one_past_the_limit_of_a_field_is_refused_by_name(bound: FieldBound) -> None:
    one_more = int(bound.limit) + 1
    unit: Any = {"maximum": 1, "maxLength": "x", "maxItems": [{}]}[bound.rule]
    past = unit * one_more
    path = fill(bound.path.removeprefix("/api/v1"))
    if bound.place == "query":
        answer = Callers()(bound.method, f"{path}?{bound.field}={past}")
    else:
        versioned = {"version": 1} if path.startswith(("/messages/", "/exchange/")) else {}
        answer = Callers()(bound.method, path, versioned | {bound.field: past})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), answer.content
    assert bound.field in answer.json()["data"]["fields"]

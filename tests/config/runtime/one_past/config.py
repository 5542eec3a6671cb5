"""Which test goes one past each bound of calls, sign-in and the pages."""

CONFIG = {
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
        "socket.query": "TestParseWatch::test_refuses_what_is_not_watched_and_what_is_too_much",
        "socket.rows": "TestParseWatch::test_refuses_what_is_not_watched_and_what_is_too_much",
    },
    "config/dashboard/live/test_broadcast.py": {"socket.time": "TestSlowSocket::test_is_cut_off_when_it_reads_no_more"},
    "config/common/web/limits/calls/test_answers.py": {
        "answer.rate": "TestLargeAnswers::test_of_one_caller_are_sent_at_its_rate_after_a_burst_and_nobody_else_waits",
        "correlation.id": "TestCorrelationId::test_makes_one_instead_of_a_wrong_one",
    },
    "config/common/web/limits/calls/test_places.py": {
        "calls": "TestShare::test_one_address_has_only_so_many_calls_under_way",
        "slots.static": "TestGate::test_refuses_one_call_too_many_under_its_path",
    },
    "config/common/web/limits/calls/test_bodies.py": {
        "body.bytes": "TestBodyLimit::test_each_path_has_the_limit_of_the_settings",
        "body.message": "TestBodyLimit::test_each_path_has_the_limit_of_the_settings",
        "body.prepare": "TestBodyLimit::test_each_path_has_the_limit_of_the_settings",
        "answer.time": "TestPatience::test_a_caller_that_stops_reading_counts_as_gone",
    },
    "config/common/web/limits/calls/test_refusals.py": {
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
    "config/audit/test_trace.py": {
        "trace.bytes": "TestReadTrace::test_says_whether_there_is_more",
    },
}

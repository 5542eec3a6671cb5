"""Which test goes one past each bound of workflows."""

WORKFLOWS = {
    "processes/workflows/admin/version_tree/test_layout.py": {
        "page.tree": "TestLayOut::test_of_a_long_line_the_newest_and_the_first_are_drawn",
        "page.branches": "TestLayOut::test_a_line_across_a_return_that_is_not_drawn_counts_what_it_passes",
    },
    "processes/workflows/engine/execution/limits/test_depth.py": {
        "file.nested": "TestNesting::test_one_deeper_is_refused_with_its_element_and_line",
        "instance.depth": "TestCalls::test_deeper_than_a_state_may_be_is_a_failure_of_the_command",
    },
    "processes/workflows/services/events/follower/test_chains.py": {
        "chain.hops": "TestEvents::test_one_that_begins_itself_ends_after_so_many_hops",
        "chain.starts": "TestEvents::test_one_that_begins_two_of_itself_is_held_by_its_rate",
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
        "file.loop": "TestLoops::test_without_an_end_are_refused",
        "file.names": "TestIds::test_more_than_200_characters_are_refused",
        "file.problems": "TestAllAtOnce::test_no_more_than_a_hundred",
    },
    "processes/workflows/engine/bpmn/test_extensions.py": {
        "file.fields": "TestForms::test_what_cannot_be_shown_is_refused",
        "file.choices": "TestForms::test_a_field_has_so_many_choices_and_not_one_more",
    },
    "processes/workflows/engine/test_patterns.py": {
        "file.pattern_states": "TestCompilePattern::test_so_many_states_are_taken_and_not_one_more",
        "file.matched": "TestMatchesWhole::test_a_longer_text_does_not_match",
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
        "dmn.nested": "TestFiles::test_logic_is_nested_so_deep_and_not_deeper",
        "dmn.results": "TestFiles::test_results_have_so_many_values_together",
        "dmn.decisions": "TestFiles::test_what_cannot_be_evaluated_is_refused",
        "feel.calls": "TestLogic::test_a_function_that_calls_itself_fails",
    },
    "processes/workflows/engine/feel/test_limits.py": {
        "feel.height": "test_a_malformed_text_says_what_is_wrong",
        "feel.digits": "test_a_malformed_text_says_what_is_wrong",
        "feel.power": "test_what_is_one_too_large_is_null",
        "feel.months": "test_what_is_one_too_large_is_null",
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
        "shadow.timers": "TestBounds::test_a_twin_fires_so_many_timers_of_its_own_before_an_input",
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
    "processes/workflows/engine/bpmn/test_vendor_forms.py": {
        "file.groups": "TestZeebe::test_so_many_groups_inside_one_another_are_read",
        "file.note": "TestZeebe::test_a_text_and_a_name_are_cut",
        "file.variable": "TestZeebe::test_a_text_and_a_name_are_cut",
    },
    "processes/workflows/engine/test_cron.py": {
        "file.cron": "TestParseCron::test_so_many_characters_are_taken_and_not_one_more",
    },
    "processes/workflows/engine/diagram/test_hostile.py": {
        "diagram.shapes": "TestAmounts::test_too_many_shapes_are_not_drawn",
        "diagram.edges": "TestAmounts::test_too_many_lines_are_not_drawn",
        "diagram.points": "TestAmounts::test_an_endless_line_is_cut_and_keeps_its_end",
        "diagram.coordinate": "TestNumbers::test_a_shape_at_no_place_is_left_out",
    },
    "processes/workflows/engine/diagram/test_decision_shapes.py": {
        "diagram.decisions": "TestLimits::test_a_graph_of_too_many_is_not_drawn",
        "diagram.links": "TestLimits::test_nor_is_one_of_too_many_lines",
    },
    "processes/workflows/api/test_shapes.py": {
        "variable.integer": "test_one_past_a_bound_of_variables_is_409",
    },
    "processes/workflows/admin/tasks/test_form.py": {
        "form.text": "TestLimits::test_so_much_is_taken_and_not_one_more",
        "form.number": "TestLimits::test_so_much_is_taken_and_not_one_more",
    },
    "processes/workflows/admin/decisions/test_table_editor.py": {
        "form.table": "TestEditTable::test_takes_so_many_characters_and_not_one_more",
    },
    "processes/workflows/admin/test_drafts.py": {
        "form.drawing": "TestSave::test_too_much_is_refused",
    },
    "processes/workflows/admin/test_values.py": {
        "form.variables": "TestEditableText::test_takes_so_much_and_not_a_character_more",
    },
}

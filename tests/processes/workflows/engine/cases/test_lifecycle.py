"""The life cycle of CMMN 1.1, as its tables have it: every state with every transition."""

import pytest

from processes.workflows.engine.cases.lifecycle import (
    ItemState,
    Transition,
    find_next_state,
    get_parent_exit,
)
from processes.workflows.engine.definition import NodeKind

# `before` is the state in which the item was when its parent was suspended; `.`: the transition cannot be made.
STAGES_AND_TASKS = """
                  available   enabled     disabled    active      suspended   completed   terminated  failed      closed
create            .           .           .           .           .           .           .           .           .
enable            enabled     .           .           .           .           .           .           .           .
start             active      .           .           .           .           .           .           .           .
manualStart       .           active      .           .           .           .           .           .           .
disable           .           disabled    .           .           .           .           .           .           .
reenable          .           .           enabled     .           .           .           .           .           .
suspend           .           .           .           suspended   .           .           .           .           .
resume            .           .           .           .           active      .           .           .           .
complete          .           .           .           completed   .           .           .           .           .
terminate         .           .           .           terminated  .           .           .           .           .
fault             .           .           .           failed      .           .           .           .           .
reactivate        .           .           .           .           .           .           .           active      .
exit              terminated  terminated  terminated  terminated  terminated  .           .           terminated  .
occur             .           .           .           .           .           .           .           .           .
parentSuspend     suspended   suspended   suspended   suspended   .           .           .           .           .
parentResume      .           .           .           .           before      .           .           .           .
parentTerminate   .           .           .           .           .           .           .           .           .
close             .           .           .           .           .           .           .           .           .
"""
MILESTONES_AND_LISTENERS = """
                  available   enabled     disabled    active      suspended   completed   terminated  failed      closed
create            .           .           .           .           .           .           .           .           .
enable            .           .           .           .           .           .           .           .           .
start             .           .           .           .           .           .           .           .           .
manualStart       .           .           .           .           .           .           .           .           .
disable           .           .           .           .           .           .           .           .           .
reenable          .           .           .           .           .           .           .           .           .
suspend           suspended   .           .           .           .           .           .           .           .
resume            .           .           .           .           available   .           .           .           .
complete          .           .           .           .           .           .           .           .           .
terminate         terminated  .           .           .           .           .           .           .           .
fault             .           .           .           .           .           .           .           .           .
reactivate        .           .           .           .           .           .           .           .           .
exit              .           .           .           .           .           .           .           .           .
occur             completed   .           .           .           .           .           .           .           .
parentSuspend     suspended   .           .           .           .           .           .           .           .
parentResume      .           .           .           .           before      .           .           .           .
parentTerminate   terminated  .           .           .           terminated  .           .           .           .
close             .           .           .           .           .           .           .           .           .
"""
# Beyond the standard a suspended case is resumed, as its items are, and can be ended without being resumed; `exit` is
# the way in which its exit criteria terminate it; with the case task that runs it, it stands still.
CASES = """
                  available   enabled     disabled    active      suspended   completed   terminated  failed      closed
create            .           .           .           .           .           .           .           .           .
enable            .           .           .           .           .           .           .           .           .
start             .           .           .           .           .           .           .           .           .
manualStart       .           .           .           .           .           .           .           .           .
disable           .           .           .           .           .           .           .           .           .
reenable          .           .           .           .           .           .           .           .           .
suspend           .           .           .           suspended   .           .           .           .           .
resume            .           .           .           .           active      .           .           .           .
complete          .           .           .           completed   .           .           .           .           .
terminate         .           .           .           terminated  terminated  .           .           .           .
fault             .           .           .           .           .           .           .           .           .
reactivate        .           .           .           .           active      active      active      .           .
exit              .           .           .           terminated  terminated  .           .           .           .
occur             .           .           .           .           .           .           .           .           .
parentSuspend     .           .           .           suspended   .           .           .           .           .
parentResume      .           .           .           .           before      .           .           .           .
parentTerminate   .           .           .           .           .           .           .           .           .
close             .           .           .           .           closed      closed      closed      .           .
"""
TABLES = {
    NodeKind.STAGE: STAGES_AND_TASKS,
    NodeKind.HUMAN_TASK: STAGES_AND_TASKS,
    NodeKind.PROCESS_TASK: STAGES_AND_TASKS,
    NodeKind.CASE_TASK: STAGES_AND_TASKS,
    NodeKind.MILESTONE: MILESTONES_AND_LISTENERS,
    NodeKind.TIMER_LISTENER: MILESTONES_AND_LISTENERS,
    NodeKind.USER_LISTENER: MILESTONES_AND_LISTENERS,
    NodeKind.CASE_PLAN: CASES,
}


def read_table(text: str) -> dict[tuple[str, str], str | None]:
    """Give where each transition leads from each state, None where it cannot be made."""
    head, *rows = (line.split() for line in text.strip().splitlines())
    return {
        (state, row[0]): None if leads == "." else leads
        for row in rows
        for state, leads in zip(head, row[1:], strict=True)
    }


class TestFindNextState:
    @pytest.mark.parametrize("kind", TABLES)
    def test_every_transition_leads_from_every_state_where_the_standard_says(self, kind: NodeKind) -> None:
        table = read_table(TABLES[kind])
        assert {(state, transition): find_next_state(kind, state, transition) for state, transition in table} == table

    @pytest.mark.parametrize("text", [STAGES_AND_TASKS, MILESTONES_AND_LISTENERS, CASES])
    def test_the_tables_leave_out_no_state_and_no_transition(self, text: str) -> None:
        assert set(read_table(text)) == {
            (state.value, transition.value) for state in ItemState for transition in Transition
        }


class TestGetParentExit:
    @pytest.mark.parametrize("kind", sorted(set(TABLES) - {NodeKind.CASE_PLAN}))
    def test_whatever_is_not_done_can_leave_with_its_parent(self, kind: NodeKind) -> None:
        table = read_table(TABLES[kind])
        lives = {state for (state, transition), to in table.items() if to is not None and transition != "close"}
        assert {table[state, get_parent_exit(kind).value] for state in lives} == {"terminated"}

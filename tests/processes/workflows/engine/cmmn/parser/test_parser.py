"""What is read of each element, whichever way it is written."""

import pytest

from processes.workflows.engine.case_plan import CriterionRole, ItemRule, OnPart, PlanItem
from processes.workflows.engine.definition import FormField, NodeKind, TimerDefinition, TimerKind, Trigger
from tests.processes.workflows.case_files import (
    case_task,
    human,
    listener,
    milestone,
    plan_item,
    process_task,
    read,
    sentry,
    stage,
    timer,
)


def item(key: str, *parts: str, files: str = "") -> PlanItem:
    return read(*parts, files=files).plan.items[key]


class TestPlan:
    def test_the_plan_model_is_an_item_of_the_case(self) -> None:
        definition = read(human("A"), auto=True, exit="A complete")
        node, root = definition.nodes["plan"], definition.plan.items["plan"]
        assert (node.kind, node.scope, root.auto_completes) == (NodeKind.CASE_PLAN, "case1", True)
        assert [(one.id, one.role) for one in root.criteria] == [("plan_exit1", CriterionRole.EXIT)]

    def test_stages_are_scopes_under_the_ids_of_their_plan_items(self) -> None:
        definition = read(stage("S", stage("T", human("A"), auto=True)), human("B"))
        assert {key: (scope.parent, scope.nodes) for key, scope in definition.scopes.items()} == {
            "case1": (None, ("plan",)),
            "plan": ("case1", ("S", "B")),
            "S": ("plan", ("T",)),
            "T": ("S", ("A",)),
        }
        assert [definition.plan.items[key].auto_completes for key in ("S", "T")] == [False, True]

    def test_an_item_may_be_defined_in_an_outer_stage_and_with_others(self) -> None:
        definition = read(human("A", name="Own"), stage("S", plan_item("B", definition_ref="A_def")))
        assert [(definition.nodes[key].kind, definition.nodes[key].name) for key in ("A", "B")] == [
            (NodeKind.HUMAN_TASK, "Own"),
            (NodeKind.HUMAN_TASK, ""),
        ]

    def test_what_defines_nothing_and_what_nobody_refers_to_is_left_out(self) -> None:
        unused = '<eventListener id="d" /><stage id="s"><planItem id="X" definitionRef="d" /></stage>'
        assert list(read(human("A"), unused, sentry("nobodys", "nowhere complete")).nodes) == ["plan", "A"]


class TestTasks:
    def test_a_human_task_waits_unless_it_is_said_not_to(self) -> None:
        assert [item("A", human("A", blocking=blocking)).is_blocking for blocking in (True, False)] == [True, False]

    @pytest.mark.parametrize(
        ("own", "defined", "names"),
        [("", "a, b", ["a", "b"]), ("c", "", ["c"]), ("c", "a, b", ["c"]), ("", "", [])],
    )
    def test_the_form_of_the_plan_item_goes_before_that_of_the_task(
        self, own: str, defined: str, names: list[str]
    ) -> None:
        inside = f'<extensionElements><postern:form value="{own}" /></extensionElements>' if own else ""
        node = read(human("A", form=defined, inside=inside)).nodes["A"]
        assert [field.name for field in node.form] == names

    def test_a_form_is_read_as_in_processes(self) -> None:
        assert read(human("A", form="amount:number*")).nodes["A"].form == (
            FormField("amount", "amount", "number", is_required=True),
        )

    @pytest.mark.parametrize(
        ("process", "roots", "called"),
        [
            ("pay", "", "pay"),
            ("ns:pay", "", "pay"),
            ("P", '<process id="P" name="pay" externalRef="other:pay_claim" />', "pay_claim"),
            ("ns:P", '<process id="P" name="pay" />', "pay"),
            ("P", '<process id="P" />', "P"),
            ("P", '<decision id="P" name="pay" />', "P"),
        ],
    )
    def test_a_process_task_names_its_process(self, process: str, roots: str, called: str) -> None:
        assert read(process_task("A", process), roots=roots).nodes["A"].called == called

    def test_a_case_task_names_its_case(self) -> None:
        assert read(case_task("A", "ns:other")).nodes["A"].called == "other"

    def test_an_expression_can_name_them(self) -> None:
        for part in (process_task("A", by="which"), case_task("A", by="${which}")):
            called_by = item("A", part).called_by
            assert called_by.evaluate({"which": "pay"}) == "pay"


class TestListeners:
    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            ("PT1H", TimerKind.DURATION),
            ("P1DT12H", TimerKind.DURATION),
            ("R3/PT10M", TimerKind.CYCLE),
            ("R/2030-01-01T00:00:00Z/P1D", TimerKind.CYCLE),
            ("2030-01-31T08:00:00Z", TimerKind.DATE),
            ("2030-01-31", TimerKind.DATE),
        ],
    )
    def test_a_literal_tells_its_kind_by_its_form(self, text: str, kind: TimerKind) -> None:
        event = read(timer("T", text)).nodes["T"].event
        assert (event.trigger, event.timer) == (Trigger.TIMER, TimerDefinition(kind, literal=text))

    def test_an_expression_gives_a_duration(self) -> None:
        event = read(timer("T", "${patience}")).nodes["T"].event
        assert (event.timer.kind, event.timer.expression.evaluate({"patience": 60})) == (TimerKind.DURATION, 60)

    @pytest.mark.parametrize(
        ("after", "part"),
        [("A complete", OnPart("A", "complete")), ("file x update", OnPart("x", "update", is_file=True))],
    )
    def test_a_trigger_starts_the_time(self, after: str, part: OnPart) -> None:
        (criterion,) = item("T", human("A"), timer("T", "PT1H", after=after), files="x").criteria
        assert (criterion.role, criterion.sentry.on) == (CriterionRole.TIMER, (part,))

    def test_a_user_event_listener_has_nothing_but_its_kind(self) -> None:
        definition = read(listener("L"))
        assert (definition.nodes["L"].kind, definition.plan.items["L"]) == (NodeKind.USER_LISTENER, PlanItem())


class TestRules:
    def test_absent_ones_are_absent(self) -> None:
        found = item("A", human("A"))
        assert (found.manual_activation, found.repetition, found.required) == (None, None, None)

    def test_one_without_a_condition_holds_always(self) -> None:
        found = item("A", human("A", manual=True, repeats=True, required=True))
        assert (found.manual_activation, found.repetition, found.required) == (ItemRule(), ItemRule(), ItemRule())

    @pytest.mark.parametrize("written", ["x &gt; 1", "<body>${x &gt; 1}</body>", "\n<![CDATA[= x > 1]]>\n"])
    def test_a_condition_is_read_in_whichever_wrapper(self, written: str) -> None:
        control = f"<itemControl><requiredRule><condition>{written}</condition></requiredRule></itemControl>"
        required = item("A", human("A", inside=control)).required
        assert [required.condition.evaluate({"x": value}) for value in (1, 2)] == [False, True]

    def test_those_of_the_definition_hold_where_the_item_says_nothing(self) -> None:
        control = (
            "<defaultControl><repetitionRule><condition>a</condition></repetitionRule><requiredRule /></defaultControl>"
        )
        task = f'<humanTask id="A_def">{control}</humanTask>'
        found = item("A", plan_item("A", task, repeats="b"))
        assert (found.repetition.condition.evaluate({"b": 1}), found.required) == (1, ItemRule())
        assert found.manual_activation is None


class TestCriteria:
    def test_those_of_entry_come_first(self) -> None:
        inside = '<exitCriterion id="out" sentryRef="s" /><entryCriterion id="in" sentryRef="s" />'
        found = item("B", human("A"), human("B", inside=inside), sentry("s", "A complete"))
        assert [(one.id, one.role) for one in found.criteria] == [
            ("in", CriterionRole.ENTRY),
            ("out", CriterionRole.EXIT),
        ]
        assert found.has_entry

    def test_attributes_refer_to_sentries_too(self) -> None:
        parts = sentry("s", "A complete") + sentry("t", "if x") + sentry("u", "A exit")
        written = human("B").replace("<planItem ", '<planItem entryCriteriaRefs="s t" exitCriteriaRefs="u" ')
        found = item("B", human("A"), written, parts)
        assert [(one.id, one.sentry.id, one.role) for one in found.criteria] == [
            ("s", "s", CriterionRole.ENTRY),
            ("t", "t", CriterionRole.ENTRY),
            ("u", "u", CriterionRole.EXIT),
        ]

    def test_a_criterion_without_an_id_has_that_of_its_sentry(self) -> None:
        found = item("B", human("A"), human("B", inside='<exitCriterion sentryRef="s" />'), sentry("s", "A exit"))
        assert [one.id for one in found.criteria] == ["s"]

    def test_a_stage_may_have_its_exit_in_its_definition(self) -> None:
        inner = human("A") + '<exitCriterion id="out" sentryRef="s" />' + sentry("s", "A complete")
        assert [(one.id, one.role) for one in item("S", stage("S", inner)).criteria] == [("out", CriterionRole.EXIT)]

    def test_a_sentry_is_shared_by_its_criteria(self) -> None:
        use = '<entryCriterion sentryRef="s" />'
        parts = (human("A"), human("B", inside=use), human("C", inside=use), sentry("s", "A complete"))
        items = read(*parts).plan.items
        assert items["B"].criteria[0].sentry is items["C"].criteria[0].sentry


class TestSentries:
    @pytest.mark.parametrize(
        ("written", "on"),
        [
            ("A complete", [OnPart("A", "complete")]),
            ("A complete, M occur", [OnPart("A", "complete"), OnPart("M", "occur")]),
            ("file f create", [OnPart("f", "create", is_file=True)]),
            ("file f.g delete", [OnPart("f.g", "delete", is_file=True)]),
            ("A exit by A_exit1", [OnPart("A", "exit", criterion="A_exit1")]),
            ("B complete", [OnPart("B", "complete")]),
        ],
    )
    def test_wait_for_their_on_parts(self, written: str, on: list[OnPart]) -> None:
        parts = (human("A", exit="M occur"), milestone("M"), human("B", entry=written))
        (criterion,) = read(*parts, files=["f", "f.g"]).plan.items["B"].criteria
        assert (list(criterion.sentry.on), criterion.sentry.condition) == (on, None)

    def test_have_a_condition(self) -> None:
        (criterion,) = item("A", human("A", entry="if x > 1")).criteria
        assert criterion.sentry.on == ()
        assert criterion.sentry.condition.evaluate({"x": 2}) is True

    def test_an_if_part_without_a_condition_says_nothing(self) -> None:
        part = '<planItemOnPart sourceRef="A"><standardEvent>complete</standardEvent></planItemOnPart>'
        written = f'<sentry id="s">{part}<ifPart><condition /></ifPart></sentry>'
        (criterion,) = item("B", human("A"), human("B", inside='<entryCriterion sentryRef="s" />'), written).criteria
        assert (len(criterion.sentry.on), criterion.sentry.condition) == (1, None)


class TestCaseFile:
    def test_items_are_the_variables_of_their_names_and_children_parts_of_them(self) -> None:
        plan = read(human("A"), files=["claim", "claim.letters", "claim.letters.first", "sum"]).plan
        assert plan.files == {
            "claim": ("claim",),
            "claim.letters": ("claim", "letters"),
            "claim.letters.first": ("claim", "letters", "first"),
            "sum": ("sum",),
        }


class TestOnParts:
    def test_is_found_by_source_and_event_in_the_order_of_the_plan(self) -> None:
        parts = (human("B", entry=["if x", "M occur, A complete"]), human("A"), milestone("M"))
        listening = read(*parts, human("C", exit="A complete")).plan.on_parts
        found = {heard: [(one.item, one.criterion, one.part) for one in all_] for heard, all_ in listening.items()}
        assert found == {("M", "occur"): [("B", 1, 0)], ("A", "complete"): [("B", 1, 1), ("C", 0, 0)]}

    @pytest.mark.parametrize(
        ("source", "common"),
        [("A", "plan"), ("T", "plan"), ("B", "S"), ("U", "S"), ("C", "U"), ("I", "U"), ("D", "plan")],
    )
    def test_tells_the_innermost_stage_in_which_both_lie(self, source: str, common: str) -> None:
        inner = stage("U", human("C"), human("I", entry=f"{source} complete", repeats=True))
        parts = (human("A"), stage("S", human("B"), inner), stage("T", human("D")))
        (listening,) = read(*parts).plan.on_parts[source, "complete"]
        assert listening.common == common

    def test_a_case_lies_around_its_plan_model_and_its_file_around_all(self) -> None:
        parts = (human("A"), stage("S", human("B", entry="file f update")))
        listening = read(*parts, files="f", exit="B complete").plan.on_parts
        assert [one.common for found in listening.values() for one in found] == ["case1", "plan"]

    def test_items_with_a_condition_are_known(self) -> None:
        parts = (human("A", entry="if x"), human("B", exit="A complete if y"), human("C", entry="A complete"))
        assert read(*parts, exit="if z").plan.items_with_conditions == {"plan", "A", "B"}

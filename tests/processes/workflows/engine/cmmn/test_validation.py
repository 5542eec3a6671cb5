"""What keeps a case from running, named by element and line. The body begins on line 4."""

import pytest

from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.problems import InvalidDefinition
from tests.processes.workflows.case_files import CMMN, case, human, milestone, process_task, stage
from tests.processes.workflows.engine.cmmn.source_files import SENTRY, item, list_problems, wrap

ROOT = f'<definitions xmlns="{CMMN}">'
PLAN = '<casePlanModel id="p"><planItem id="A" definitionRef="d" /><humanTask id="d" /></casePlanModel>'


class TestFile:
    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            (f"{ROOT}</definitions>", ("", 1, "The file has no case.")),
            (f'<case xmlns="{CMMN}" />', ("", 1, "The file is not CMMN 1.1: its root is not cmmn:definitions.")),
            (f'{ROOT}\n<case id="c" /></definitions>', ("c", 2, "A case has exactly one casePlanModel.")),
            (
                f'{ROOT}<case id="c">{PLAN}{PLAN}</case></definitions>',
                ("c", 1, "A case has exactly one casePlanModel."),
            ),
            (f"{ROOT}\n<case>{PLAN}</case></definitions>", ("", 2, "A case has no id.")),
            (
                f'{ROOT}<case id="a b">{PLAN}</case></definitions>',
                ("a b", 1, "“a b” cannot be the key of a definition."),
            ),
            (f'{ROOT}\n<case id="p">{PLAN}</case></definitions>', ("p", 2, "The id “p” is used twice.")),
            (
                f'{ROOT}<case id="c">\n<casePlanModel id="p" /></case></definitions>',
                ("p", 2, "The case plan model has no plan item."),
            ),
        ],
    )
    def test_has_one_case_with_a_plan(self, source: str, expected: tuple[str, int, str]) -> None:
        assert list_problems(source.encode()) == [expected]

    def test_of_two_cases_both_are_named(self) -> None:
        source = f'{ROOT}\n<case id="a">{PLAN}</case>\n<case id="b">{PLAN}</case></definitions>'
        assert [(element, line) for element, line, _ in list_problems(source.encode())] == [("a", 2), ("b", 3)]

    def test_all_problems_are_told_at_once(self) -> None:
        body = f'<planItem id="X" definitionRef="no" />\n<sentry />\n{human("B", entry="A occur")}'
        assert [line for _, line, _ in list_problems(wrap(body))] == [4, 5, 8]

    @pytest.mark.parametrize("version", ["20110101/MODEL", "20990101/MODEL"])
    def test_another_version_of_cmmn_is_told_what_to_do(self, version: str) -> None:
        source = case(human("A")).replace("20151109/MODEL", version).encode()
        with pytest.raises(InvalidDefinition, match="another version of CMMN: save it as CMMN"):
            parse_definition(source)


class TestElements:
    @pytest.mark.parametrize("name", ["task", "eventListener", "planFragment"])
    def test_what_cannot_run_is_refused_once(self, name: str) -> None:
        body = item(name) + f'<planItem id="Y" definitionRef="X_def" />{human("B", entry="X complete")}'
        assert list_problems(wrap(body)) == [("X_def", 5, f"Elements of the type “{name}” are not supported.")]

    def test_what_is_unknown_is_refused(self) -> None:
        assert list_problems(wrap('<humanTsk id="t" />')) == [
            ("t", 4, "Elements of the type “humanTsk” are not supported.")
        ]

    @pytest.mark.parametrize(
        "body",
        [
            '<planningTable id="t">\n<discretionaryItem id="D" definitionRef="A_def" /></planningTable>',
            '<planningTable><planningTable>\n<discretionaryItem id="D" /></planningTable></planningTable>',
            '<humanTask id="h"><planningTable>\n<discretionaryItem id="D" /></planningTable></humanTask>',
        ],
    )
    def test_discretionary_items_are_refused(self, body: str) -> None:
        assert list_problems(wrap(body)) == [("D", 5, "Discretionary items are not supported.")]

    @pytest.mark.parametrize(
        "body",
        [
            '<planningTable id="t" />',
            '<documentation id="A">x</documentation><textAnnotation id="n" /><association id="a" sourceRef="n" />',
            '<extensionElements><c:planItem id="A" /></extensionElements><c:planItem id="A" />',
        ],
    )
    def test_what_says_nothing_is_ignored(self, body: str) -> None:
        assert list_problems(wrap(body)) == []

    def test_an_extension_that_has_no_meaning_there_is_refused(self) -> None:
        expected = "The extension postern:form has no meaning here."
        assert list_problems(wrap(item("milestone", attributes='postern:form="a"'))) == [("X_def", 5, expected)]


class TestIds:
    @pytest.mark.parametrize(
        "body",
        [
            '\n<humanTask id="A" />',
            f'{SENTRY}\n<sentry id="s" />',
            '<planItem id="B" definitionRef="A_def"><entryCriterion id="A_def" sentryRef="s" />\n</planItem>',
            f'<planItem id="X" definitionRef="S" />\n<stage id="S">{human("A")}</stage>',
        ],
    )
    def test_two_of_the_same_are_refused(self, body: str) -> None:
        messages = [message for _, _, message in list_problems(wrap(body))]
        assert any("is used twice" in message for message in messages)

    def test_a_case_file_item_has_one_of_its_own(self) -> None:
        items = '<caseFileModel><caseFileItem id="A" name="x" /></caseFileModel>'
        assert list_problems(wrap("", case=items)) == [("A", 2, "The id “A” is used twice.")]

    @pytest.mark.parametrize("name", ["planItem", "sentry", "humanTask", "stage", "milestone"])
    def test_none_is_refused(self, name: str) -> None:
        assert list_problems(wrap(f"<{name} />")) == [("", 4, f"A {name} has no id.")]

    def test_more_than_200_characters_are_refused(self) -> None:
        long = "x" * 201
        assert list_problems(wrap(f'<sentry id="{long}" />')) == [
            (long[:200], 4, "The id has more than 200 characters.")
        ]
        expected = [("B_def", 5, "The name has more than 200 characters.")]
        assert list_problems(wrap(human("B").replace("<humanTask", f'<humanTask name="{long}"'))) == expected


class TestReferences:
    def test_a_plan_item_is_defined_by_an_element_of_the_case(self) -> None:
        expected = "definitionRef “{}” is not a task, stage, milestone or event listener of the case."
        for reference in ("nobody", "plan", "s"):
            body = f'<planItem id="X" definitionRef="{reference}" />{SENTRY}'
            assert list_problems(wrap(body)) == [("X", 4, expected.format(reference))]

    def test_a_plan_item_is_defined_in_its_own_stage_or_an_outer_one(self) -> None:
        body = stage("S", human("B")) + '<planItem id="X" definitionRef="B_def" />'
        expected = "“B_def” stands in another stage: a plan item is defined in its own or an outer one."
        assert [(element, message) for element, _, message in list_problems(wrap(body))] == [("X", expected)]

    @pytest.mark.parametrize(
        "body",
        [
            stage("S", human("B")) + '<planItem id="X" definitionRef="S_def" />',
            stage("S", '<planItem id="X" definitionRef="S_def" />'),
        ],
    )
    def test_a_stage_has_one_plan_item_and_does_not_lie_in_itself(self, body: str) -> None:
        expected = "The stage “S_def” already has a plan item: each needs a stage of its own."
        assert [(element, message) for element, _, message in list_problems(wrap(body))] == [("X", expected)]

    def test_a_criterion_refers_to_a_sentry(self) -> None:
        for reference in ("nobody", "A"):
            criterion = f'\n<entryCriterion id="e" sentryRef="{reference}" />'
            assert list_problems(wrap(item("humanTask", criterion))) == [("X", 5, f"There is no sentry “{reference}”.")]
        for role in ("entry", "exit"):
            for attribute in ("", 'sentryRef=""'):
                criterion = f'\n<{role}Criterion id="e" {attribute} />'
                expected = [("X", 5, f"{role}Criterion has no sentryRef.")]
                assert list_problems(wrap(item("humanTask", criterion))) == expected

    def test_what_a_plan_item_or_an_on_part_leaves_out_is_named(self) -> None:
        [(element, _, message)] = list_problems(wrap('<planItem id="X" />'))
        assert (element, message) == ("X", "A plan item has no definitionRef.")
        part = '<planItemOnPart id="o"><standardEvent>complete</standardEvent></planItemOnPart>'
        criterion = item("humanTask", '<entryCriterion id="e" sentryRef="s" />')
        [(element, _, message)] = list_problems(wrap(f'<sentry id="s">{part}</sentry>{criterion}'))
        assert (element, message) == ("s", "planItemOnPart has no sourceRef.")

    def test_what_has_a_name_is_called_by_it(self) -> None:
        body = human("B", entry="A occur")
        named = wrap(body).replace(b'<planItem id="A"', b'<planItem id="A" name="Ask the client"')
        [(_, _, message)] = list_problems(named)
        assert message == "The standard event “occur” of “Ask the client” can never happen."

    @pytest.mark.parametrize(
        ("part", "expected"),
        [
            ('<planItemOnPart sourceRef="no">', "sourceRef “no” is not a plan item of the case."),
            ('<planItemOnPart sourceRef="A_def">', "sourceRef “A_def” is not a plan item of the case."),
            ('<planItemOnPart sourceRef="plan">', "sourceRef “plan” is not a plan item of the case."),
            ('<planItemOnPart sourceRef="f">', "sourceRef “f” is not a plan item of the case."),
            ('<planItemOnPart sourceRef="U">', "sourceRef “U” is not a plan item of the case."),
            ("<planItemOnPart>", "planItemOnPart has no sourceRef."),
            ('<caseFileItemOnPart sourceRef="A">', "sourceRef “A” is not a case file item of the case."),
            ('<caseFileItemOnPart sourceRef="no">', "sourceRef “no” is not a case file item of the case."),
        ],
    )
    def test_an_on_part_refers_to_what_there_is(self, part: str, expected: str) -> None:
        name = part[1:].rstrip(">").split()[0]
        written = f'<sentry id="s">\n{part}<standardEvent>create</standardEvent></{name}></sentry>'
        unused = f'<stage id="unused">{human("U")}</stage>'
        items = '<caseFileModel><caseFileItem id="f" /></caseFileModel>'
        found = list_problems(
            wrap(written + item("humanTask", '<entryCriterion sentryRef="s" />') + unused, case=items)
        )
        assert found == [("s", 5, expected)]

    def test_what_is_refused_already_is_not_told_again(self) -> None:
        body = f'<planItem id="X" definitionRef="no" />\n{human("B", entry="X complete")}'
        assert [element for element, _, _ in list_problems(wrap(body))] == ["X"]


class TestSentries:
    @pytest.mark.parametrize("inside", ["", "<ifPart />", "<ifPart><condition> </condition></ifPart>"])
    def test_one_that_waits_for_nothing_is_refused(self, inside: str) -> None:
        written = f'<sentry id="s">{inside}</sentry>'
        found = list_problems(wrap(written + item("humanTask", '<entryCriterion sentryRef="s" />')))
        assert found == [("s", 4, "A sentry has an on-part, or an if-part with a condition.")]

    def test_two_if_parts_are_refused(self) -> None:
        parts = "<ifPart><condition>x</condition></ifPart>\n" * 2
        body = f'<sentry id="s">{parts}</sentry>' + item("humanTask", '<entryCriterion sentryRef="s" />')
        assert list_problems(wrap(body)) == [("s", 5, "A sentry has at most one if-part.")]

    def test_a_condition_that_is_none_is_told_once(self) -> None:
        found = list_problems(
            wrap(human("B", entry="if 1 +") + human("C", inside='<exitCriterion sentryRef="B_entry1_sentry" />'))
        )
        assert [(element, line) for element, line, _ in found] == [("B_entry1_sentry", 6)]
        assert found[0][2].startswith("The expression “1 +” cannot be read")

    def test_nobody_minds_one_that_nobody_uses(self) -> None:
        assert list_problems(wrap('<sentry id="s"><planItemOnPart sourceRef="no" /></sentry>')) == []


class TestExitCriterionRef:
    @pytest.mark.parametrize(
        ("part", "expected"),
        [
            ("A exit by A_exit1", None),
            ("A exit by A_exit2", "“A_exit2” is not an exit criterion of “A”."),
            ("A exit by A_entry1", "“A_entry1” is not an exit criterion of “A”."),
            ("A exit by C_exit1", "“C_exit1” is not an exit criterion of “A”."),
            ("A complete by A_exit1", "exitCriterionRef is allowed only with the standard event exit."),
        ],
    )
    def test_belongs_to_the_source(self, part: str, expected: str | None) -> None:
        parts = human("A", entry="if x", exit="if y") + human("C", exit="if z") + human("B", entry=part)
        found = [(element, message) for element, _, message in list_problems(case(parts).encode())]
        assert found == ([("B_entry1_sentry", expected)] if expected else [])


class TestCriteria:
    @pytest.mark.parametrize("name", ["userEventListener", "timerEventListener"])
    @pytest.mark.parametrize("role", ["entry", "exit"])
    def test_a_listener_has_none(self, name: str, role: str) -> None:
        body = item(name, f'<{role}Criterion sentryRef="s" />') + SENTRY
        assert list_problems(wrap(body)) == [("X", 4, "An event listener has no criteria.")]

    def test_a_milestone_has_none_of_exit(self) -> None:
        assert list_problems(wrap(milestone("M", exit="A complete"))) == [
            ("M", 4, "A milestone has no exit criterion.")
        ]

    @pytest.mark.parametrize("model", ["", 'entryCriteriaRefs="s"'])
    def test_a_plan_model_has_none_of_entry(self, model: str) -> None:
        body = SENTRY + ("" if model else '<entryCriterion sentryRef="s" />')
        expected = "Only plan items have entry criteria; a case plan model has none."
        assert list_problems(wrap(body, model=model)) == [("plan", 3, expected)]


class TestRules:
    @pytest.mark.parametrize("name", ["userEventListener", "timerEventListener"])
    @pytest.mark.parametrize("rule", ["repetitionRule", "manualActivationRule", "requiredRule"])
    def test_a_listener_has_none(self, name: str, rule: str) -> None:
        assert list_problems(wrap(item(name, control=f"<{rule} />"))) == [("X", 4, "An event listener has no rules.")]

    def test_a_plan_model_has_none(self) -> None:
        control = "<defaultControl><requiredRule /></defaultControl>"
        assert list_problems(wrap(control)) == [("plan", 3, "A case plan model has no rules.")]

    def test_a_milestone_is_not_activated_by_hand(self) -> None:
        expected = [("M", 4, "A milestone is not activated by hand.")]
        assert list_problems(wrap(milestone("M", manual="x", entry="A complete"))) == expected

    def test_a_milestone_repeats_by_its_entry_criterion_alone(self) -> None:
        expected = [("M", 4, "A milestone that repeats needs an entry criterion.")]
        assert list_problems(wrap(milestone("M", repeats=True))) == expected
        assert list_problems(wrap(milestone("M", repeats=True, required=True, entry="A complete"))) == []

    def test_a_condition_that_is_none_names_the_plan_item(self) -> None:
        assert [(element, line) for element, line, _ in list_problems(wrap(human("B", required="1 +")))] == [("B", 4)]


class TestTasks:
    @pytest.mark.parametrize("what", ["process", "case"])
    @pytest.mark.parametrize(
        ("attributes", "inside", "expected"),
        [
            ("", "", "No {0} is named: {0}Ref or {0}RefExpression."),
            ("", "<{0}RefExpression />", "No {0} is named: {0}Ref or {0}RefExpression."),
            ('{0}Ref="${{x}}"', "", "“${{x}}” cannot be the key of a definition."),
            ('{0}Ref="http://a/b"', "", "“//a/b” cannot be the key of a definition."),
            (
                '{0}Ref="x"',
                "<{0}RefExpression>x</{0}RefExpression>",
                "The {0} is named twice: by {0}Ref and by {0}RefExpression.",
            ),
            (
                '{0}Ref="x" isBlocking="false"',
                "",
                "Process and case tasks that are not blocking are not supported.",
            ),
            (
                '{0}Ref="x"',
                "<parameterMapping />",
                "Parameter mappings are not supported: the called definition gets all visible variables.",
            ),
        ],
    )
    def test_name_what_they_run(self, what: str, attributes: str, inside: str, expected: str) -> None:
        written = f'<{what}Task id="X_def" {attributes.format(what)}>{inside.format(what)}</{what}Task>'
        found = list_problems(wrap(f'<planItem id="X" definitionRef="X_def" />\n{written}'))
        assert found == [("X_def", 5, expected.format(what))]

    def test_a_process_whose_name_is_no_key_is_refused(self) -> None:
        roots = '<process id="P" name="Pay the claim" />'
        expected = "“Pay the claim” cannot be the key of a definition."
        found = list_problems(case(process_task("A", "P"), roots=roots).encode())
        assert [(element, message) for element, _, message in found] == [("A_def", expected)]

    def test_a_form_that_is_none_names_the_task(self) -> None:
        found = list_problems(wrap(human("B", form="a:colour")))
        assert [(element, line) for element, line, _ in found] == [("B_def", 5)]


class TestTimers:
    @pytest.mark.parametrize("text", ["PT1X", "R0/PT1H", "R3", "2030-13-01", "P99999Y", "1 +", "-P1D"])
    def test_what_cannot_be_read_is_refused(self, text: str) -> None:
        found = list_problems(wrap(item("timerEventListener").replace("PT1H", f"\n{text}")))
        assert [(element, line) for element, line, _ in found] == [("X_def", 5)]

    @pytest.mark.parametrize("written", ["", "<timerExpression><body /></timerExpression>"])
    def test_a_timer_has_an_expression(self, written: str) -> None:
        body = item("timerEventListener").replace("<timerExpression>PT1H</timerExpression>", written)
        assert list_problems(wrap(body)) == [("X_def", 5, "A timer event listener has a timerExpression.")]

    @pytest.mark.parametrize(
        ("triggers", "line", "expected"),
        [
            (
                '<planItemStartTrigger sourceRef="no"><standardEvent>create</standardEvent></planItemStartTrigger>',
                6,
                "sourceRef “no” is not a plan item of the case.",
            ),
            ('<caseFileItemStartTrigger sourceRef="A" />', 6, "caseFileItemStartTrigger has no standardEvent."),
            (
                '<planItemStartTrigger sourceRef="A">\n<standardEvent>start</standardEvent></planItemStartTrigger>' * 2,
                7,
                "A timer event listener has at most one start trigger.",
            ),
        ],
    )
    def test_a_trigger_is_one_event_that_can_happen(self, triggers: str, line: int, expected: str) -> None:
        body = item("timerEventListener").replace("<timerExpression>", f"\n{triggers}<timerExpression>")
        assert list_problems(wrap(body)) == [("X_def", line, expected)]


class TestCaseFile:
    @pytest.mark.parametrize("name", ["Customer claim", "true", "1st", "x" * 101])
    def test_an_item_is_a_variable(self, name: str) -> None:
        items = f'\n<caseFileModel><caseFileItem id="f" name="{name}" /></caseFileModel>'
        assert [(element, line) for element, line, _ in list_problems(wrap("", case=items))] == [("f", 3)]

    def test_without_a_name_it_is_that_of_its_id(self) -> None:
        assert list_problems(wrap("", case='<caseFileModel><caseFileItem id="f" /></caseFileModel>')) == []
        found = list_problems(wrap("", case='<caseFileModel><caseFileItem id="f-1" /></caseFileModel>'))
        assert found == [("f-1", 2, "“f-1” cannot be the name of a variable.")]

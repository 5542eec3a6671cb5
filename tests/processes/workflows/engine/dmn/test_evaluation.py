"""Files with several decisions, functions and other logic than tables."""

import pytest

from processes.workflows.engine.dmn import evaluation
from processes.workflows.engine.dmn.evaluation import EvaluationFailed
from processes.workflows.engine.dmn.logic import MAX_NESTED
from processes.workflows.engine.dmn.parser import DMN
from processes.workflows.engine.parser import parse_file
from processes.workflows.engine.problems import InvalidDefinition
from tests.processes.workflows.decision_files import decision, dmn, literal, table
from tests.processes.workflows.engine.dmn.evaluate import decide

SEASON = decision("season", table(["month"], ["season"], [["[6..8]", '"summer"'], ["not([6..8])", '"other"']]))
DISH = decision(
    "dish", table(["season"], ["dish"], [['"summer"', '"salad"'], ["-", '"stew"']], hit="F"), needs=["season"]
)
BILL = (
    '<businessKnowledgeModel id="tax" name="with tax"><encapsulatedLogic><formalParameter name="net"/>'
    f"{literal('net * 1.2')}</encapsulatedLogic></businessKnowledgeModel>"
)


class TestRequirements:
    def test_what_is_required_is_evaluated_first(self) -> None:
        found = decide(dmn(DISH, SEASON), month=7)
        assert (found.result, [each.id for each in found.decisions]) == ("salad", ["season", "dish"])

    def test_each_decision_is_a_definition_the_one_nobody_needs_first(self) -> None:
        assert [each.key for each in parse_file(dmn(SEASON, DISH)).definitions] == ["dish", "season"]

    def test_a_result_is_found_by_the_name_of_its_variable(self) -> None:
        first = decision("a", literal("2 + 3"), variable="Base Rate")
        second = decision("b", literal("Base Rate * 2"), needs=["a"])
        assert decide(dmn(first, second), "b").result == 10

    def test_a_result_comes_before_a_variable_of_that_name(self) -> None:
        source = dmn(decision("a", literal("1")), decision("b", literal("a + 1"), needs=["a"]))
        assert decide(source, "b", a=100).result == 2

    def test_one_that_requires_itself_is_refused(self) -> None:
        source = dmn(decision("a", literal("1"), needs=["b"]), decision("b", literal("1"), needs=["a"]))
        with pytest.raises(InvalidDefinition) as caught:
            parse_file(source)
        assert "requires itself" in caught.value.problems[0].message

    def test_one_that_requires_what_is_not_there_is_refused(self) -> None:
        with pytest.raises(InvalidDefinition) as caught:
            parse_file(dmn(decision("a", literal("1"), needs=["b"])))
        assert "requires the decision “b”" in caught.value.problems[0].message

    def test_what_two_require_is_evaluated_once(self) -> None:
        parts = [decision("a", literal("1")), decision("b", literal("a"), needs=["a"])]
        parts += [decision("c", literal("a"), needs=["a"]), decision("d", literal("b + c"), needs=["b", "c"])]
        found = decide(dmn(*parts), "d")
        assert (found.result, [each.id for each in found.decisions]) == (2, ["a", "b", "c", "d"])


class TestLogic:
    def test_a_business_knowledge_model_is_a_function(self) -> None:
        assert decide(dmn(BILL, decision("d", literal("with tax(price)"))), price=10).result == 12

    def test_an_invocation_binds_its_parameters(self) -> None:
        binding = f"<binding><parameter name='net'/>{literal('price')}</binding>"
        invoked = f"<invocation>{literal('with tax')}{binding}</invocation>"
        assert decide(dmn(BILL, decision("d", invoked)), price=10).result == 12

    def test_a_function_that_calls_itself_fails(self) -> None:
        source = dmn(BILL.replace("net * 1.2", "with tax(net)"), decision("d", literal("with tax(1)")))
        with pytest.raises(EvaluationFailed) as caught:
            decide(source)
        assert "call one another" in caught.value.reason

    def test_a_context_gives_its_entries_or_its_last_one(self) -> None:
        entry = f"<contextEntry><variable name='a'/>{literal('2')}</contextEntry>"
        last = f"<contextEntry>{literal('a + 1')}</contextEntry>"
        assert decide(dmn(decision("d", f"<context>{entry}</context>"))).result == {"a": 2}
        assert decide(dmn(decision("d", f"<context>{entry}{last}</context>"))).result == 3

    def test_lists_and_relations(self) -> None:
        row = f"<relation><column name='a'/><column name='b'/><row>{literal('1')}{literal('x')}</row></relation>"
        assert decide(dmn(decision("d", row)), x=2).result == [{"a": 1, "b": 2}]
        assert decide(dmn(decision("d", f"<list>{literal('1')}{literal('x')}</list>")), x=2).result == [1, 2]


class TestFiles:
    @pytest.mark.parametrize("space", DMN)
    def test_every_version_of_the_standard_is_read(self, space: str) -> None:
        assert decide(dmn(decision("d", literal("1")), space=space)).result == 1

    @pytest.mark.parametrize(
        ("parts", "message"),
        [
            ((), "no decision"),
            (('<decision id="d"/>',), "no decision"),
            (("<import/>", decision("d", literal("1"))), "imports others"),
            ((decision("d", literal("1")), decision("d", literal("2"))), "used twice"),
            ((decision("a b", literal("1")),), "cannot be the key"),
            ((*(decision(f"d{at}", literal("1")) for at in range(201)),), "at most 200 decisions"),
        ],
    )
    def test_what_cannot_be_evaluated_is_refused(self, parts: tuple[str, ...], message: str) -> None:
        with pytest.raises(InvalidDefinition) as caught:
            parse_file(dmn(*parts))
        assert message in str(caught.value)

    def test_logic_is_nested_so_deep_and_not_deeper(self) -> None:
        def nested(depth: int) -> bytes:
            return dmn(decision("d", "<list>" * depth + literal("1") + "</list>" * depth))

        parse_file(nested(MAX_NESTED))
        with pytest.raises(InvalidDefinition, match=f"nested at most {MAX_NESTED} deep"):
            parse_file(nested(MAX_NESTED + 1))

    def test_results_have_so_many_values_together(self, monkeypatch: pytest.MonkeyPatch) -> None:
        source = dmn(decision("d", literal("for i in 1..50 return i")))
        assert len(decide(source).result) == 50
        monkeypatch.setattr(evaluation, "MAX_RESULT_STEPS", 50)
        with pytest.raises(EvaluationFailed):
            decide(source)

    def test_a_name_may_have_signs_in_it(self) -> None:
        source = dmn('<inputData id="i" name="Profit/Loss"/>', decision("d", literal("Profit/Loss + 1")))
        assert decide(source, **{"Profit/Loss": 1}).result == 2


class TestFunctionsAsValues:
    def test_an_entry_of_a_context_is_called_by_those_behind_it(self) -> None:
        function = (
            '<contextEntry><variable name="double"/><functionDefinition><formalParameter name="x"/>'
            f"{literal('x * 2')}</functionDefinition></contextEntry>"
        )
        written = f'<contextEntry><variable name="plus"/>{literal("function(x) x + 1")}</contextEntry>'
        result = f"<contextEntry>{literal('double(plus(3))')}</contextEntry>"
        assert decide(dmn(decision("d", f"<context>{function}{written}{result}</context>"))).result == 8

    def test_a_business_knowledge_model_sorts(self) -> None:
        model = (
            '<businessKnowledgeModel id="b" name="earlier"><encapsulatedLogic><formalParameter name="x"/>'
            f'<formalParameter name="y"/>{literal("x.day < y.day")}</encapsulatedLogic></businessKnowledgeModel>'
        )
        found = decide(dmn(model, decision("d", literal("sort(list, earlier).day"))), list=[{"day": 2}, {"day": 1}])
        assert found.result == [1, 2]

    def test_one_of_another_language_is_refused(self) -> None:
        function = f'<functionDefinition kind="Java">{literal("1")}</functionDefinition>'
        with pytest.raises(InvalidDefinition, match="other languages"):
            parse_file(dmn(decision("d", f"<context><contextEntry>{function}</contextEntry></context>")))


class TestBoxedLogic:
    """Of DMN 1.4."""

    def test_a_conditional(self) -> None:
        parts = f"<if>{literal('x > 1')}</if><then>{literal('1')}</then><else>{literal('2')}</else>"
        source = dmn(decision("d", f"<conditional>{parts}</conditional>"))
        assert (decide(source, x=5).result, decide(source, x=0).result) == (1, 2)

    @pytest.mark.parametrize(
        ("logic", "expected"),
        [
            ('<for iteratorVariable="i"><in>{list}</in><return>{twice}</return></for>', [2, 4, 6]),
            ('<some iteratorVariable="i"><in>{list}</in><satisfies>{large}</satisfies></some>', True),
            ('<every iteratorVariable="i"><in>{list}</in><satisfies>{large}</satisfies></every>', False),
            ("<filter><in>{list}</in><match>{kept}</match></filter>", [3]),
        ],
    )
    def test_iterations(self, logic: str, expected: object) -> None:
        parts = {
            "list": literal("[1, 2, 3]"),
            "twice": literal("i * 2"),
            "large": literal("i > 2"),
            "kept": literal("item > 2"),
        }
        assert decide(dmn(decision("d", logic.format(**parts)))).result == expected

    def test_one_without_its_parts_is_refused(self) -> None:
        with pytest.raises(InvalidDefinition, match="has no then"):
            parse_file(dmn(decision("d", f"<conditional><if>{literal('true')}</if></conditional>")))


class TestFilesOfOtherTools:
    @pytest.mark.parametrize("space", DMN)
    def test_of_each_namespace_are_read(self, space: str) -> None:
        source = f'<definitions xmlns="{space}" id="f" name="f">{decision("d", literal("1 + 1"))}</definitions>'
        assert decide(source.encode()).result == 2

    def test_a_decision_without_logic_is_given_from_outside(self) -> None:
        source = dmn('<decision id="score" name="score"/>', decision("d", literal("score + 1"), needs=["score"]))
        assert decide(source, score=4).result == 5
        assert ("score", "decision") in [(entry.element, entry.what) for entry in parse_file(source).report.drawn]

    def test_a_function_without_logic_is_only_drawn(self) -> None:
        source = dmn('<businessKnowledgeModel id="b" name="f"/>', decision("d", literal("1")))
        report = parse_file(source).report
        assert [entry.element for entry in report.drawn] == ["b"]
        assert [(entry.element, entry.what) for entry in report.runs] == [("d", "decision")]

    def test_what_belongs_to_another_engine_is_listed(self) -> None:
        source = dmn(
            decision("d", literal("1")).replace("<decision ", '<decision c:historyTimeToLive="1" ', 1)
        ).replace(b"<definitions ", b'<definitions xmlns:c="http://camunda.org/schema/1.0/dmn" ', 1)
        assert [entry.why for entry in parse_file(source).report.drawn] == [
            "It belongs to another engine and has no effect here."
        ]

    @pytest.mark.parametrize(
        ("entry", "given", "expected"),
        [
            ('${collection:contains(list, \'"a","b"\')}', ["a", "b", "c"], "hit"),
            ('${collection:contains(list, \'"a","b"\')}', ["a"], None),
            ('${collection:containsAny(list, \'"a","b"\')}', ["a"], "hit"),
            ("${collection:notContains(list, '\"a\"')}", ["b"], "hit"),
            ("${collection:contains('10,20', list)}", 10, "hit"),
            ("${collection:notAllOf(list, '1,2')}", [1, 2], None),
        ],
    )
    def test_collections_of_flowable(self, entry: str, given: object, expected: str | None) -> None:
        source = dmn(decision("d", table(["list"], ["r"], [[entry, '"hit"']], hit="F")))
        assert decide(source, list=given).result == expected

    def test_an_import_of_types_is_no_reason_to_refuse(self) -> None:
        types = '<import importType="http://www.w3.org/2001/XMLSchema" namespace="x" locationURI="x.xsd"/>'
        assert decide(dmn(types, decision("d", literal("1")))).result == 1

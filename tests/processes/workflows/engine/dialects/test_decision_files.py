"""DMN files as other tools write them: ids that are missing, decisions and functions in other languages, tags."""

import pytest

from processes.workflows.engine.parser import ParsedFile, parse_file
from processes.workflows.engine.problems import InvalidDefinition
from tests.processes.workflows.decision_files import decision, dmn, literal
from tests.processes.workflows.engine.dmn.evaluate import decide

CODE = literal("x").replace("<literalExpression", '<literalExpression expressionLanguage="groovy"')


def drawn(found: ParsedFile) -> list[tuple[str, str]]:
    return [(entry.element, entry.why.split(":")[0]) for entry in found.report.drawn]


class TestIds:
    def test_come_from_the_names_and_stay(self) -> None:
        one = f'<decision name="How much">{literal("1")}</decision>'
        two = f'<decision name="How much">{literal("2")}</decision>'
        found = parse_file(dmn(one, two, f"<decision>{literal('3')}</decision>"))
        assert [each.key for each in found.definitions] == ["How-much", "How-much-2", "decision-3"]
        assert [(entry.what, entry.after) for entry in found.report.translated] == [
            ("id", "How-much"),
            ("id", "How-much-2"),
            ("id", "decision-3"),
        ]


class TestCode:
    @pytest.mark.parametrize(
        "logic",
        [
            CODE,
            "<decisionTable><output/><rule><outputEntry expressionLanguage='javascript'><text>1</text></outputEntry>"
            "</rule></decisionTable>",
            "<context><contextEntry><functionDefinition kind='Java'/></contextEntry></context>",
        ],
    )
    def test_a_decision_in_code_is_drawn_and_its_result_given_from_outside(self, logic: str) -> None:
        needs = '<informationRequirement><requiredDecision href="#c"/></informationRequirement>'
        source = dmn(f'<decision id="c" name="c">{logic}</decision>', decision("d", needs + literal("c + 1")))
        found = parse_file(source)
        assert [each.key for each in found.definitions] == ["d"]
        assert ("c", "It is code, and nothing of a file runs as code here") in drawn(found)
        assert decide(source, c=1).result == 2

    def test_a_file_of_nothing_else_is_refused(self) -> None:
        with pytest.raises(InvalidDefinition, match="not in “groovy”"):
            parse_file(dmn(decision("d", CODE)))

    def test_a_function_in_java_is_not_called(self) -> None:
        java = (
            '<businessKnowledgeModel id="b" name="f"><encapsulatedLogic kind="Java"><formalParameter name="x"/>'
            f"{literal('x')}</encapsulatedLogic></businessKnowledgeModel>"
        )
        found = parse_file(dmn(java, decision("d", literal("1"))))
        assert ("b", "It is code, and nothing of a file runs as code here") in drawn(found)
        with pytest.raises(InvalidDefinition, match="no function “f”"):
            parse_file(dmn(java, decision("d", literal("f(1)"))))

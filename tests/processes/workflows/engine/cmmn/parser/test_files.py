"""A file as Camunda Modeler and cmmn.io write it."""

from processes.workflows.engine.case_plan import Criterion, CriterionRole
from processes.workflows.engine.definition import NodeKind, ScopeDefinition
from processes.workflows.engine.parser import parse_definition
from tests.processes.workflows.engine.cmmn.source_files import FILES, load

CLAIM = {"claim": {"amount": 500, "doubts": 1}}


class TestCamundaModeler:
    def test_plan_items_are_nodes_in_the_scopes_of_their_stages(self) -> None:
        definition = load("camunda_modeler")
        assert (definition.key, definition.name, definition.kind) == ("Claim_case", "Settle a claim", "cmmn")
        outer = tuple(f"PlanItem_{name}" for name in ("register", "check", "payment", "withdraw", "late"))
        assert list(definition.scopes.values()) == [
            ScopeDefinition("Claim_case", None, ("CasePlanModel_1",)),
            ScopeDefinition("CasePlanModel_1", "Claim_case", outer),
            ScopeDefinition("PlanItem_payment", "CasePlanModel_1", ("PlanItem_pay", "PlanItem_paid")),
        ]

    def test_each_is_of_the_kind_of_what_defines_it_and_has_its_name(self) -> None:
        nodes = load("camunda_modeler").nodes
        assert [(node.kind, node.name) for node in nodes.values()] == [
            (NodeKind.CASE_PLAN, "Settle a claim"),
            (NodeKind.HUMAN_TASK, "Register the claim"),
            (NodeKind.HUMAN_TASK, "Check by hand"),
            (NodeKind.STAGE, "Payment"),
            (NodeKind.PROCESS_TASK, "Pay"),
            (NodeKind.MILESTONE, "Paid"),
            (NodeKind.USER_LISTENER, "Withdrawn"),
            (NodeKind.TIMER_LISTENER, "Late"),
        ]
        assert (nodes["PlanItem_pay"].called, nodes["PlanItem_pay"].line) == ("pay_claim", 72)

    def test_criteria_and_rules_are_those_of_the_file(self) -> None:
        item = load("camunda_modeler").plan.items["PlanItem_check"]
        assert [describe(criterion) for criterion in item.criteria] == [
            ("EntryCriterion_1", CriterionRole.ENTRY, [("PlanItem_register", "complete")], True),
            ("EntryCriterion_2", CriterionRole.ENTRY, [("CaseFileItem_letters", "update")], None),
            ("ExitCriterion_1", CriterionRole.EXIT, [("PlanItem_withdraw", "occur")], None),
        ]
        rules = (item.repetition, item.manual_activation)
        assert [rule.condition.evaluate(CLAIM) for rule in rules] == [True, False]
        assert item.required.condition is None

    def test_the_plan_knows_who_hears_what(self) -> None:
        plan = load("camunda_modeler").plan
        heard = {heard: [(one.item, one.common) for one in found] for heard, found in plan.on_parts.items()}
        assert heard == {
            ("PlanItem_register", "complete"): [
                ("PlanItem_check", "CasePlanModel_1"),
                ("PlanItem_late", "CasePlanModel_1"),
            ],
            ("CaseFileItem_letters", "update"): [("PlanItem_check", "CasePlanModel_1")],
            ("PlanItem_withdraw", "occur"): [("PlanItem_check", "CasePlanModel_1")],
            ("PlanItem_check", "complete"): [("PlanItem_payment", "CasePlanModel_1")],
            ("PlanItem_pay", "complete"): [("PlanItem_paid", "PlanItem_payment")],
            ("PlanItem_paid", "occur"): [("CasePlanModel_1", "Claim_case")],
        }
        assert plan.items_with_conditions == {"PlanItem_check"}
        assert plan.files == {"CaseFileItem_claim": ("claim",), "CaseFileItem_letters": ("claim", "letters")}

    def test_is_told_by_its_namespace(self) -> None:
        source = (FILES / "camunda_modeler.cmmn").read_bytes()
        assert parse_definition(source).plan.root == "CasePlanModel_1"


def describe(criterion: Criterion) -> tuple[str, CriterionRole, list[tuple[str, str]], object]:
    sentry = criterion.sentry
    holds = sentry.condition.evaluate(CLAIM) if sentry.condition is not None else None
    return criterion.id, criterion.role, [(part.source, part.event) for part in sentry.on], holds

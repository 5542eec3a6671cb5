"""Parse a CMMN 1.1 file into the definition of its one case."""

from processes.workflows.engine.bpmn.file import Subject, is_key, quote
from processes.workflows.engine.bpmn.nodes import read_name
from processes.workflows.engine.bpmn.revisions import read_version_tag
from processes.workflows.engine.bpmn.xml import XmlElement, parse_xml
from processes.workflows.engine.case_plan import CasePlan
from processes.workflows.engine.cmmn.file import CMMN, read_file
from processes.workflows.engine.cmmn.outline import CaseOutline, outline_case, read_case_file
from processes.workflows.engine.cmmn.plan_items import index_on_parts, read_plan_items
from processes.workflows.engine.cmmn.sentries import SentryReader
from processes.workflows.engine.cmmn.validation import validate_case
from processes.workflows.engine.definition import Definition
from processes.workflows.engine.problems import InvalidDefinition, Problem


def parse_cmmn(source: bytes) -> Definition:
    """Parse a file; InvalidDefinition lists everything that keeps it from running."""
    return parse_cmmn_root(parse_xml(source))


def parse_cmmn_root(root: XmlElement) -> Definition:
    if root.space != CMMN or root.name != "definitions":
        raise InvalidDefinition(
            (Problem("", root.line, "The file is not CMMN 1.1: its root is not cmmn:definitions."),)
        )
    case = _choose_case(root)
    model = _choose_model(case)
    file = read_file(root)
    if case.id and not is_key(case.id):
        Subject(case, file).refuse(f"{quote(case.id)} cannot be the key of a definition.")
    if model.find("planItem") is None:
        Subject(model, file).refuse("The case plan model has no plan item.")
    outline = outline_case(case, model, file)
    if model.id not in outline.scopes:  # nothing else can be identified without these ids
        file.problems.raise_if_any()
    definition, plan = _read_case(case, model, outline)
    validate_case(definition, plan, file.problems)
    file.problems.raise_if_any()
    return definition


def _choose_case(root: XmlElement) -> XmlElement:
    cases = list(root.all("case"))
    if not cases:
        raise InvalidDefinition((Problem("", root.line, "The file has no case."),))
    if len(cases) > 1:
        message = "The file has more than one case: each is a file of its own."
        raise InvalidDefinition(tuple(Problem(case.id[:200], case.line, message) for case in cases[:100]))
    return cases[0]


def _choose_model(case: XmlElement) -> XmlElement:
    models = list(case.all("casePlanModel"))
    if len(models) != 1:
        raise InvalidDefinition((Problem(case.id[:200], case.line, "A case has exactly one casePlanModel."),))
    return models[0]


def _read_case(case: XmlElement, model: XmlElement, outline: CaseOutline) -> tuple[Definition, CasePlan]:
    files = read_case_file(case, outline)
    nodes, items = read_plan_items(SentryReader(outline, files))
    plan = CasePlan(
        root=model.id,
        items=items,
        files=files,
        on_parts=index_on_parts(model.id, items, outline.scopes),
        items_with_conditions=frozenset(
            key
            for key, item in items.items()
            if any(criterion.sentry.condition is not None for criterion in item.criteria)
        ),
    )
    definition = Definition(
        key=case.id,
        name=read_name(Subject(case, outline.file)) or case.id,
        kind="cmmn",
        version_tag=read_version_tag(Subject(case, outline.file)),
        scopes=outline.scopes,
        nodes=nodes,
        flows={},
        plan=plan,
    )
    return definition, plan

"""From a CMMN 1.1 file to the definition of its one case."""

from processes.workflows.engine.bpmn.file import Subject, is_key, shorten
from processes.workflows.engine.bpmn.nodes import read_name
from processes.workflows.engine.bpmn.xml import Element, read_xml
from processes.workflows.engine.cmmn.case_file import read_case_file
from processes.workflows.engine.cmmn.file import CMMN, read_file
from processes.workflows.engine.cmmn.items import read_items
from processes.workflows.engine.cmmn.listening import find_listening
from processes.workflows.engine.cmmn.outline import Outline, outline
from processes.workflows.engine.cmmn.sentries import Sentries
from processes.workflows.engine.cmmn.validation import validate
from processes.workflows.engine.definition import Definition
from processes.workflows.engine.plan import Item, Plan
from processes.workflows.engine.problems import NotExecutable, Problem


def read_cmmn(source: bytes) -> Definition:
    """Read a file; NotExecutable names everything that keeps it from running."""
    return read_cmmn_root(read_xml(source))


def read_cmmn_root(root: Element) -> Definition:
    if root.space != CMMN or root.name != "definitions":
        raise NotExecutable((Problem("", root.line, "The file is not CMMN 1.1: its root is not cmmn:definitions."),))
    case = _choose_case(root)
    model = _choose_model(case)
    file = read_file(root)
    if case.id and not is_key(case.id):
        Subject(case, file).refuse(f"{shorten(case.id)} cannot be the key of a definition.")
    if model.find("planItem") is None:
        Subject(model, file).refuse("The case plan model has no plan item.")
    found = outline(case, model, file)
    if model.id not in found.scopes:  # without ids of their own nothing else can be told apart
        file.problems.raise_if_any()
    definition, plan = _read_case(case, model, found)
    validate(definition, plan, file.problems)
    file.problems.raise_if_any()
    return definition


def _choose_case(root: Element) -> Element:
    cases = list(root.all("case"))
    if not cases:
        raise NotExecutable((Problem("", root.line, "The file has no case."),))
    if len(cases) > 1:
        message = "The file has more than one case: each is a file of its own."
        raise NotExecutable(tuple(Problem(case.id[:200], case.line, message) for case in cases[:100]))
    return cases[0]


def _choose_model(case: Element) -> Element:
    models = list(case.all("casePlanModel"))
    if len(models) != 1:
        raise NotExecutable((Problem(case.id[:200], case.line, "A case has exactly one casePlanModel."),))
    return models[0]


def _read_case(case: Element, model: Element, found: Outline) -> tuple[Definition, Plan]:
    files = read_case_file(case, found)
    nodes, items = read_items(Sentries(found, files))
    plan = Plan(
        root=model.id,
        items=items,
        files=files,
        listening=find_listening(model.id, items, found.scopes),
        conditioned=frozenset(key for key, item in items.items() if _has_condition(item)),
    )
    definition = Definition(
        key=case.id,
        name=read_name(Subject(case, found.file)) or case.id,
        kind="cmmn",
        scopes=found.scopes,
        nodes=nodes,
        flows={},
        plan=plan,
    )
    return definition, plan


def _has_condition(item: Item) -> bool:
    return any(criterion.sentry.condition is not None for criterion in item.criteria)

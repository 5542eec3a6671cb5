"""Decision tables as they stand in the file."""

from processes.workflows.engine.bpmn.file import MAX_NAME, Subject, quote
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.dmn.expressions import FeelReader, read_text
from processes.workflows.engine.dmn.model import (
    Aggregation,
    DecisionTable,
    FeelExpression,
    FeelTests,
    HitPolicy,
    Rule,
    TableInput,
    TableOutput,
)
from processes.workflows.engine.feel import build_evaluator
from processes.workflows.engine.feel.syntax_tree import FeelNode, ListOf

MAX_COLUMNS = 100
MAX_RULES = 2_000
MAX_CELLS = 20_000
"""Of one table."""


def read_table(subject: Subject, element: XmlElement, reader: FeelReader) -> DecisionTable | None:
    """Read a decision table; None, and a problem, where it has no shape to go by."""
    columns, rules = list(element.all("input")), list(element.all("rule"))
    results = list(element.all("output"))
    policy, aggregation = _read_policy(subject, element)
    if not results:
        subject.refuse("A decision table has an output.", element)
        return None
    width = len(columns) + len(results)
    if width > MAX_COLUMNS or len(rules) > MAX_RULES or width * len(rules) > MAX_CELLS:
        limits = f"{MAX_COLUMNS} columns, {MAX_RULES} rules and {MAX_CELLS} entries"
        subject.refuse(f"A decision table has at most {limits}.", element)
        return None
    outputs = tuple(_read_output(subject, each, reader, is_only=len(results) == 1) for each in results)
    _check_outputs(subject, element, outputs, policy, aggregation)
    read = [_read_rule(subject, each, reader, len(columns), len(results)) for each in rules]
    return DecisionTable(
        id=element.id,
        line=element.line,
        hit_policy=policy,
        aggregation=aggregation,
        inputs=tuple(_read_input(subject, each, reader) for each in columns),
        outputs=outputs,
        rules=tuple(rule for rule in read if rule is not None),
    )


def _read_policy(subject: Subject, element: XmlElement) -> tuple[HitPolicy, Aggregation | None]:
    written = element.get("hitPolicy").upper() or HitPolicy.UNIQUE.value
    found = next((policy for policy in HitPolicy if written in (policy.value, policy.letter)), None)
    if found is None:
        subject.refuse(f"There is no hit policy {quote(written)}.", element)
    named = element.get("aggregation").upper()
    if named and named not in Aggregation.__members__:
        subject.refuse(f"There is no aggregation {quote(named)}.", element)
    aggregation = Aggregation[named] if named in Aggregation.__members__ else None
    if aggregation is not None and found is not HitPolicy.COLLECT:
        subject.refuse("Only a table that collects has an aggregation.", element)
    return found or HitPolicy.UNIQUE, aggregation


def _read_input(subject: Subject, element: XmlElement, reader: FeelReader) -> TableInput:
    holder = element.find("inputExpression")
    expression = reader.read_expression(subject, holder)
    values = element.find("inputValues")
    return TableInput(
        id=element.id,
        label=_cut(element.get("label")) or (expression.text if expression is not None else element.id),
        expression=expression,
        type_name=holder.get("typeRef") if holder is not None else "",
        values=read_text(values) if values is not None else "",
        variable=next((value for key, value in element.attributes.items() if key.endswith("}inputVariable")), ""),
    )


def _read_output(subject: Subject, element: XmlElement, reader: FeelReader, *, is_only: bool) -> TableOutput:
    values = element.find("outputValues")
    default = element.find("defaultOutputEntry")
    name = _cut(element.get("name"))
    if not name and not is_only:
        subject.refuse("Where a table has several outputs, each has a name.", element)
    return TableOutput(
        id=element.id,
        name=name,
        label=_cut(element.get("label")) or name,
        type_name=element.get("typeRef"),
        values=read_text(values) if values is not None else "",
        priorities=_read_priorities(subject, values, reader),
        default=reader.read_expression(subject, default),
    )


def _read_priorities(subject: Subject, values: XmlElement | None, reader: FeelReader) -> tuple[FeelExpression, ...]:
    """Read the values that an output may have, in their order: a list without its brackets."""
    tests = reader.read_tests(subject, values) if values is not None and read_text(values) else None
    if tests is None:
        return ()
    items: tuple[FeelNode, ...] = tests.node.tests
    if len(items) == 1 and isinstance(items[0], ListOf):
        items = items[0].items
    return tuple(FeelExpression("", node, build_evaluator(node)) for node in items)


def _check_outputs(
    subject: Subject,
    element: XmlElement,
    outputs: tuple[TableOutput, ...],
    policy: HitPolicy,
    aggregation: Aggregation | None,
) -> None:
    names = [output.name for output in outputs]
    if len(set(names)) < len(names):
        subject.refuse("Two outputs of a table have the same name.", element)
    if aggregation is not None and len(outputs) > 1 and aggregation is not Aggregation.COUNT:
        subject.refuse("A table with an aggregation has one output.", element)
    if policy in (HitPolicy.PRIORITY, HitPolicy.OUTPUT_ORDER) and not any(each.priorities for each in outputs):
        subject.refuse("By this hit policy the output lists its values, the most important first.", element)


def _read_rule(subject: Subject, element: XmlElement, reader: FeelReader, inputs: int, outputs: int) -> Rule | None:
    entries, results = list(element.all("inputEntry")), list(element.all("outputEntry"))
    if len(entries) != inputs or len(results) != outputs:
        subject.refuse(f"A rule of this table has {inputs} input and {outputs} output entries.", element)
        return None
    tests: list[FeelTests | None] = [reader.read_tests(subject, entry) for entry in entries]
    annotations = [read_text(each) for each in element.all("annotationEntry")]
    description = element.find("description")
    if description is not None:
        annotations.append(description.text)
    return Rule(
        id=element.id,
        line=element.line,
        inputs=tuple(test for test in tests if test is not None),  # what is missing is a problem already
        outputs=tuple(reader.read_expression(subject, entry) for entry in results),
        annotation=" · ".join(each for each in annotations if each)[:1000],
    )


def _cut(text: str) -> str:
    return " ".join(text.split())[:MAX_NAME]

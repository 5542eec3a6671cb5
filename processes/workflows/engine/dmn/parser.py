"""Parse a file of decisions: every decision with logic is a definition of its own."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from processes.workflows.engine.bpmn.extensions import POSTERN
from processes.workflows.engine.bpmn.file import MAX_NAME, SourceFile, Subject, is_key, quote
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.definition import Definition
from processes.workflows.engine.dmn.expressions import FeelReader, is_plain_name, read_text
from processes.workflows.engine.dmn.logic import LOGIC, find_logic, read_logic
from processes.workflows.engine.dmn.model import Decision, DecisionModel, KnowledgeModel
from processes.workflows.engine.problems import InvalidDefinition, Problem

DMN = (
    "http://www.omg.org/spec/DMN/20151101/dmn.xsd",
    "http://www.omg.org/spec/DMN/20180521/MODEL/",
    "https://www.omg.org/spec/DMN/20191111/MODEL/",
    "https://www.omg.org/spec/DMN/20211108/MODEL/",
    "https://www.omg.org/spec/DMN/20230324/MODEL/",
    "http://www.omg.org/spec/DMN/20151101",
    "http://www.omg.org/spec/DMN/20153011",
    "http://www.omg.org/spec/DMN/20191111/MODEL/",
    "http://www.omg.org/spec/DMN/20151101/dmn11.xsd",
    "http://www.omg.org/spec/DMN/20151130",
    "https://www.omg.org/spec/DMN/20240513/MODEL/",
)
"""DMN 1.1 to 1.6, and as other tools write these: what is read of a file is the same in all of them."""
MAX_DECISIONS = 200
"""With the business knowledge models of the file."""


@dataclass(slots=True)
class _DecisionFile:
    file: SourceFile
    decisions: dict[str, XmlElement] = field(default_factory=dict)
    """Those with logic."""
    functions: dict[str, XmlElement] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    undecided: set[str] = field(default_factory=set)
    """Decisions without logic: their results are given from outside."""


def parse_dmn_root(root: XmlElement) -> tuple[Definition, ...]:
    """Parse a file into one definition for each decision, first the one that no other needs.

    InvalidDefinition lists everything that keeps any of them from being evaluated.
    """
    if root.name != "definitions":
        raise InvalidDefinition((Problem("", root.line, "The file is not DMN: its root is not dmn:definitions."),))
    found = _outline(root)
    reader = _make_reader(root, found)
    functions = {model.name: model for model in _read_functions(found, reader)}
    decisions = {key: _read_decision(element, found, reader) for key, element in found.decisions.items()}
    known = {key: decision for key, decision in decisions.items() if decision is not None}
    orders = {key: _order(key, known, found) for key in known}
    found.file.problems.raise_if_any()
    needed = {required for decision in known.values() for required in decision.requires}
    ranked = sorted(known, key=lambda key: key in needed)
    return tuple(
        Definition(
            key=key,
            name=known[key].name,
            kind="dmn",
            version_tag=found.decisions[key].get(f"{{{POSTERN}}}versionTag")[:MAX_NAME],
            scopes={},
            nodes={},
            flows={},
            decision=DecisionModel(key, orders[key], known, functions, found.types),
        )
        for key in ranked
    )


def _outline(root: XmlElement) -> _DecisionFile:
    found = _DecisionFile(SourceFile({child.id: child for child in root.children if child.id}))
    taken: set[str] = set()
    for child in root.children:
        if child.space != root.space or child.name not in ("decision", "businessKnowledgeModel", "inputData", "import"):
            continue
        subject = Subject(child, found.file)
        if child.name == "import" and ("DMN" in child.get("importType") or not child.get("importType")):
            subject.refuse("A file that imports others cannot be evaluated: copy what it needs into it.")
        elif child.name == "import":
            continue  # of types, which are not looked at
        elif child.name == "inputData":
            variable = child.find("variable")
            name = _get_variable(child)
            found.types[name] = variable.get("typeRef") if variable is not None else ""
        elif subject.has_own_id(taken):
            taken.add(child.id)
            _outline_element(found, child, subject)
    if not found.decisions:
        found.file.problems.add("", root.line, "The file has no decision with a decision table or an expression.")
    if len(taken) > MAX_DECISIONS:
        found.file.problems.abort("", root.line, f"A file has at most {MAX_DECISIONS} decisions and functions.")
    found.file.problems.raise_if_any()
    return found


def _outline_element(found: _DecisionFile, element: XmlElement, subject: Subject) -> None:
    if element.name == "businessKnowledgeModel":
        found.functions[element.id] = element
    elif find_logic(element) is None:
        found.undecided.add(element.id)
        found.types[_get_variable(element)] = ""
    else:
        if not is_key(element.id):
            subject.refuse(f"{quote(element.id)} cannot be the key of a definition.")
        found.decisions[element.id] = element


def _make_reader(root: XmlElement, found: _DecisionFile) -> FeelReader:
    elements = [*found.decisions.values(), *found.functions.values()]
    names = {_get_variable(element) for element in elements} | found.types.keys()
    return FeelReader(
        names=tuple(name for name in names if name and not is_plain_name(name)),
        functions=tuple(
            [
                *(
                    _get_variable(each)
                    for each in found.functions.values()
                    if each.find("encapsulatedLogic") is not None
                ),
                *(name for element in elements for name in _list_entry_functions(element)),
            ]
        ),
        language=root.get("expressionLanguage"),
    )


def _list_entry_functions(element: XmlElement) -> Iterator[str]:
    """Yield the names of the entries of contexts that are functions: expressions behind them call them."""
    for child in element.children:
        logic = find_logic(child) if child.name == "contextEntry" else None
        variable = child.find("variable")
        is_function = logic is not None and (
            logic.name == "functionDefinition"
            or (logic.name == "literalExpression" and read_text(logic).startswith("function"))
        )
        if is_function and variable is not None:
            yield " ".join(variable.get("name").split())
        yield from _list_entry_functions(child)


def _get_variable(element: XmlElement) -> str:
    """Return the name under which others find the element's value."""
    variable = element.find("variable")
    name = (variable.get("name") if variable is not None else "") or element.get("name") or element.id
    return " ".join(name.split())[:MAX_NAME]


def _read_decision(element: XmlElement, found: _DecisionFile, reader: FeelReader) -> Decision | None:
    subject = Subject(element, found.file)
    name = " ".join(element.get("name").split())
    if len(name) > MAX_NAME:
        subject.refuse(f"The name has more than {MAX_NAME} characters.")
    logic = read_logic(subject, find_logic(element), reader)
    variable = element.find("variable")
    required = tuple(_list_required(subject, found))
    if logic is None:
        return None
    return Decision(
        id=element.id,
        name=name or element.id,
        variable=_get_variable(element),
        line=element.line,
        logic=logic,
        requires=required,
        type_name=variable.get("typeRef") if variable is not None else "",
    )


def _list_required(subject: Subject, found: _DecisionFile) -> Iterator[str]:
    for requirement in subject.element.all("informationRequirement"):
        required = requirement.find("requiredDecision")
        if required is None:
            continue
        key = required.get("href").rpartition("#")[2]
        if key in found.decisions:
            yield key
        elif key not in found.undecided:
            message = f"It requires the decision {quote(key)}, which the file does not have with its logic."
            subject.refuse(message, required)


def _order(key: str, known: dict[str, Decision], found: _DecisionFile) -> tuple[str, ...]:
    """Return a decision after everything that it requires; one that requires itself is a problem."""
    order: list[str] = []
    open_now: set[str] = set()
    rest = [(key, False)]
    while rest:
        each, is_left = rest.pop()
        if is_left:
            open_now.discard(each)
            order.append(each)
        elif each in open_now:
            found.file.problems.add(each, known[each].line, "The decision requires itself.")
            break
        elif each not in order and each in known:
            open_now.add(each)
            rest.append((each, True))
            rest += [(required, False) for required in reversed(known[each].requires)]
    return tuple(order)


def _read_functions(found: _DecisionFile, reader: FeelReader) -> Iterator[KnowledgeModel]:
    for key, element in found.functions.items():
        subject = Subject(element, found.file)
        encapsulated = element.find("encapsulatedLogic")
        if encapsulated is None:
            continue  # only drawn: whoever calls it is refused
        logic = read_logic(subject, find_logic(encapsulated), reader)
        if logic is None:
            subject.refuse(f"A business knowledge model holds one of these: {', '.join(LOGIC)}.")
            continue
        parameters = tuple(" ".join(each.get("name").split()) for each in encapsulated.all("formalParameter"))
        yield KnowledgeModel(key, _get_variable(element), parameters, logic)

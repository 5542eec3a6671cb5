"""Parse a file of any notation, BPMN, CMMN or DMN, as whichever tool has written it."""

from dataclasses import dataclass, replace

from processes.workflows.engine.bpmn.file import BPMN, is_key
from processes.workflows.engine.bpmn.parser import parse_bpmn_root
from processes.workflows.engine.bpmn.xml import XmlElement, parse_xml
from processes.workflows.engine.cmmn.file import CMMN
from processes.workflows.engine.cmmn.parser import parse_cmmn_root
from processes.workflows.engine.decision_report import report_decisions
from processes.workflows.engine.definition import Definition
from processes.workflows.engine.dialects.cases.files import OLDER as OLDER_CMMN
from processes.workflows.engine.dialects.cases.files import translate_case_file
from processes.workflows.engine.dialects.decision_files import translate_decision_file
from processes.workflows.engine.dialects.process_files import OLDER as OLDER_BPMN
from processes.workflows.engine.dialects.process_files import TranslatedFile, translate_process_file
from processes.workflows.engine.dialects.report import Report
from processes.workflows.engine.dmn.parser import DMN, parse_dmn_root
from processes.workflows.engine.problems import MOST_PROBLEMS, InvalidDefinition, Problem


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The definitions of a file, the first one first, and what became of everything in it."""

    definitions: tuple[Definition, ...]
    report: Report


def parse_file(source: bytes) -> ParsedFile:
    """Parse every process, case or decision of a file that can be run; InvalidDefinition lists what is wrong."""
    root = parse_xml(source)
    if root.space in DMN:
        root, report = translate_decision_file(root)
        return ParsedFile(parse_dmn_root(root), report_decisions(root, report))
    translated = _translate(root)
    parse = parse_bpmn_root if root.space in (BPMN, OLDER_BPMN) else parse_cmmn_root
    definitions: list[Definition] = []
    problems: list[Problem] = []
    for each in translated.roots:
        try:
            definitions.append(parse(each))
        except InvalidDefinition as error:
            problems += [problem for problem in error.problems if problem not in problems]
    if problems:
        raise InvalidDefinition(_add_names(problems[:MOST_PROBLEMS], root))
    report = translated.report
    for definition in definitions:
        for node in definition.nodes.values():
            if "~" not in node.id:  # what was added to the file stands in the other list
                report.add_run(node.id, node.line, node.name, node.kind.value)
    report.sort()
    return ParsedFile(tuple(definitions), report)


def _add_names(problems: list[Problem], root: XmlElement) -> tuple[Problem, ...]:
    """Return problems with the names of their elements: few authors know the ids that their tool has given."""
    wanted = {problem.element for problem in problems if problem.element}
    names: dict[str, str] = {}
    rest = [root]
    while rest:
        element = rest.pop()
        if element.id in wanted:
            names.setdefault(element.id, " ".join(element.get("name").split())[:200])
        rest.extend(element.children)
    return tuple(replace(problem, name=names.get(problem.element, "")) for problem in problems)


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """Under what a file is kept."""

    key: str
    name: str
    kind: str
    """`bpmn`, `cmmn` or `dmn`."""


def identify_file(source: bytes) -> FileIdentity | None:
    """Return what a file that cannot be run is called; None when it is of no notation."""
    try:
        root = parse_xml(source)
    except InvalidDefinition:
        return None
    if root.space in DMN:
        kind, holder = "dmn", "decision"
    elif root.space in (BPMN, OLDER_BPMN):
        kind, holder = "bpmn", "process"
    elif root.space.startswith(_ANY_CMMN):
        kind, holder = "cmmn", "case"
    else:
        return None
    candidates = (*root.all(holder), *(child for child in root.children if child.space == root.space), root)
    found = next((element for element in candidates if is_key(element.id)), None)
    return None if found is None else FileIdentity(found.id, " ".join(found.get("name").split()) or found.id, kind)


def parse_definition(source: bytes, key: str | None = None) -> Definition:
    """Parse one definition of a file: that of the key, else the first."""
    definitions = parse_file(source).definitions
    found = [each for each in definitions if key is None or each.key == key]
    if not found:
        raise InvalidDefinition((Problem("", 0, f"The file has no definition {key}."),))
    return found[0]


def _translate(root: XmlElement) -> TranslatedFile:
    if root.space in (BPMN, OLDER_BPMN):
        return translate_process_file(root)
    if root.space == CMMN or root.space in OLDER_CMMN:
        return translate_case_file(root)
    if root.space.startswith(_ANY_CMMN):
        message = "The file is of another version of CMMN: save it as CMMN 1.1."
        raise InvalidDefinition((Problem("", root.line, message),))
    raise InvalidDefinition((Problem("", root.line, "The file is neither BPMN 2.0, nor CMMN 1.1, nor DMN 1.3."),))


_ANY_CMMN = "http://www.omg.org/spec/CMMN/"

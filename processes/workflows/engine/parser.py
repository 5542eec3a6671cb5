"""Parse a definition of either notation, BPMN or CMMN."""

from processes.workflows.engine.bpmn.file import BPMN
from processes.workflows.engine.bpmn.parser import parse_bpmn_root
from processes.workflows.engine.bpmn.xml import parse_xml
from processes.workflows.engine.cmmn.file import CMMN
from processes.workflows.engine.cmmn.parser import parse_cmmn_root
from processes.workflows.engine.definition import Definition
from processes.workflows.engine.problems import InvalidDefinition, Problem


def parse_definition(source: bytes) -> Definition:
    """Parse a BPMN or CMMN file by the namespace of its root; InvalidDefinition lists everything that is wrong."""
    root = parse_xml(source)
    if root.space == BPMN:
        return parse_bpmn_root(root)
    if root.space == CMMN:
        return parse_cmmn_root(root)
    if root.space.startswith(_ANY_CMMN):
        message = "The file is of another version of CMMN: save it as CMMN 1.1."
        raise InvalidDefinition((Problem("", root.line, message),))
    raise InvalidDefinition((Problem("", root.line, "The file is neither BPMN 2.0 nor CMMN 1.1."),))


_ANY_CMMN = "http://www.omg.org/spec/CMMN/"

"""Reads a file of whichever notation."""

from processes.workflows.engine.bpmn.file import BPMN
from processes.workflows.engine.bpmn.reading import read_bpmn_root
from processes.workflows.engine.bpmn.xml import read_xml
from processes.workflows.engine.cmmn.file import CMMN
from processes.workflows.engine.cmmn.reading import read_cmmn_root
from processes.workflows.engine.definition import Definition
from processes.workflows.engine.problems import NotExecutable, Problem


def read_definition(source: bytes) -> Definition:
    """Read a definition by the namespace of its root; NotExecutable names everything that keeps it from running."""
    root = read_xml(source)
    if root.space == BPMN:
        return read_bpmn_root(root)
    if root.space == CMMN:
        return read_cmmn_root(root)
    if root.space.startswith(_ANY_CMMN):
        message = "The file is of another version of CMMN: save it as CMMN 1.1."
        raise NotExecutable((Problem("", root.line, message),))
    raise NotExecutable((Problem("", root.line, "The file is neither BPMN 2.0 nor CMMN 1.1."),))


_ANY_CMMN = "http://www.omg.org/spec/CMMN/"

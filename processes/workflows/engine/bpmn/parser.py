"""Parse a BPMN 2.0 file into the definition of its one executable process."""

from collections import defaultdict

from processes.workflows.engine.bpmn.compensation import find_compensations
from processes.workflows.engine.bpmn.file import BPMN, SourceFile, Subject, is_key, is_true, quote, read_file
from processes.workflows.engine.bpmn.nodes import read_flow, read_name, read_node
from processes.workflows.engine.bpmn.outline import KINDS, outline_process
from processes.workflows.engine.bpmn.revisions import read_version_tag
from processes.workflows.engine.bpmn.validation import validate_process
from processes.workflows.engine.bpmn.xml import XmlElement, parse_xml
from processes.workflows.engine.definition import Definition, Node, NodeKind
from processes.workflows.engine.problems import InvalidDefinition, Problem


def parse_bpmn(source: bytes) -> Definition:
    """Parse a file; InvalidDefinition lists everything that keeps it from running."""
    return parse_bpmn_root(parse_xml(source))


def parse_bpmn_root(root: XmlElement) -> Definition:
    if root.space != BPMN or root.name != "definitions":
        raise InvalidDefinition(
            (Problem("", root.line, "The file is not BPMN 2.0: its root is not bpmn:definitions."),)
        )
    process = _choose_process(root)
    file = read_file(root)
    definition = _read_process(process, file)
    validate_process(definition, file.problems, line=process.line)
    file.problems.raise_if_any()
    return definition


def _choose_process(root: XmlElement) -> XmlElement:
    """Return the process to run: the executable one, or the only one that is not empty."""
    processes = list(root.all("process"))
    # Modelers write empty processes for the pools of a collaboration, often without isExecutable.
    executable = [process for process in processes if is_true(process.get("isExecutable"))]
    filled = [process for process in processes if any(child.name in KINDS for child in process.children)]
    chosen = executable or filled or processes
    if not chosen:
        raise InvalidDefinition((Problem("", root.line, "The file has no process."),))
    if len(chosen) > 1:
        message = "The file has more than one process that could be run: set isExecutable on one of them alone."
        raise InvalidDefinition(tuple(Problem(process.id, process.line, message) for process in chosen[:100]))
    return chosen[0]


def _read_process(process: XmlElement, file: SourceFile) -> Definition:
    if process.id and not is_key(process.id):
        Subject(process, file).refuse(f"{quote(process.id)} cannot be the key of a definition.")
    outline = outline_process(process, file)
    compensations = find_compensations(outline)
    nodes = {key: read_node(outlined, outline, compensations.get(key)) for key, outlined in outline.nodes.items()}
    return Definition(
        key=process.id,
        name=read_name(Subject(process, file)) or process.id,
        kind="bpmn",
        version_tag=read_version_tag(Subject(process, file)),
        scopes=outline.scopes,
        nodes=nodes,
        flows={flow: read_flow(flow, outline) for flow in outline.flows},
        boundaries=_group_nodes(nodes, NodeKind.BOUNDARY, by="attached_to"),
        starts=_group_nodes(nodes, NodeKind.START, by="scope"),
        event_sub_processes=_group_nodes(nodes, NodeKind.EVENT_SUB_PROCESS, by="scope"),
    )


def _group_nodes(nodes: dict[str, Node], kind: NodeKind, *, by: str) -> dict[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for node in nodes.values():
        if node.kind is kind:
            groups[getattr(node, by)].append(node.id)
    return {key: tuple(ids) for key, ids in groups.items()}

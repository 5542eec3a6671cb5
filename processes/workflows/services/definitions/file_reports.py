"""What becomes of a published file: read from its source again, because a revision never changes."""

from dataclasses import dataclass
from functools import lru_cache

from processes.workflows.engine.dialects.report import Report
from processes.workflows.engine.parser import parse_file
from processes.workflows.engine.problems import InvalidDefinition, Problem
from processes.workflows.models import WorkflowRevision

CACHED = 8
"""Reports kept in one process: a page and its drawing ask for the same one."""


@dataclass(frozen=True)
class FileReport:
    report: Report
    problems: tuple[Problem, ...] = ()
    """Why the file cannot be run."""


def get_file_report(revision: WorkflowRevision) -> FileReport:
    return _read(revision.pk, revision.digest)


@lru_cache(maxsize=CACHED)
def _read(revision_id: int, digest: str) -> FileReport:
    source = WorkflowRevision.objects.values_list("source", flat=True).get(pk=revision_id)
    try:
        return FileReport(parse_file(bytes(source)).report)
    except InvalidDefinition as error:
        return FileReport(Report(), error.problems)

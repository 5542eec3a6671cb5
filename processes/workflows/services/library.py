"""Definitions as the engine reads them, compiled once in a process: a revision never changes."""

from collections.abc import Callable
from typing import TypeAlias

from processes.workflows.engine.definition import Definition
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.problems import InvalidDefinition
from processes.workflows.models import WorkflowDefinition, WorkflowRevision
from processes.workflows.services.compiled_cache import CompiledCache

COMPILED = CompiledCache()

Library: TypeAlias = Callable[[str, int | None], tuple[Definition, int]]


class UnknownDefinition(LookupError):
    """There is no such definition for whoever calls it."""


def library_for(enterprise_id: str | None) -> Library:
    """Return what instances of this enterprise may call: its own definitions and those that belong to nobody."""

    def find(key: str, revision: int | None) -> tuple[Definition, int]:
        if revision is not None:
            return get_compiled(key, revision), revision
        newest = find_newest(key)
        if newest is None or newest[1] not in (None, enterprise_id):
            raise UnknownDefinition(key)
        return get_compiled(key, newest[0]), newest[0]

    return find


def find_newest(key: str) -> tuple[int, str | None] | None:
    """Find the newest revision of a definition, and whose it is."""
    return WorkflowDefinition.objects.filter(pk=key).values_list("newest", "enterprise_id").first()


def get_compiled(key: str, revision: int) -> Definition:
    found = COMPILED.find(key, revision)
    if found is None:
        found = _compile(key, revision)
        COMPILED.keep(key, revision, found)
    return found


def _compile(key: str, revision: int) -> Definition:
    rows = WorkflowRevision.objects.filter(definition=key, number=revision)
    source = rows.values_list("source", flat=True).first()
    if source is None:
        raise UnknownDefinition(f"{key} {revision}")
    try:
        return parse_definition(bytes(source))
    except InvalidDefinition as error:  # it could be run when it was published
        raise UnknownDefinition(f"{key} {revision}, as it is not executable any more: {error}") from error

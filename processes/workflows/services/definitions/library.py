"""Compiled definitions, as the engine calls for them: each revision is compiled once in a process and cached.

The cache holds those used last, as many as fit into a number of bytes. A revision never changes, so nothing expires.
"""

import gc
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any, TypeAlias

from processes.workflows.engine.definition import Definition, NodeKind
from processes.workflows.engine.execution.limits import MAX_UPSTREAM
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.problems import InvalidDefinition
from processes.workflows.models import WorkflowDefinition, WorkflowRevision

COMPILED_BYTES = 67_108_864
"""What the cache may take in one process; the definition in use is kept whatever it takes."""
UPSTREAM_BYTES = 100
"""For each element that a definition may come to remember as upstream of its inclusive joins."""
_ENGINE = "processes.workflows.engine"
_CONTAINERS = (dict, list, tuple, set, frozenset, CellType)

Library: TypeAlias = Callable[[str, int | str | None], tuple[Definition, int]]


class UnknownDefinition(LookupError):
    """The definition does not exist, or the caller's enterprise may not use it."""


def library_for(enterprise_id: str | None) -> Library:
    """Return the look-up of definitions that instances of an enterprise may call: its own and the shared ones."""

    def find(key: str, revision: int | str | None) -> tuple[Definition, int]:
        if isinstance(revision, str):
            number = _find_tagged(key, revision)
            return get_compiled(key, number), number
        # A revision is named only by a state that runs it already: it was allowed when it was first called.
        if revision is not None:
            return get_compiled(key, revision), revision
        newest = find_newest(key)
        if newest is None or newest[1] not in (None, enterprise_id):
            raise UnknownDefinition(key)
        return get_compiled(key, newest[0]), newest[0]

    return find


def find_newest(key: str) -> tuple[int, str | None] | None:
    """Return the newest revision of a definition and the enterprise it belongs to."""
    return WorkflowDefinition.objects.filter(pk=key).values_list("newest", "enterprise_id").first()


def _find_tagged(key: str, tag: str) -> int:
    """Return the newest revision with a version tag; whether it may be called is asked of the newest of all."""
    rows = WorkflowRevision.objects.filter(definition=key, version_tag=tag, is_executable=True)
    number = rows.order_by("-number").values_list("number", flat=True).first()
    if number is None:
        raise UnknownDefinition(f"{key} {tag}")
    return number


def get_compiled(key: str, revision: int) -> Definition:
    found = COMPILED.find(key, revision)
    if found is None:
        found = _compile(key, revision)
        COMPILED.store(key, revision, found)
    return found


def _compile(key: str, revision: int) -> Definition:
    rows = WorkflowRevision.objects.filter(definition=key, number=revision)
    source = rows.values_list("source", flat=True).first()
    if source is None:
        raise UnknownDefinition(f"{key} {revision}")
    try:
        return parse_definition(bytes(source), key)
    except InvalidDefinition as error:  # valid when it was published, by the rules of an earlier release
        raise UnknownDefinition(f"{key} {revision}, as it is not executable any more: {error}") from error


class CompiledCache:
    def __init__(self, most_bytes: int = COMPILED_BYTES) -> None:
        self._most_bytes = most_bytes
        self._entries: OrderedDict[tuple[str, int], tuple[Definition, int]] = OrderedDict()
        self._used = 0
        self._lock = threading.Lock()

    def find(self, key: str, revision: int) -> Definition | None:
        with self._lock:
            found = self._entries.get((key, revision))
            if found is None:
                return None
            self._entries.move_to_end((key, revision))
            return found[0]

    def store(self, key: str, revision: int, definition: Definition) -> None:
        size = measure_definition(definition)
        with self._lock:
            # Another thread may have compiled the same revision meanwhile.
            before = self._entries.pop((key, revision), None)
            self._used += size - (before[1] if before is not None else 0)
            self._entries[key, revision] = (definition, size)
            while self._used > self._most_bytes and len(self._entries) > 1:
                _, (_, freed) = self._entries.popitem(last=False)
                self._used -= freed

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._used = 0

    def __len__(self) -> int:
        return len(self._entries)


def measure_definition(definition: Definition) -> int:
    """Return the bytes that a definition occupies, with everything that it alone refers to."""
    size = 0
    rest: list[Any] = [definition]
    seen: set[int] = set()
    while rest:
        each = rest.pop()
        if id(each) in seen or isinstance(each, type):
            continue
        seen.add(id(each))
        size += sys.getsizeof(each)
        if isinstance(each, FunctionType):  # a compiled expression owns its closure; globals are shared
            rest.extend(each.__closure__ or ())
        elif isinstance(each, _CONTAINERS) or type(each).__module__.startswith(_ENGINE):
            rest.extend(gc.get_referents(each))
    has_joins = any(node.kind is NodeKind.INCLUSIVE for node in definition.nodes.values())
    return size + has_joins * MAX_UPSTREAM * UPSTREAM_BYTES


COMPILED = CompiledCache()

"""Compiled definitions that a process keeps: those used last, as many as fit into a number of bytes."""

import gc
import sys
import threading
from collections import OrderedDict
from types import CellType, FunctionType
from typing import Any

from processes.workflows.engine.definition import Definition, NodeKind
from processes.workflows.engine.execution.limits import MAX_UPSTREAM

COMPILED_BYTES = 67_108_864
"""What they may take in one process; the one that is being used is kept whatever it takes."""
UPSTREAM_BYTES = 100
"""Of each element that a definition may come to remember to lie upstream of its inclusive joins."""
_ENGINE = "processes.workflows.engine"
_HOLDERS = (dict, list, tuple, set, frozenset, CellType)


class CompiledCache:
    def __init__(self, most_bytes: int = COMPILED_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[tuple[str, int], tuple[Definition, int]] = OrderedDict()
        self._used = 0
        self._lock = threading.Lock()

    def find(self, key: str, revision: int) -> Definition | None:
        with self._lock:
            found = self._kept.get((key, revision))
            if found is None:
                return None
            self._kept.move_to_end((key, revision))
            return found[0]

    def keep(self, key: str, revision: int, definition: Definition) -> None:
        size = measure_definition(definition)
        with self._lock:
            before = self._kept.pop((key, revision), None)
            self._used += size - (before[1] if before is not None else 0)
            self._kept[key, revision] = (definition, size)
            while self._used > self._most_bytes and len(self._kept) > 1:
                _, (_, freed) = self._kept.popitem(last=False)
                self._used -= freed

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._used = 0

    def __len__(self) -> int:
        return len(self._kept)


def measure_definition(definition: Definition) -> int:
    """Count the bytes of a definition and of everything that is its own."""
    size = 0
    rest: list[Any] = [definition]
    seen: set[int] = set()
    while rest:
        each = rest.pop()
        if id(each) in seen or isinstance(each, type):
            continue
        seen.add(id(each))
        size += sys.getsizeof(each)
        if isinstance(each, FunctionType):  # an expression that was compiled; what is global is not its own
            rest.extend(each.__closure__ or ())
        elif isinstance(each, _HOLDERS) or type(each).__module__.startswith(_ENGINE):
            rest.extend(gc.get_referents(each))
    has_joins = any(node.kind is NodeKind.INCLUSIVE for node in definition.nodes.values())
    return size + has_joins * MAX_UPSTREAM * UPSTREAM_BYTES

"""Entities that plugins declare, checked at the start: a fault is named before it could break a table."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from django.core.exceptions import ImproperlyConfigured

from config.common.database.bulk_insert import COLUMN_TYPES
from config.common.plugins import find_declared
from processes.coordination.declaration import Entity

DECLARED = "ENTITIES"
_NAME = re.compile(r"(?!Reader|AppEvent)[A-Z][A-Za-z0-9]{0,29}")
_PATH = re.compile(r"[a-z][a-z0-9-]{0,49}")
_TAKEN_PATH = "changes"
"""The path of the Gateway's own call for a set of changes."""


def plugin_entities(own: Sequence[Entity]) -> Iterator[Entity]:
    """Return the entities of all plugins, in their order behind our own, each with the app that has its tables."""
    known = list(own)
    for app, entities in find_declared(DECLARED):
        for entity in entities:
            fault = _find_fault(entity, known)
            if fault:
                raise ImproperlyConfigured(f"PLUGINS: entity {entity.name} of {app}: {fault}")
            known.append(entity)
            yield replace(entity, app=app)


def _find_fault(entity: Entity, known: Sequence[Entity]) -> str:
    paths = {_TAKEN_PATH, *(each.path for each in known)}
    # What has no address of its own has no table on the Writer that could be referred to.
    referable = {entity.name, *(each.name for each in known if each.path)}
    if not _NAME.fullmatch(entity.name) or entity.name in {each.name for each in known}:
        return "its name must be its own: CamelCase, at most 30 letters and digits, not Reader… nor AppEvent…"
    if not _PATH.fullmatch(entity.path) or entity.path in paths:
        return "its path must be its own: small letters, digits and hyphens"
    if not entity.is_undone or all(column.is_optional for column in entity.columns):
        return "it must be undone upon a refusal, and have a column that is not optional"
    if entity.key_type != "BigIntegerField":
        return "its key must be the default, a number that the Writer gives"
    for column in entity.columns:
        if column.type not in COLUMN_TYPES:
            return f"column {column.name}: a {column.type} is not one of {', '.join(sorted(COLUMN_TYPES))}"
        if column.refers and column.refers not in referable:
            return f"column {column.name} refers to {column.refers}, which is not registered before it"
    return ""

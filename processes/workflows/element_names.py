"""What definitions and their elements are called by people."""

from functools import lru_cache

from processes.workflows.heads import get_revision_facts
from processes.workflows.services.definitions.library import UnknownDefinition, get_compiled


@lru_cache(maxsize=1024)  # the start page asks four times a second, also about what can no longer be compiled
def name_in_words(definition_id: str, revision_id: int, element: str = "") -> tuple[str, str]:
    """Return the names of a definition and of an element of it; their ids where they have none."""
    try:
        definition = get_compiled(definition_id, get_revision_facts(revision_id)[0])
    except UnknownDefinition:
        return definition_id, element
    node = definition.nodes.get(element)  # of a called definition there is none
    name = " ".join(node.name.split()) if node is not None else ""
    return definition.name or definition.key, name or element or definition.name

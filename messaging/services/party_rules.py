"""The rules of the parties, written once for REST, the admin and the revert."""

from django.utils.translation import gettext

from config.common.errors import Invalid
from config.common.text import is_storable
from messaging.models import Enterprise, Subsystem
from messaging.models.parties import is_party_id

LONGEST_NAME = 200

Faults = dict[str, list[str]]


def refuse(faults: Faults) -> None:
    """Raise `Invalid` with the faults, if there are any."""
    if faults:
        raise Invalid(faults)


def id_faults(party_id: str) -> Faults:
    return {} if is_party_id(party_id) else {"id": [gettext("Must be 1 to 36 letters, digits and hyphens.")]}


def name_faults(name: str) -> Faults:
    if 1 <= len(name) <= LONGEST_NAME and is_storable(name):
        return {}
    return {"name": [gettext("Must have 1 to 200 characters.")]}


def enterprise_faults(enterprise_id: str, *, was: str = "") -> Faults:
    """Return the fault of an enterprise that is not there; `was` is that of now, which cannot be changed."""
    if was and enterprise_id != was:
        return {"enterprise": [gettext("The enterprise cannot be changed.")]}
    if was or (is_party_id(enterprise_id) and Enterprise.objects.filter(pk=enterprise_id).exists()):
        return {}
    return {"enterprise": [gettext("Enterprise not found.")]}


def subsystem_faults(subsystem: Subsystem | None, *, enterprise_id: str) -> Faults:
    if subsystem is None:
        return {"subsystem": [gettext("Subsystem not found.")]}
    if subsystem.enterprise_id != enterprise_id:
        return {"subsystem": [gettext("This subsystem belongs to another enterprise.")]}
    return {}

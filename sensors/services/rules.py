"""The rules of the registry, written once for REST, the admin, the import and the revert."""

import re
from heapq import nsmallest

from django.utils.translation import gettext

from config.common.text import is_storable
from config.common.web.serializers import FAULTS_NAMED
from notifications.sending import webhook_url
from sensors.models.registry import LONGEST_TIMEOUT, SENSOR_ID
from sensors.services.values import ClientValues, SensorValues

LONGEST_ADDRESS = 500
LONGEST_NOTES = 5000
LONGEST_NAME = 200
MOST_CLIENTS = 10_000
"""Clients of one sensor, as one call names them."""
LONGEST_URL = webhook_url.LONGEST_URL
RESERVED_IDS = frozenset({"import", "export"})
"""Addresses of the API beside `/sensors/{id}/`."""

_SENSOR_ID = re.compile(SENSOR_ID)

Faults = dict[str, list[str]]


def id_faults(sensor_id: str) -> Faults:
    if not _SENSOR_ID.fullmatch(sensor_id):
        return {"id": [gettext("Must be 1 to 16 letters and digits.")]}
    if sensor_id in RESERVED_IDS:
        return {"id": [gettext("Must not be “import” or “export”: the API uses these words.")]}
    return {}


def sensor_faults(values: SensorValues) -> Faults:
    """Return the rules that the values break, by field."""
    faults: Faults = {}
    if not 1 <= len(values.address) <= LONGEST_ADDRESS or not is_storable(values.address):
        faults["address"] = [gettext("Must have 1 to 500 characters.")]
    if len(values.notes) > LONGEST_NOTES or not is_storable(values.notes):
        faults["notes"] = [gettext("Must have at most 5000 characters.")]
    if not 1 <= values.heartbeat_timeout <= LONGEST_TIMEOUT:
        faults["heartbeat_timeout"] = [gettext("Must be 1 to 2592000 seconds (30 days).")]
    if values.open_limit is not None and not 1 <= values.open_limit <= LONGEST_TIMEOUT:
        faults["open_limit"] = [gettext("Must be 1 to 2592000 seconds (30 days), or empty.")]
    return faults


def missing_clients_fault(missing: set[int]) -> Faults:
    names = ", ".join(str(client_id) for client_id in nsmallest(FAULTS_NAMED, missing))
    names += ", …" if len(missing) > FAULTS_NAMED else ""
    return {"clients": [gettext("Client not found: %(clients)s.") % {"clients": names}]} if missing else {}


def client_faults(values: ClientValues) -> Faults:
    faults: Faults = {}
    if not 1 <= len(values.name) <= LONGEST_NAME or not is_storable(values.name):
        faults["name"] = [gettext("Must have 1 to 200 characters.")]
    if not webhook_url.is_webhook_url(values.url):
        faults["url"] = [
            gettext("Must be an http or https URL with a host, without a user name, at most 500 characters.")
        ]
    return faults

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from django.utils.translation import ngettext

from config.common.errors import ApplicationError, Conflict, Invalid, NotFound


@dataclass(frozen=True)
class LineFault:
    """A rule that a line of an imported file breaks."""

    line: int
    field: str
    rule: str


class SensorNotFound(NotFound):
    """Sensor not found."""


class ClientNotFound(NotFound):
    """Client not found."""


class SensorExists(Conflict):
    """A sensor with this id already exists."""

    sample = {"id": "0xA"}


class RegistryMoved(Conflict):
    """Somebody else has just registered the same sensors; nothing has been done. Try again."""


class BadFile(Invalid):
    """The file cannot be read."""

    code = "invalid"

    def __init__(self, rule: str, limit: int | None = None) -> None:
        """Take the rule that the file breaks, and the limit that stands in it."""
        super().__init__({"file": [rule if limit is None else rule % {"limit": limit}]})


class BadLines(ApplicationError):
    """Some lines of the file have errors; nothing has been imported."""

    code = "invalid"

    def __init__(self, faults: Sequence[LineFault], *, bad: int | None = None) -> None:
        """Take the faults, and how many lines are bad where these are not all."""
        bad = len({fault.line for fault in faults}) if bad is None else bad
        summary = ngettext("%(bad)d line has errors.", "%(bad)d lines have errors.", bad) % {"bad": bad}
        super().__init__(fields={"file": [summary]}, lines=[asdict(fault) for fault in faults])
        self.faults = faults

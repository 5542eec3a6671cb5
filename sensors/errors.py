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
    """There is no such sensor."""


class ClientNotFound(NotFound):
    """There is no such client."""


class SensorExists(Conflict):
    """There is a sensor with this id already."""


class RegistryMoved(Conflict):
    """Somebody else registered the same sensors at this moment; nothing has been done. Repeat it."""


class BadFile(Invalid):
    """The file cannot be read."""

    code = "invalid"

    def __init__(self, rule: str, limit: int | None = None) -> None:
        """Take the rule that the file breaks, and the limit that stands in it."""
        super().__init__({"file": [rule if limit is None else rule % {"limit": limit}]})


class BadLines(ApplicationError):
    """Some lines of the file break a rule; nothing has been imported."""

    code = "invalid"

    def __init__(self, faults: Sequence[LineFault], *, bad: int | None = None) -> None:
        """Take the faults, and how many lines are bad where these are not all."""
        bad = len({fault.line for fault in faults}) if bad is None else bad
        summary = ngettext("%(bad)d line is bad.", "%(bad)d lines are bad.", bad) % {"bad": bad}
        super().__init__(fields={"file": [summary]}, lines=[asdict(fault) for fault in faults])
        self.faults = faults

"""What has become of an instance of a batch, and why."""

from dataclasses import dataclass

from config.common.errors import ApplicationError
from config.common.text import clean_text
from processes.workflows.errors import InstanceNotFound, NotPossible, VersionConflict
from processes.workflows.models import BatchItem

GONE = "The instance no longer exists."
GONE_ON = "The instance has gone on since."
UNVERSIONED = "It was changed without a new version: there is nothing to return from."
UNEXPECTED = "It failed unexpectedly; the log says more."
LONGEST_REASON = 500

Status = BatchItem.Status


@dataclass(frozen=True)
class Outcome:
    item: int
    status: str
    before: int | None = None
    after: int | None = None
    reason: str = ""

    @property
    def row(self) -> tuple[str, int | None, int | None, str, int]:
        return self.status, self.before, self.after, clean_text(self.reason, LONGEST_REASON), self.item


def explain_refusal(error: ApplicationError) -> str:
    """Return why an instance could not be changed, in English as the engine says it."""
    if isinstance(error, VersionConflict):
        return GONE_ON
    if isinstance(error, InstanceNotFound):
        return GONE
    if isinstance(error, NotPossible):
        return str(error.data["reason"])
    return " ".join((type(error).__doc__ or "").split())

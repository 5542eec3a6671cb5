"""Where a drill may interfere with an exchange. A real client needs none of this."""

from enum import StrEnum

from processes.exchange.reference.client import Message
from processes.exchange.reference.store import Store


class Point(StrEnum):
    """The moments at which a death of the ERP leaves different things behind."""

    AFTER_API_1 = "after API_1"
    IN_PROCESSING = "in mid-processing"
    BEFORE_COMMIT = "after API_3, before the commit"
    AFTER_COMMIT = "after the commit, before API_4"
    AFTER_API_4 = "after API_4"


class Hooks:
    """Interfere with nothing."""

    def reached(self, point: Point, process_id: str) -> None:
        """Called at each point; may never return."""

    def leaves_out(self, process_id: str, message: Message) -> bool:
        """Return whether to leave the message out by API_2."""
        return False

    def applied(self, process_id: str, message: Message) -> None:
        """Called inside the savepoint, after the effect; may raise `Deadlock` or `IncorrectMessage`."""

    def committing(self, process_id: str, store: Store) -> None:
        """Called as the last thing inside the transaction."""

"""What a process has in hand: repeats that are claimed, and outcomes that are still to be written."""

import threading
import time
from dataclasses import dataclass, field

from notifications.sessions.claims import Claim
from notifications.sessions.outcomes import Outcome
from notifications.sessions.repeat import Repeat

SLACK_SECONDS = 0.5
"""A webhook has its own time-out, which comes first."""


@dataclass
class EndedRepeat:
    outcome: Outcome
    is_written: threading.Event = field(default_factory=threading.Event)
    stood: bool = False


class RunningRepeat(Repeat):
    def __init__(self, claim: Claim) -> None:
        super().__init__(claim)
        self.renewed = self.claimed = self.began = time.monotonic()
        self.is_settled = False
        self.is_abandoned = False
        self.is_slow = False
        """Set aside: its thread ends with it, and another has taken its place."""

    @property
    def deadline(self) -> float:
        return self.touched + self.claim.theme.timeout + SLACK_SECONDS

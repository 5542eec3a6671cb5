from notifications.models.alert import Alert, Rung
from notifications.models.delivery import Attempt, Delivery, Endpoint, ListedSubject
from notifications.models.event import Event, EventHour, EventMinute, Sequencer
from notifications.models.follower import Follower, Incident
from notifications.models.parked import MessageFailure, ParkedMessage
from notifications.models.session import RepeatSession, SessionRecord, SessionStep, Theme

__all__ = [
    "Alert",
    "Attempt",
    "Delivery",
    "Endpoint",
    "Event",
    "EventHour",
    "EventMinute",
    "Follower",
    "Incident",
    "ListedSubject",
    "MessageFailure",
    "ParkedMessage",
    "RepeatSession",
    "Rung",
    "Sequencer",
    "SessionRecord",
    "SessionStep",
    "Theme",
]

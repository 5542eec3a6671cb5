from notifications.models.event import Event, EventHour, Sequencer
from notifications.models.follower import Follower, Incident

__all__ = ["Event", "EventHour", "Follower", "Incident", "Sequencer"]

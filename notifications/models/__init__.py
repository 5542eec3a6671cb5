from notifications.models.delivery import Delivery, Endpoint
from notifications.models.event import Event, EventHour, Sequencer
from notifications.models.follower import Follower, Incident

__all__ = ["Delivery", "Endpoint", "Event", "EventHour", "Follower", "Incident", "Sequencer"]

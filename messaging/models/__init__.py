from messaging.models.message import Message
from messaging.models.parties import Device, Enterprise, ExchangeDatabase, Subsystem
from messaging.models.volume import MessageVolume

__all__ = ["Device", "Enterprise", "ExchangeDatabase", "Message", "MessageVolume", "Subsystem"]

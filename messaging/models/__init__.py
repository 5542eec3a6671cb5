from messaging.models.message import Message
from messaging.models.parties import Device, Enterprise, ExchangeDatabase, LastRequest, Subsystem
from messaging.models.volume import MessageVolume

__all__ = ["Device", "Enterprise", "ExchangeDatabase", "LastRequest", "Message", "MessageVolume", "Subsystem"]

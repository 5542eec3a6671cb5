from messaging.models.message import Message
from messaging.models.parties import Device, Enterprise, ExchangeDatabase, Subsystem

__all__ = ["Device", "Enterprise", "ExchangeDatabase", "Message", "Subsystem"]

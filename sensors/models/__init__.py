from sensors.models.history import HistorySpool, StoredSignal
from sensors.models.ingest import ConsumerMark, RejectedSignal
from sensors.models.registry import Client, Sensor, SensorClient
from sensors.models.state import SensorState

__all__ = [
    "Client",
    "ConsumerMark",
    "HistorySpool",
    "RejectedSignal",
    "Sensor",
    "SensorClient",
    "SensorState",
    "StoredSignal",
]

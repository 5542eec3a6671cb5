from sensors.models.history import HistorySpool, StoredEvent, StoredSignal
from sensors.models.ingest import RejectedSignal
from sensors.models.ingest_liveness import ConsumerMark, DeafSpan, Hearing, Probe, SteadyClock
from sensors.models.registry import Client, Sensor, SensorClient
from sensors.models.state import SensorState, SignalPage

__all__ = [
    "Client",
    "ConsumerMark",
    "DeafSpan",
    "Hearing",
    "HistorySpool",
    "Probe",
    "RejectedSignal",
    "Sensor",
    "SensorClient",
    "SensorState",
    "SignalPage",
    "SteadyClock",
    "StoredEvent",
    "StoredSignal",
]

from sensors.models.delivery_totals import COUNTED_DELIVERIES, DeliverySpan, DeliveryTotal, TouchedDeliveryHour
from sensors.models.history import HistorySpool, StoredEvent, StoredSignal
from sensors.models.ingest import RejectedSignal, RepeatedSignal
from sensors.models.ingest_liveness import ConsumerMark, DeafSpan, Probe, SteadyClock, WayIn
from sensors.models.registry import Client, LinkRecord, Sensor, SensorClient
from sensors.models.state import OpenDoor, SensorState, SignalPage

__all__ = [
    "COUNTED_DELIVERIES",
    "Client",
    "ConsumerMark",
    "DeafSpan",
    "DeliverySpan",
    "DeliveryTotal",
    "HistorySpool",
    "LinkRecord",
    "OpenDoor",
    "Probe",
    "RejectedSignal",
    "RepeatedSignal",
    "Sensor",
    "SensorClient",
    "SensorState",
    "SignalPage",
    "SteadyClock",
    "StoredEvent",
    "StoredSignal",
    "TouchedDeliveryHour",
    "WayIn",
]

from processes.coordination.models.coordinator import (
    CoordinatorState,
    HeldRow,
    Progress,
    RoleLife,
    WriterEvent,
    WriterEventPayload,
    WriterEventReader,
)
from processes.coordination.models.numbers import AppEventPayloadStatus, AppEventStatus, AppEventType
from processes.coordination.models.writer import AppEvent, AppEventPayload, DummyItem, DummyNode, WriterState

__all__ = [
    "AppEvent",
    "AppEventPayload",
    "AppEventPayloadStatus",
    "AppEventStatus",
    "AppEventType",
    "CoordinatorState",
    "DummyItem",
    "DummyNode",
    "HeldRow",
    "Progress",
    "RoleLife",
    "WriterEvent",
    "WriterEventPayload",
    "WriterEventReader",
    "WriterState",
]

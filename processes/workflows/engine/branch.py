"""An earlier state as the start of a new branch: everything that waits is opened again under a new id."""

from datetime import datetime
from typing import Any

from processes.workflows.engine.execution.records import (
    SECTIONS,
    CompensationEntry,
    InstanceState,
    Library,
    TimerRecord,
    sequence_number,
)

# The fields of records that hold an id of another record.
_REFERENCES = ("scope", "token", "parent", "loop", "undo", "within")


def branch_state(
    library: Library, state: InstanceState, *, epoch: int, taken_at: datetime, at: datetime
) -> InstanceState:
    """Copy a state for a new branch: new ids in the new epoch, timers moved to the new time.

    Durations and cycles keep the time they had left when the state was taken; a date stays the same date. The order of
    ids is kept, so that the same commands lead to the same states.
    """
    ids = [key for section in SECTIONS for key in state.get(section) or {}]  # type: ignore[attr-defined]
    names = {key: f"{epoch}.{count}" for count, key in enumerate(sorted(ids, key=sequence_number), start=1)}
    # The counter goes on after these ids: no id of the epoch is used twice.
    renewed: InstanceState = {**state, "epoch": epoch, "next": len(names) + 1}
    for section in SECTIONS:
        records: dict[str, Any] = state.get(section) or {}  # type: ignore[assignment]
        if records:
            keys = sorted(records, key=sequence_number)
            renewed[section] = {names[key]: _rename_references(records[key], names) for key in keys}  # type: ignore[literal-required]
    if "timers" in renewed:
        renewed["timers"] = {
            key: _restart_timer(timer, taken_at=taken_at, at=at) for key, timer in renewed["timers"].items()
        }
    if "items" in renewed:
        for item in renewed["items"].values():
            if "paused" in item:
                item["paused"] = [_restart_timer(timer, taken_at=taken_at, at=at) for timer in item["paused"]]
    if "compensations" in state:
        renewed["compensations"] = _rename_entries(state["compensations"], names)
    renewed.pop("decisions", None)  # a return evaluates none
    return renewed


def _rename_references(record: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    renamed = {**record}
    for field in _REFERENCES:
        if record.get(field) is not None:
            renamed[field] = names[record[field]]
    if "entries" in record:
        renamed["entries"] = _rename_entries(record["entries"], names)
    if "paused" in record:
        renamed["paused"] = [_rename_references(timer, names) for timer in record["paused"]]
    return renamed


def _rename_entries(entries: list[CompensationEntry], names: dict[str, str]) -> list[CompensationEntry]:
    return [{**entry, "scope": names[entry["scope"]]} for entry in entries]


def _restart_timer(timer: TimerRecord, *, taken_at: datetime, at: datetime) -> TimerRecord:
    if timer["kind"] == "date":
        return timer
    left = datetime.fromisoformat(timer["due"]) - taken_at
    return {**timer, "due": (at + left).isoformat()}

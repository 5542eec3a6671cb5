"""What the registry says of each kind of party: the values that services change and the change log keeps."""

from dataclasses import dataclass
from typing import TypedDict


@dataclass(frozen=True, slots=True)
class EnterpriseValues:
    name: str = ""
    active: bool = True


class EnterpriseEdits(TypedDict, total=False):
    name: str
    active: bool


@dataclass(frozen=True, slots=True)
class SubsystemValues:
    enterprise: str = ""
    name: str = ""


class SubsystemEdits(TypedDict, total=False):
    enterprise: str
    name: str


@dataclass(frozen=True, slots=True)
class DeviceValues:
    enterprise: str = ""
    """Follows from the subsystem; where it is named it must be the subsystem's."""
    subsystem: str = ""
    name: str = ""
    active: bool = True


class DeviceEdits(TypedDict, total=False):
    enterprise: str
    subsystem: str
    name: str
    active: bool


@dataclass(frozen=True, slots=True)
class DatabaseValues:
    enterprise: str = ""
    name: str = ""
    active: bool = True


class DatabaseEdits(TypedDict, total=False):
    enterprise: str
    name: str
    active: bool

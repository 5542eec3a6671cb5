"""The values of each kind of party: what services change and what the change log records."""

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
    """That of the subsystem; where it is given it must be the same."""
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

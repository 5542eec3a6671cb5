"""The table of mechanisms, system by system."""

from tests.mutants.mutant import Mutant
from tests.mutants.table import (
    alerts,
    coordination,
    engines,
    exchange,
    messaging,
    notifications,
    sensors,
    sessions,
    shared,
    workflows,
)

MUTANTS: tuple[Mutant, ...] = (
    *shared.ROWS,
    *sensors.ROWS,
    *notifications.ROWS,
    *alerts.ROWS,
    *sessions.ROWS,
    *messaging.ROWS,
    *exchange.ROWS,
    *workflows.ROWS,
    *coordination.ROWS,
    *engines.ROWS,
)

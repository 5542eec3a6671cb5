"""The names of the works of this app, as they are rung where the roles run beside the server."""

WRITER = "coordination.writer"
ALIVE = "coordination.alive"
ABSENCES = "coordination.absences"

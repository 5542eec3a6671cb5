"""Names of the background work of workflows."""

TIMERS = "workflows.timers"
STARTS = "workflows.starts"
JOBS = "workflows.jobs"
EFFECTS = "workflows.effects"
INCOMING = "workflows.in"
POSTPONED = "workflows.postponed"

"""Names of the work that the background does for workflows."""

TIMERS = "workflows.timers"
STARTS = "workflows.starts"
JOBS = "workflows.jobs"
EFFECTS = "workflows.effects"
INCOMING = "workflows.in"
POSTPONED = "workflows.postponed"

"""Icons of cases, in the same square as those of processes."""

from processes.workflows.engine.diagram.icons import EVENTS, TASKS, Icon, disc

ITEMS = {
    "humanTask": TASKS["userTask"],
    "processTask": Icon("M-9 -6H3.4L9 0L3.4 6H-9L-3.8 0Z"),
    "caseTask": Icon("M-9 7V-7H-2.4L-0.4 -4H9V7Z", "M-9 -4H-0.4"),
    "decisionTask": TASKS["businessRuleTask"],
}

LISTENERS = {"timerEventListener": EVENTS["timer"], "userEventListener": TASKS["userTask"]}

DECORATORS = {
    "auto_complete": Icon("M-6.5 -6.5H6.5V6.5H-6.5Z", is_solid=True),
    "manual": Icon("M-5.5 -7.5L8 0L-5.5 7.5Z"),
    "required": Icon("M-1.4 -7.6H1.4L0.7 2H-0.7Z" + disc(1.2, 0, 6.4), is_solid=True),
    "repetition": Icon("M-2 -8L-3.6 8M3.6 -8L2 8M-7.6 -3H7.6M-7.6 3H7.6", is_open=True),
}

STATES = {
    "available": Icon(disc(5.5), is_open=True),
    "enabled": Icon("M-4 -6L6.5 0L-4 6Z", is_open=True),
    "active": Icon("M-4 -6L6.5 0L-4 6Z", is_solid=True),
    "suspended": Icon("M-3.2 -5.5V5.5M3.2 -5.5V5.5", is_open=True),
    "disabled": Icon(disc(5.8) + "M-4.1 4.1L4.1 -4.1", is_open=True),
    "failed": Icon("M-1 -6.6H1L0.5 1.6H-0.5Z" + disc(0.9, 0, 5.6), is_solid=True),
    "completed": Icon("M-6 0.5L-2 4.8L6 -4.6", is_open=True),
    "closed": Icon("M-4.6 -4.6H4.6V4.6H-4.6Z", is_solid=True),
    "terminated": Icon("M-4.6 -4.6L4.6 4.6M4.6 -4.6L-4.6 4.6", is_open=True),
}

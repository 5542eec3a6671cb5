"""Execution of processes: each module is one subject of BPMN, all of them change one `UnitOfWork`.

A token sits on an element, in a scope. What waits for something outside (a task, a timer, a subscription) is owned by a
token, or by the scope when it would start an event sub-process; a scope is owned by the token of the activity that runs
in it. To cancel something is to remove everything it owns.
"""

"""How a definition runs: each module is one subject of the standard, all of them work on one `Work`.

A token sits on an element and lies in a scope. What waits for something outside (a task, a timer, a subscription)
belongs to a token, or to the scope when it would start an event sub-process; so does a scope belong to the token of the
activity that runs in it. To cancel something is to remove everything that belongs to it.
"""

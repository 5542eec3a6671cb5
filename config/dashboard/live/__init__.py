"""The live pages: one broadcaster per web process reads what is going on, and sends every open page what changed.

admission     who may see which parts
page_state    what the start page knows, and when it is worth reading again; each part of it in a module of its own
              (inbox, doors, deliveries, processes, workflows, sessions, change_sets, own_processes, counts)
watched_rows  the rows that lists and pages show, and whether one of them has changed
frames        the same as messages: something whole, then what changed
words         what the start page's script says of statuses
broadcast     the reads, and the queue of each socket
consumer      the socket itself
"""

"""The live start page: one broadcaster per web process reads what is going on, and sends every open page what changed.

admission   who may see which parts
page_state  what is read, and when it is worth reading again
frames      the same as messages: a snapshot, then what changed
broadcast   the reads, and the queue of each socket
consumer    the socket itself
"""

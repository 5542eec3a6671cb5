"""The live start page: one pulse per web process reads what is going on, and tells every open page what changed.

admission   who may see which parts
facts       what is read, and when it is worth reading again
frames      the same as messages: a snapshot, then what changed
pulse       the beat, and the line to each socket
consumer    the socket itself
"""

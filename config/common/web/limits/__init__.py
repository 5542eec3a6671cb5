"""What a call may take of the process, and what each caller's share of it is: before any view, middleware or parser.

Django spools a whole body before its first middleware and starts a thread for every call, so none of it can live inside
it. The order: `config.runtime.connections` at the socket, `calls.py` for head, body and answer, `slots.py` for threads.
"""

from config.common.web.limits.errors import Busy

__all__ = ["Busy"]

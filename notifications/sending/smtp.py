"""Django's mail backend with an end for the whole conversation: its own time-out is for each step alone."""

import io
import math
import smtplib
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from django.core.mail.backends import smtp

from config.common.database.leases import lease_clock

GOODBYE_SECONDS = 1.0
"""How long a server may take to answer `QUIT`: it has taken the mail by then."""


class EmailBackend(smtp.EmailBackend):
    """Send by SMTP; nothing leaves after `deadline`, a time of `lease_clock`."""

    def __init__(self, *args: Any, deadline: float = math.inf, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline = deadline

    @property
    def connection_class(self) -> Any:
        return partial(_EncryptedConversation if self.use_ssl else _Conversation, deadline=self._deadline)


class _Conversation(smtplib.SMTP):
    def __init__(self, *args: Any, deadline: float, **options: Any) -> None:
        self._deadline = deadline
        super().__init__(*args, **options)

    def _get_socket(self, host: str, port: int, timeout: float) -> Any:
        return super()._get_socket(host, port, self._limit(timeout))  # type: ignore[misc]

    def send(self, s: Any) -> None:
        if self.sock is not None:
            self.sock.settimeout(self._limit(self.timeout))
        super().send(s)

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:
            self.file = io.BufferedReader(_Replies(self.sock, lambda: self._limit(self.timeout)))
        return super().getreply()

    def quit(self) -> tuple[int, bytes]:
        self._deadline = min(self._deadline, lease_clock() + GOODBYE_SECONDS)
        return super().quit()

    def _limit(self, seconds: float) -> float:
        """Return how long the next step may take; raise if the time of the conversation is over."""
        left = self._deadline - lease_clock()
        if left <= 0:  # whoever sends or reads closes the connection: here a read may be under way
            raise smtplib.SMTPServerDisconnected("the time for the conversation is over")
        return min(seconds, left)


class _EncryptedConversation(_Conversation, smtplib.SMTP_SSL):
    pass


class _Replies(socket.SocketIO):
    """What the server says, the limit set anew for each piece: one that sends a byte now and then is never silent."""

    def __init__(self, connection: socket.socket, limit: Callable[[], float]) -> None:
        super().__init__(connection, "r")
        self._connection, self._limit = connection, limit

    def readinto(self, buffer: Any) -> int | None:
        self._connection.settimeout(self._limit())
        return super().readinto(buffer)

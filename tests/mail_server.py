"""A mail server on loopback that keeps what it is sent, or refuses recipients on request."""

import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email import message_from_bytes, policy
from email.message import EmailMessage


class MailServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        self.refuses = ""
        """What it answers to every recipient, such as `550 no such mailbox`."""
        self.pause = 0.0
        """Seconds between two bytes of an answer: a server that is slow and never silent."""
        self.slow_goodbye = 0.0
        """Seconds before it answers to `QUIT`."""
        self.inbox: list[tuple[str, EmailMessage]] = []
        super().__init__(("127.0.0.1", port), _Conversation)

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Conversation(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self._say("220 sink")
        recipient = ""
        while line := self.rfile.readline().decode().strip():
            verb = line[:4].upper()
            if verb == "DATA":
                self._say("354 go on")
                self.server.inbox.append((recipient, self._read()))
            elif verb == "RCPT":
                recipient = line.partition("<")[2].partition(">")[0]
                if self.server.refuses:
                    self._say(self.server.refuses)
                    continue
            if verb == "QUIT":
                time.sleep(self.server.slow_goodbye)
            self._say("221 bye" if verb == "QUIT" else "250 sink")
            if verb == "QUIT":
                return

    def _read(self) -> EmailMessage:
        lines = list[bytes]()
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line)
        return message_from_bytes(b"".join(lines), policy=policy.default)

    def _say(self, text: str) -> None:
        answer = f"{text}\r\n".encode()
        if not self.server.pause:
            self.wfile.write(answer)
            return
        with suppress(OSError):  # the other side has had enough
            for byte in answer:
                self.wfile.write(bytes([byte]))
                time.sleep(self.server.pause)


@contextmanager
def mail_server(port: int = 0) -> Iterator[MailServer]:
    with MailServer(port) as server:
        threading.Thread(target=server.serve_forever, args=[0.05], daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()

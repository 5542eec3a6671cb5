import base64
import hashlib
import hmac
import json
import os
import time
from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer

SECRET = base64.b64decode(os.environ["SECRET"].removeprefix("whsec_"))


def is_genuine(headers: Message, body: bytes) -> bool:
    """Say whether whoever knows the secret has sent this, within the last five minutes."""
    sent_at = headers["webhook-timestamp"]
    if abs(time.time() - int(sent_at)) > 300:
        return False
    signed = f"{headers['webhook-id']}.{sent_at}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.digest(SECRET, signed, hashlib.sha256))
    # While a secret is rotated there are two signatures: one of them fits.
    return any(hmac.compare_digest(expected, each.encode()) for each in headers["webhook-signature"].split())


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        genuine = is_genuine(self.headers, body)
        if genuine:
            print(self.headers["webhook-id"], json.loads(body), flush=True)
        self.send_response(204 if genuine else 401)  # anything but 2xx is sent again later
        self.end_headers()


HTTPServer(("127.0.0.1", 9000), Receiver).serve_forever()

"""A private nginx with the configuration that the product ships, before a web server of ours."""

import datetime
import socket
import string
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.servers.packages import get_program
from tests.servers.private_server import HOST, PrivateServer, find_free_port

TEMPLATE = Path(__file__).resolve().parents[2] / "config" / "proxy" / "nginx.conf.template"
NAME = "localhost"


class NginxServer(PrivateServer):
    """nginx in front of the given port, as `localhost`, with a certificate of its own making.

    How long it waits for a head and how soon calls may follow a burst are given: a test waits for neither.
    """

    name = "nginx"

    def __init__(self, upstream: int, *, header_seconds: int, call_rate: str) -> None:
        super().__init__()
        self.http_port = find_free_port()
        self._upstream = upstream
        self._given = {
            "client_header_timeout 10s;": f"client_header_timeout {header_seconds}s;",
            "zone=calls:10m rate=100r/s;": f"zone=calls:10m rate={call_rate};",
        }

    @property
    def url(self) -> str:
        return f"https://{NAME}:{self.port}"

    @property
    def certificate(self) -> Path:
        return self.folder / "certificate.pem"

    def configuration(self) -> str:
        """Fill in the template as nginx's image does, with the defaults of compose.yaml."""
        values = {
            "UPSTREAM": f"{HOST}:{self._upstream}",
            "HTTP_LISTEN": f"{HOST}:{self.http_port}",
            "HTTPS_LISTEN": f"{HOST}:{self.port}",
            "SERVER_NAME": NAME,
            "PUBLIC_URL": self.url,
            "TLS_CERTIFICATE": str(self.certificate),
            "TLS_KEY": str(self.folder / "key.pem"),
            "MESSAGE_BODY_BYTES": "22020096",
            "EXCHANGE_BODY_BYTES": "22020096",
        }
        text = TEMPLATE.read_text()
        for name, value in values.items():
            text = text.replace(f"${{{name}}}", value)
        assert "${" not in text
        for shipped, given in self._given.items():
            assert shipped in text
            text = text.replace(shipped, given)
        return text

    def _prepare(self) -> None:
        self._make_certificate()
        paths = "".join(
            f"{kind}_temp_path {self.folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        main = "pid $folder/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n$paths$site}\n"
        filled = string.Template(main).substitute(folder=self.folder, paths=paths, site=self.configuration())
        (self.folder / "nginx.conf").write_text(filled)

    def _make_certificate(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
            .sign(key, hashes.SHA256())
        )
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        (self.folder / "key.pem").write_bytes(key.private_bytes(*form))
        self.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def _command(self) -> list[str]:
        user = ["-g", "daemon off; user root;"]
        return [get_program("nginx", "/usr/sbin/nginx"), "-p", str(self.folder), "-c", "nginx.conf", *user]

    def _greets(self, connection: socket.socket) -> bool:
        return True

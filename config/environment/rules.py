"""What a variable of the environment may hold: one rule a kind of value, in the words of the message that refuses."""

import base64
import binascii
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

Network = IPv4Network | IPv6Network
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class BadVariable(ValueError):
    """A variable of the environment that breaks its rule."""

    def __init__(self, name: str, rule: str) -> None:
        super().__init__(f"{name}: {rule}")
        self.name = name
        self.rule = rule


@dataclass(frozen=True)
class Rule(Generic[T_co]):
    """What a value must be, in words, and the function that makes the typed value of it or raises `ValueError`."""

    words: str
    convert: Callable[[str], T_co]

    def parse(self, name: str, value: str) -> T_co:
        """Return the typed value, or raise `BadVariable` with the error's own words, else with the rule's."""
        try:
            return self.convert(value)
        except ValueError as error:
            raise BadVariable(name, str(error) or f"must be {self.words}") from error


@dataclass(frozen=True)
class DatabaseAddress:
    """PostgreSQL: one or several hosts, tried in order until one accepts writes."""

    name: str
    user: str
    password: str
    hosts: str
    ports: str
    options: dict[str, str]


def whole_number(least: int, most: int) -> Rule[int]:
    def convert(value: str) -> int:
        # Nobody means a number of twenty digits, and Python takes long over one of thousands.
        if not value.isascii() or not value.isdigit() or not least <= int(value[:19]) <= most:
            raise ValueError
        return int(value)

    return Rule(f"a whole number from {least} to {most}", convert)


def server_url(*schemes: str) -> Rule[str]:
    def convert(value: str) -> str:
        parts = _split(value)
        if parts.scheme not in schemes or not parts.hostname:
            raise ValueError
        return value

    return Rule(f"{schemes[0]}://[user:password@]host[:port][/name]", convert)


def one_of(*words: str) -> Rule[str]:
    def convert(value: str) -> str:
        if value.upper() not in words:
            raise ValueError
        return value.upper()

    return Rule(f"one of {', '.join(words)}", convert)


def text_where(words: str, accepts: Callable[[str], bool]) -> Rule[str]:
    def convert(value: str) -> str:
        if not accepts(value):
            raise ValueError
        return value

    return Rule(words, convert)


def _split(value: str) -> SplitResult:
    """Split a URL; a bad port or bracket is an error of the value, not of the program."""
    try:
        parts = urlsplit(value)
        parts.port  # noqa: B018  (the property checks the number)
    except ValueError as error:
        raise ValueError(f"is not a URL ({error})") from error
    return parts


def _parse_folder(value: str) -> Path:
    path = Path(value).expanduser().resolve()
    if path.exists() and not path.is_dir():
        raise ValueError("must name a folder, and this is a file")
    return path


def _parse_web_address(value: str) -> SplitResult:
    parts = _split(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.path.strip("/"):
        raise ValueError
    return parts


def _parse_mail_server(value: str) -> SplitResult:
    parts = _split(value)
    if parts.scheme not in ("smtp", "smtps", "smtp+tls") or not parts.hostname:
        raise ValueError
    return parts


def _parse_phone(value: str) -> str:
    number = re.sub(r"[ ()-]", "", value)
    if not re.fullmatch(r"\+?[0-9]{5,15}", number):
        raise ValueError
    return number


def _parse_headers(value: str) -> dict[str, str]:
    try:
        headers = json.loads(value)
    except ValueError:
        raise ValueError from None  # the words of the rule, not those of the parser
    if not isinstance(headers, dict) or not all(_is_header(name, text) for name, text in headers.items()):
        raise ValueError
    return headers


def _is_header(name: str, text: object) -> bool:
    return bool(re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name)) and isinstance(text, str) and text.isprintable()


def _parse_postgresql(value: str) -> DatabaseAddress:
    """Parse by hand: several hosts (`h1:5432,h2:5433`) are no URL to the standard library."""
    scheme, found, rest = value.partition("://")
    authority, slash, tail = rest.partition("/")
    name, _, query = tail.partition("?")
    account, _, places = authority.rpartition("@")
    if scheme not in ("postgresql", "postgres") or not found or not slash or not name or not places:
        raise ValueError
    user, _, password = account.partition(":")
    hosts, ports = zip(*map(_parse_host, places.split(",")), strict=True)
    # Of one host as well: behind its name another server may stand tomorrow, and one that follows takes no writes.
    options = {"target_session_attrs": "read-write", **dict(parse_qsl(query))}
    return DatabaseAddress(
        name=unquote(name),
        user=unquote(user),
        password=unquote(password),
        hosts=",".join(hosts),
        ports=",".join(ports),
        options=options,
    )


def _parse_host(place: str) -> tuple[str, str]:
    host, colon, port = place.rpartition(":") if not place.endswith("]") else (place, "", "")
    if not colon:
        host, port = place, "5432"
    if not host or not port.isdigit() or not 1 <= int(port[:9]) <= 65535:
        raise ValueError
    return unquote(host.strip("[]")), port


def _parse_field_keys(value: str) -> tuple[str, ...]:
    keys = tuple(value.replace(",", " ").split())
    for key in keys:
        try:
            raw = base64.b64decode(key.encode(), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        if len(raw) != 32:
            raise ValueError
    return keys


def _parse_networks(value: str) -> tuple[Network, ...]:
    try:
        return tuple(ip_network(part) for part in value.replace(",", " ").split())
    except ValueError as error:
        raise ValueError(f"must be {NETWORKS.words} ({error})") from error


def _parse_packages(value: str) -> tuple[str, ...]:
    packages = tuple(value.replace(",", " ").split())
    for package in packages:
        try:
            found = find_spec(f"{package}.plugin")
        except ImportError:
            found = None
        if found is None:
            raise ValueError(f"must be {PACKAGES.words}, and there is no module {package}.plugin")
    return packages


TEXT = Rule("text", str)
FOLDER = Rule("a folder", _parse_folder)
WEB_ADDRESS = Rule("http://host[:port] or https://host[:port], without a path", _parse_web_address)
POSTGRESQL = Rule("postgresql://[user[:password]@]host[:port][,host2[:port2]]/name[?option=value]", _parse_postgresql)
MAIL_SERVER = Rule("smtp://, smtps:// or smtp+tls:// with [user:password@]host[:port]", _parse_mail_server)
MAIL_ADDRESS = text_where(
    "one e-mail address, name@host",
    lambda value: len(value) <= 254 and bool(re.fullmatch(r"[^@\s<>,;]+@[^@\s<>,;]+", value)),
)
PHONE = Rule("one telephone number of 5 to 15 digits, with or without a + before it", _parse_phone)
HEADERS = Rule('a JSON object of texts, such as {"authorization": "Bearer …"}', _parse_headers)
SECRET = text_where("at least 50 characters, made at random", lambda value: len(value) >= 50 and len(set(value)) >= 5)
FIELD_KEYS = Rule("a list of keys, each 32 bytes in URL-safe base64; the first one encrypts", _parse_field_keys)
NETWORKS = Rule("a list of networks such as 10.0.0.0/8", _parse_networks)
PACKAGES = Rule("a list of packages on the Python path", _parse_packages)

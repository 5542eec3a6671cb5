"""Read the environment once, typed; a wrong variable stops the start with one line that names it and its rule.

Plain Python on purpose: it runs before Django, and the supervisor uses it without Django's settings. A general
settings library would give its own wording; here the rule of each variable is the message.
"""

import base64
import binascii
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TypedDict, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

Network = IPv4Network | IPv6Network
T = TypeVar("T")

SMS_BODY = '{"to": "{to}", "text": "{text}"}'


class BadVariable(ValueError):
    """A variable of the environment that breaks its rule."""

    def __init__(self, name: str, rule: str) -> None:
        super().__init__(f"{name}: {rule}")
        self.name = name
        self.rule = rule


@dataclass(frozen=True)
class DatabaseAddress:
    """PostgreSQL: one or several hosts, tried in order until one accepts writes."""

    name: str
    user: str
    password: str
    hosts: str
    ports: str
    options: dict[str, str]


@dataclass(frozen=True)
class Environment:
    port: int
    bind_address: str
    data_dir: Path
    public_url: SplitResult
    admin_password: str | None
    database: DatabaseAddress | None
    readers: dict[str, DatabaseAddress]
    amqp_url: str | None
    redis_url: str | None
    clickhouse_url: str | None
    email_url: SplitResult | None
    email_from: str | None
    sms_url: str | None
    sms_method: str
    sms_headers: dict[str, str]
    sms_body: str
    admin_email: str | None
    admin_phone: str | None
    secret_key: str | None
    field_keys: tuple[str, ...]
    key_rate: int
    enterprise_rate: int
    failed_key_rate: int
    web_concurrency: int
    web_connections: int
    web_connections_per_address: int
    metrics_networks: tuple[Network, ...]
    forwarded_networks: tuple[Network, ...]
    webhook_networks: tuple[Network, ...]
    message_max_mb: int
    exchange_max_mb: int
    exchange_max_files: int
    exchange_started_timeout: int
    exchange_ready_timeout: int
    message_path_max: int
    event_days: int
    rejected_days: int
    retention_days: int
    change_days: int
    delivery_base_seconds: int
    delivery_attempts: int
    delivery_slots: int
    delivery_slots_per_client: int
    attempt_days: int
    delivery_days: int
    session_workers: int
    session_idle_minutes: int
    history_batch: int
    history_seconds: int
    history_retention_months: int
    history_spool_gb: int
    finished_instance_days: int
    coordination_deadline: int
    coordination_parallel: int
    plugins: tuple[str, ...]
    ingest_batch: int
    ingest_milliseconds: int
    log_level: str


@cache
def environment() -> Environment:
    return read(os.environ)


def read(variables: Mapping[str, str]) -> Environment:
    """Check every variable that the product knows and return the typed values."""
    source = _Source(variables)
    port = source.integer("PORT", 8000, 1, 65535)
    return Environment(
        port=port,
        bind_address=source.text("BIND_ADDRESS") or "127.0.0.1",
        data_dir=source.take("DATA_DIR", _folder) or Path("var").resolve(),
        public_url=source.take("PUBLIC_URL", _web_address) or urlsplit(f"http://127.0.0.1:{port}"),
        admin_password=source.text("ADMIN_PASSWORD"),
        database=source.take("DATABASE_URL", _postgresql),
        readers=_readers(source),
        amqp_url=source.take("AMQP_URL", _server("amqp", "amqps")),
        redis_url=source.take("REDIS_URL", _server("redis", "rediss")),
        clickhouse_url=source.take("CLICKHOUSE_URL", _server("clickhouse", "clickhouses")),
        email_url=source.take("EMAIL_URL", _mail_server),
        email_from=source.take("EMAIL_FROM", _mail_address),
        **_sms(source),
        admin_email=source.take("ADMIN_EMAIL", _mail_address),
        admin_phone=source.take("ADMIN_PHONE", _phone),
        secret_key=source.take("SECRET_KEY", _long_secret),
        field_keys=source.take("FIELD_KEYS", _field_keys) or (),
        **_rates(source),
        web_concurrency=source.integer("WEB_CONCURRENCY", 32, 1, 1000),
        web_connections=source.integer("WEB_CONNECTIONS", 1000, 10, 100_000),
        web_connections_per_address=source.integer("WEB_CONNECTIONS_PER_ADDRESS", 250, 1, 100_000),
        metrics_networks=source.take("METRICS_ALLOWED_NETWORKS", _networks) or (),
        forwarded_networks=source.take("FORWARDED_ALLOW_IPS", _networks) or (),
        webhook_networks=source.take("WEBHOOK_ALLOWED_NETWORKS", _networks) or (),
        message_max_mb=source.integer("MESSAGE_MAX_MB", 20, 1, 1024),
        exchange_max_mb=source.integer("EXCHANGE_MAX_MB", 20, 1, 1024),
        exchange_max_files=source.integer("EXCHANGE_MAX_FILES", 10, 1, 1000),
        exchange_started_timeout=source.integer("EXCHANGE_STARTED_TIMEOUT", 600, 1, 86_400),
        exchange_ready_timeout=source.integer("EXCHANGE_READY_TIMEOUT", 600, 1, 86_400),
        message_path_max=source.integer("MESSAGE_PATH_MAX", 1024, 256, 4096),
        ingest_batch=source.integer("INGEST_BATCH", 2000, 1, 20_000),
        ingest_milliseconds=source.integer("INGEST_MILLISECONDS", 100, 1, 5000),
        event_days=source.integer("EVENT_DAYS", 30, 1, 3650),
        rejected_days=source.integer("REJECTED_DAYS", 7, 1, 3650),
        retention_days=source.integer("RETENTION_DAYS", 90, 1, 3650),
        change_days=source.integer("CHANGE_DAYS", 1095, 1, 36_500),
        delivery_base_seconds=source.integer("DELIVERY_BASE_SECONDS", 300, 1, 86_400),
        delivery_attempts=source.integer("DELIVERY_ATTEMPTS", 10, 1, 100),
        delivery_slots=source.integer("DELIVERY_SLOTS", 100, 1, 5000),
        delivery_slots_per_client=source.integer("DELIVERY_SLOTS_PER_CLIENT", 8, 1, 1000),
        attempt_days=source.integer("ATTEMPT_DAYS", 30, 1, 3650),
        delivery_days=source.integer("DELIVERY_DAYS", 90, 1, 3650),
        session_workers=source.integer("SESSION_WORKERS", 8, 1, 200),
        session_idle_minutes=source.integer("SESSION_IDLE_MINUTES", 480, 1, 20_160),
        history_batch=source.integer("HISTORY_BATCH", 50_000, 1, 60_000),
        history_seconds=source.integer("HISTORY_SECONDS", 5, 1, 60),
        history_spool_gb=source.integer("HISTORY_SPOOL_GB", 10, 1, 100_000),
        history_retention_months=source.integer("HISTORY_RETENTION_MONTHS", 0, 0, 1200),
        finished_instance_days=source.integer("FINISHED_INSTANCE_DAYS", 0, 0, 36_500),
        coordination_deadline=source.integer("COORDINATION_DEADLINE", 300, 1, 86_400),
        coordination_parallel=source.integer("COORDINATION_PARALLEL", 1, 1, 1000),
        plugins=source.take("PLUGINS", _plugins) or (),
        log_level=source.take("LOG_LEVEL", _log_level) or "INFO",
    )


class _Source:
    """The variables, read by name: an empty one counts as unset."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables

    def text(self, name: str) -> str | None:
        return self.variables.get(name, "").strip() or None

    def take(self, name: str, parse: Callable[[str], T]) -> T | None:
        value = self.text(name)
        if value is None:
            return None
        try:
            return parse(value)
        except ValueError as error:
            raise BadVariable(name, str(error)) from error

    def whole(self, name: str, least: int, most: int) -> int | None:
        return self.take(name, lambda value: _whole(value, least, most))

    def integer(self, name: str, default: int, least: int, most: int) -> int:
        value = self.whole(name, least, most)
        return default if value is None else value


def _whole(value: str, least: int, most: int) -> int:
    if not value.isascii() or not value.isdigit() or not least <= int(value[:19]) <= most:
        raise ValueError(f"must be a whole number from {least} to {most}")
    return int(value)


def _folder(value: str) -> Path:
    path = Path(value).expanduser().resolve()
    if path.exists() and not path.is_dir():
        raise ValueError("must name a folder, and this is a file")
    return path


def _split(value: str) -> SplitResult:
    """Split a URL; a bad port or bracket is an error of the value, not of the program."""
    try:
        parts = urlsplit(value)
        parts.port  # noqa: B018  (the property checks the number)
    except ValueError as error:
        raise ValueError(f"is not a URL ({error})") from error
    return parts


def _server(*schemes: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        parts = _split(value)
        if parts.scheme not in schemes or not parts.hostname:
            raise ValueError(f"must be {schemes[0]}://[user:password@]host[:port][/name]")
        return value

    return parse


def _web_address(value: str) -> SplitResult:
    parts = _split(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.path.strip("/"):
        raise ValueError("must be http://host[:port] or https://host[:port], without a path")
    return parts


def _mail_server(value: str) -> SplitResult:
    parts = _split(value)
    if parts.scheme not in ("smtp", "smtps", "smtp+tls") or not parts.hostname:
        raise ValueError("must be smtp://, smtps:// or smtp+tls:// with [user:password@]host[:port]")
    return parts


def _mail_address(value: str) -> str:
    if len(value) > 254 or not re.fullmatch(r"[^@\s<>,;]+@[^@\s<>,;]+", value):
        raise ValueError("must be one e-mail address, name@host")
    return value


def _phone(value: str) -> str:
    number = re.sub(r"[ ()-]", "", value)
    if not re.fullmatch(r"\+?[0-9]{5,15}", number):
        raise ValueError("must be one telephone number of 5 to 15 digits, with or without a + before it")
    return number


class _Gateway(TypedDict):
    sms_url: str | None
    sms_method: str
    sms_headers: dict[str, str]
    sms_body: str


def _sms(source: "_Source") -> _Gateway:
    """Read how the SMS gateway is called; somewhere both the number and the text must go."""
    url = source.take("SMS_URL", _server("http", "https"))
    method = source.take("SMS_METHOD", _method) or "POST"
    body = "" if method == "GET" else source.text("SMS_BODY") or SMS_BODY
    if url is not None and not all(name in url + body for name in ("{to}", "{text}")):
        variable = "SMS_URL" if method == "GET" else "SMS_BODY"
        raise BadVariable(variable, "must hold {to} and {text}, where the number and the text go")
    headers = source.take("SMS_HEADERS", _headers) or {}
    return {"sms_url": url, "sms_method": method, "sms_headers": headers, "sms_body": body}


class _Rates(TypedDict):
    key_rate: int
    enterprise_rate: int
    failed_key_rate: int


def _rates(source: "_Source") -> _Rates:
    """Read how many calls a minute are taken; the defaults are past what one web process serves."""
    return {
        "key_rate": source.integer("KEY_RATE", 60_000, 1, 1_000_000),
        "enterprise_rate": source.integer("ENTERPRISE_RATE", 300_000, 1, 10_000_000),
        "failed_key_rate": source.integer("FAILED_KEY_RATE", 600, 1, 1_000_000),
    }


def _method(value: str) -> str:
    if value.upper() not in ("GET", "POST", "PUT"):
        raise ValueError("must be GET, POST or PUT")
    return value.upper()


def _headers(value: str) -> dict[str, str]:
    rule = 'must be a JSON object of texts, such as {"authorization": "Bearer …"}'
    try:
        headers = json.loads(value)
    except ValueError as error:
        raise ValueError(rule) from error
    if not isinstance(headers, dict) or not all(_is_header(name, text) for name, text in headers.items()):
        raise ValueError(rule)
    return headers


def _is_header(name: str, text: object) -> bool:
    return bool(re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name)) and isinstance(text, str) and text.isprintable()


def _postgresql(value: str) -> DatabaseAddress:
    """Parse by hand: several hosts (`h1:5432,h2:5433`) are no URL to the standard library."""
    rule = "must be postgresql://[user[:password]@]host[:port][,host2[:port2]]/name[?option=value]"
    scheme, found, rest = value.partition("://")
    authority, slash, tail = rest.partition("/")
    name, _, query = tail.partition("?")
    account, _, places = authority.rpartition("@")
    if scheme not in ("postgresql", "postgres") or not found or not slash or not name or not places:
        raise ValueError(rule)
    user, _, password = account.partition(":")
    hosts, ports = zip(*(_place(place, rule) for place in places.split(",")), strict=True)
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


def _place(place: str, rule: str) -> tuple[str, str]:
    host, colon, port = place.rpartition(":") if not place.endswith("]") else (place, "", "")
    if not colon:
        host, port = place, "5432"
    if not host or not port.isdigit() or not 1 <= int(port[:9]) <= 65535:
        raise ValueError(rule)
    return unquote(host.strip("[]")), port


def _readers(source: _Source) -> dict[str, DatabaseAddress]:
    """Collect `READER_DATABASE_URL` (the reader `main`) and each `READER_DATABASE_URL_<NAME>`."""
    prefix = "READER_DATABASE_URL"
    found: dict[str, DatabaseAddress] = {}
    for variable in sorted(name for name in source.variables if name.startswith(prefix)):
        reader = "main" if variable == prefix else variable.removeprefix(prefix + "_").lower()
        if not reader.isidentifier():
            raise BadVariable(variable, "must end in a name of letters, digits and _")
        address = source.take(variable, _postgresql)
        if address is not None:
            found[reader] = address
    return found


def _long_secret(value: str) -> str:
    if len(value) < 50 or len(set(value)) < 5:
        raise ValueError("must have at least 50 characters, made at random")
    return value


def _field_keys(value: str) -> tuple[str, ...]:
    keys = tuple(key for key in value.replace(",", " ").split())
    for key in keys:
        try:
            raw = base64.b64decode(key.encode(), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        if len(raw) != 32:
            raise ValueError("must be a list of keys, each 32 bytes in URL-safe base64; the first one encrypts")
    return keys


def _networks(value: str) -> tuple[Network, ...]:
    try:
        return tuple(ip_network(part) for part in value.replace(",", " ").split())
    except ValueError as error:
        raise ValueError(f"must be a list of networks such as 10.0.0.0/8 ({error})") from error


def _plugins(value: str) -> tuple[str, ...]:
    packages = tuple(value.replace(",", " ").split())
    for package in packages:
        try:
            found = find_spec(f"{package}.plugin")
        except ImportError:
            found = None
        if found is None:
            raise ValueError(f"must be a list of packages on the Python path, and there is no module {package}.plugin")
    return packages


def _log_level(value: str) -> str:
    levels = ("DEBUG", "INFO", "WARNING", "ERROR")
    if value.upper() not in levels:
        raise ValueError(f"must be one of {', '.join(levels)}")
    return value.upper()

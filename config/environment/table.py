# ruff: noqa: RUF009  (a field of these classes is declared by a call)
"""Every variable of the environment, written once: its type, its rule, its default and its row of the documentation.

The classes are the sections of `docs/configuration.md`; a field is the variable of the same name in capitals.
"""

from dataclasses import Field, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

from config.environment import rules
from config.environment.rules import DatabaseAddress, Network, Rule, one_of, server_url, whole_number

T = TypeVar("T")

SMS_BODY = '{"to": "{to}", "text": "{text}"}'


@dataclass(frozen=True)
class Variable:
    """What is known of one variable beside its type."""

    name: str
    rule: Rule[Any]
    meaning: str
    unset: str
    """What stands in the column of the default, where that is no value."""
    is_family: bool = False


def variable(rule: Rule[T], default: T, meaning: str, *, unset: str = "", name: str = "") -> T:
    """Declare a field of the environment; without a `name` the variable is that of the field, in capitals."""
    made: T = field(default_factory=lambda: default, metadata={"variable": Variable(name, rule, meaning, unset)})
    return made


def variable_family(rule: Rule[T], meaning: str, *, unset: str, name: str) -> dict[str, T]:
    """Declare a field that `NAME` (under `main`) and every `NAME_<SUFFIX>` have a part in."""
    known = Variable(name, rule, meaning, unset, is_family=True)
    made: dict[str, T] = field(default_factory=dict, metadata={"variable": known})
    return made


def variable_of(declared: "Field[Any]") -> Variable:
    """Return what a field of the environment was declared by, under its full name."""
    found: Variable = declared.metadata["variable"]
    return found if found.name else replace(found, name=declared.name.upper())


@dataclass(frozen=True)
class Engines:
    """Engines

    Each variable switches one engine on; unset means the embedded one.
    """

    database: DatabaseAddress | None = variable(
        rules.POSTGRESQL,
        None,
        "PostgreSQL 15+; several hosts are tried until one takes writes",
        unset="SQLite in `DATA_DIR`",
        name="DATABASE_URL",
    )
    readers: dict[str, DatabaseAddress] = variable_family(
        rules.POSTGRESQL,
        "the PostgreSQL database of the reader `main`, and of one more",
        unset="a second SQLite file in `DATA_DIR`",
        name="READER_DATABASE_URL",
    )
    amqp_url: str | None = variable(
        server_url("amqp", "amqps"),
        None,
        "RabbitMQ 3.10+: signals, workflow events, coordination and Celery",
        unset="REST alone; scheduled work runs inside the server's process",
    )
    redis_url: str | None = variable(
        server_url("redis", "rediss"), None, "Redis 7: rate limits across processes", unset="in memory"
    )
    clickhouse_url: str | None = variable(
        server_url("clickhouse", "clickhouses"),
        None,
        "ClickHouse, native protocol: history",
        unset="tables in the database",
    )
    email_url: SplitResult | None = variable(rules.MAIL_SERVER, None, "SMTP server", unset="the console")
    sms_url: str | None = variable(server_url("http", "https"), None, "SMS gateway", unset="the console")


@dataclass(frozen=True)
class Serving:
    """Where it serves, and from what"""

    port: int = variable(whole_number(1, 65_535), 8000, "the port to listen on")
    bind_address: str = variable(rules.TEXT, "127.0.0.1", "the address to listen on")
    data_dir: Path = variable(
        rules.FOLDER,
        Path("var").resolve(),
        "message files, SQLite, generated secrets, static files; shared by all nodes that exchange messages, which run "
        "as one user. Nobody else may look into it: a folder from before is narrowed to 0700 at the start, and one "
        "that is not ours to narrow stops it",
        unset="`./var`",
    )
    public_url: SplitResult = variable(
        rules.WEB_ADDRESS,
        urlsplit("http://127.0.0.1:8000"),
        "how people reach it; `https://…` switches on secure `__Host-` cookies, HSTS and the redirect",
        unset="`http://127.0.0.1:PORT`",
    )
    forwarded_networks: tuple[Network, ...] = variable(
        rules.NETWORKS,
        (),
        "addresses or networks of the proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed; of several "
        "entries the last one that is not such a proxy counts",
        unset="nobody",
        name="FORWARDED_ALLOW_IPS",
    )
    plugins: tuple[str, ...] = variable(
        rules.PACKAGES,
        (),
        "packages of your own that add entities and handlers: [plugins.md](plugins.md)",
        unset="none",
    )
    log_level: str = variable(one_of("DEBUG", "INFO", "WARNING", "ERROR"), "INFO", "what is logged")


@dataclass(frozen=True)
class Secrets:
    """People and secrets"""

    admin_password: str | None = variable(
        rules.TEXT,
        None,
        "password of the first admin, under the rules of every password: ten characters, not a common one",
        unset="made and printed once",
    )
    secret_key: str | None = variable(rules.SECRET, None, "signs sessions and cursors", unset="made once in `DATA_DIR`")
    field_keys: tuple[str, ...] = variable(
        rules.FIELD_KEYS, (), "encrypt stored secrets and answers", unset="made once in `DATA_DIR`"
    )
    session_idle_minutes: int = variable(
        whole_number(1, 20_160),
        480,
        "how long a browser stays signed in without a call; two weeks after the sign-in it ends in any case",
    )
    metrics_networks: tuple[Network, ...] = variable(
        rules.NETWORKS, (), "who reads `/metrics` without a key", unset="nobody", name="METRICS_ALLOWED_NETWORKS"
    )


@dataclass(frozen=True)
class Messages:
    """Mail and SMS"""

    admin_email: str | None = variable(
        rules.MAIL_ADDRESS,
        None,
        "who is mailed about alerts beside the superusers, and alone when the database is away",
        unset="nobody",
    )
    admin_phone: str | None = variable(rules.PHONE, None, "who is texted, likewise", unset="nobody")
    email_from: str | None = variable(
        rules.MAIL_ADDRESS, None, "the sender of mails", unset="`postern@` and the host of `PUBLIC_URL`"
    )
    sms_method: str = variable(one_of("GET", "POST", "PUT"), "POST", "how the gateway of `SMS_URL` is called")
    sms_headers: dict[str, str] = variable(rules.HEADERS, {}, "headers of that call", unset="none")
    sms_body: str = variable(
        rules.TEXT,
        SMS_BODY,
        "the body of the call; `{to}` and `{text}` in it and in `SMS_URL` are filled in, encoded for the content type",
    )


@dataclass(frozen=True)
class Calls:
    """Callers"""

    web_concurrency: int = variable(
        whole_number(1, 1000),
        32,
        "calls of the API at once, per web process; past it, and past a caller's share of it, 503. Pages, sign-in and "
        "large bodies have slots of their own beside them",
    )
    web_connections: int = variable(
        whole_number(10, 100_000), 1000, "connections at once, per web process; past it 503"
    )
    web_connections_per_address: int = variable(
        whole_number(1, 100_000),
        250,
        "connections at once, per address (an IPv6 network of /64 is one); past it 503. A proxy of "
        "`FORWARDED_ALLOW_IPS` has no limit of its own",
    )
    # The defaults of the rates are past what one web process serves.
    key_rate: int = variable(
        whole_number(1, 1_000_000), 60_000, "calls a minute of one key; past it 429 with `Retry-After`"
    )
    enterprise_rate: int = variable(
        whole_number(1, 10_000_000),
        300_000,
        "calls a minute of all keys of the devices and databases of one enterprise; past it 429 with `Retry-After`",
    )
    failed_key_rate: int = variable(
        whole_number(1, 1_000_000),
        600,
        "wrong keys a minute from one address (IPv6: one /64), in each web process; past it unknown keys are refused "
        "unseen, with 429",
    )


@dataclass(frozen=True)
class Sensors:
    """Sensors and history"""

    ingest_batch: int = variable(whole_number(1, 20_000), 2000, "a batch of signals is committed when it is this large")
    ingest_milliseconds: int = variable(
        whole_number(1, 5000), 100, "a batch of signals is committed when it is this old"
    )
    history_batch: int = variable(
        whole_number(1, 60_000), 50_000, "a batch of history is written when it is this large"
    )
    history_seconds: int = variable(whole_number(1, 60), 5, "a batch of history is written when it is this old")
    history_spool_gb: int = variable(
        whole_number(1, 100_000),
        10,
        "so much that waits in the database for ClickHouse is an alert of its own: set it well below the free space of "
        "that disk",
    )
    history_retention_months: int = variable(whole_number(0, 1200), 0, "how long history is kept; `0` keeps it")
    rejected_days: int = variable(whole_number(1, 3650), 7, "how long rejected signals are kept")


@dataclass(frozen=True)
class Notifications:
    """Events, deliveries, repeat sessions"""

    webhook_networks: tuple[Network, ...] = variable(
        rules.NETWORKS,
        (),
        "private networks that webhooks may reach, such as `10.1.0.0/16`; metadata addresses stay closed",
        unset="none",
        name="WEBHOOK_ALLOWED_NETWORKS",
    )
    delivery_base_seconds: int = variable(whole_number(1, 86_400), 300, "the n-th retry waits base × (1 + ln n)")
    delivery_attempts: int = variable(whole_number(1, 100), 10, "after so many attempts a message is dead")
    delivery_slots: int = variable(whole_number(1, 5000), 100, "webhooks under way at once, per process")
    delivery_slots_per_client: int = variable(whole_number(1, 1000), 8, "webhooks under way at once, per client")
    delivery_days: int = variable(whole_number(1, 3650), 90, "how long messages that ended are kept")
    attempt_days: int = variable(whole_number(1, 3650), 30, "how long the attempts to send them are kept")
    event_days: int = variable(whole_number(1, 3650), 30, "how long events are kept")
    session_workers: int = variable(
        whole_number(1, 200),
        8,
        "repeat sessions under way at once, per scheduler, of all themes and of each; those that take longer than a "
        "second are set aside, up to eight for each worker, and a theme that does not answer has one at a time",
    )
    change_days: int = variable(whole_number(1, 36_500), 1095, "how long the change log of the registry is kept")
    retention_days: int = variable(
        whole_number(1, 3650),
        90,
        "how long message files lie in Log, Prepared, Unknown and Error (rows and receipts stay), and how long "
        "resolved alerts and incidents and the log of file errors, refused calls and alerts are kept",
    )


@dataclass(frozen=True)
class Exchange:
    """Messages and exchange"""

    message_max_mb: int = variable(whole_number(1, 1024), 20, "the largest message file")
    message_path_max: int = variable(
        whole_number(256, 4096),
        1024,
        "the longest path, in bytes, that a message file may have under `DATA_DIR`; checked at the start",
    )
    exchange_max_files: int = variable(
        whole_number(1, 1000), 10, "how many files one exchange process takes at most; the ERP may ask for fewer"
    )
    exchange_max_mb: int = variable(
        whole_number(1, 1024), 20, "how much one exchange process takes at most; the ERP may ask for less"
    )
    exchange_started_timeout: int = variable(
        whole_number(1, 86_400), 600, "seconds until a process that the ERP has left before API_3 is offered again"
    )
    exchange_ready_timeout: int = variable(
        whole_number(1, 86_400), 600, "seconds until a process that the ERP has left before API_4 is in doubt"
    )


@dataclass(frozen=True)
class Processes:
    """Workflows and coordination"""

    finished_instance_days: int = variable(
        whole_number(0, 36_500), 0, "how long workflow instances that have ended are kept; `0` keeps them"
    )
    coordination_deadline: int = variable(
        whole_number(1, 86_400),
        300,
        "seconds that readers may take over a change set before it is cancelled; time in which a role was down does "
        "not count",
    )
    coordination_parallel: int = variable(
        whole_number(1, 1000), 1, "change sets under way at once; those that touch the same row keep their order"
    )


@dataclass(frozen=True)
class Environment(Engines, Serving, Secrets, Messages, Calls, Sensors, Notifications, Exchange, Processes):
    """The typed values of all variables."""


SECTIONS: tuple[type[Any], ...] = (
    Engines,
    Serving,
    Secrets,
    Messages,
    Calls,
    Sensors,
    Notifications,
    Exchange,
    Processes,
)

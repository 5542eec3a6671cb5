"""Django's settings, derived from the environment (`env.py`) and from nothing else."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote

from django.urls import reverse_lazy

from config import secrets
from config.api.tags import TAGS
from config.environment.read import environment
from config.environment.rules import BadVariable, DatabaseAddress
from config.logs import logging_config
from config.private_folder import make_private
from config.unfold import UNFOLD as UNFOLD
from config.version import VERSION
from config.web_slots import web_slots

ENV = environment()
BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = ENV.data_dir
make_private(DATA_DIR)

_longest_message_path = len(bytes(DATA_DIR / "messages" / ("x" * 36) / "Messages" / ("x" * 180)))
if _longest_message_path > ENV.message_path_max:
    _excess = _longest_message_path - ENV.message_path_max
    raise BadVariable("DATA_DIR", f"is {_excess} bytes too long for the names of message files (MESSAGE_PATH_MAX)")

SECRET_KEY = ENV.secret_key or secrets.signing_key(DATA_DIR)
FIELD_KEYS = ENV.field_keys or (secrets.field_key(DATA_DIR),)
DEBUG = False

# --- apps ------------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "config.dashboard",
    "unfold",
    "unfold.contrib.filters",
    "unfold.contrib.forms",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_celery_beat",
    "channels",
    "config.records",
    "config.runtime",
    "notifications",
    "sensors",
    "messaging",
    "processes.exchange",
    "processes.workflows",
    "processes.coordination",
    "processes.coordination.reader",
    *ENV.plugins,
]
PLUGINS = ENV.plugins

MIDDLEWARE = [
    "config.runtime.metrics.metrics_middleware",
    "django.middleware.security.SecurityMiddleware",
    "config.common.web.middleware.ContentSecurityPolicyMiddleware",
    "config.common.web.middleware.NoStoreMiddleware",
    "config.access.known_browser.KnownBrowserMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "config.access.sessions.UnattendedMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "config.admin_base.time_zone.TimeZoneMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "config.common.web.middleware.FailureMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- engines ---------------------------------------------------------------------------------------------

WEB_CONCURRENCY = ENV.web_concurrency
WEB_SLOTS = web_slots(WEB_CONCURRENCY)
# Connections of one process at once, and of one address.
WEB_CONNECTIONS = ENV.web_connections
WEB_CONNECTIONS_PER_ADDRESS = ENV.web_connections_per_address


def _postgresql(address: DatabaseAddress) -> dict[str, Any]:
    """A pool as large as the calls at once and the repeats of sessions; a connection is checked before it is given out.

    The planner is told that a page out of order costs hardly more than one in order, as on any disk without arms: with
    its default it reads the whole table of states for a batch of signals that touches a fiftieth of it. A transaction
    in which nothing happens for two minutes is ended: whoever hangs, in a rename say, must not keep its rows for ever.
    A server that has vanished without a word is noticed within half a minute, not by the system's default of hours; one
    that was cut off from its standbys can at most be read from for as long as a connection lives.
    """
    from config.engines.quorum import QuorumConnection  # the embedded profile needs no driver

    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": address.name,
        "USER": address.user,
        "PASSWORD": address.password,
        "HOST": address.hosts,
        "PORT": address.ports,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "connect_timeout": 3,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 25_000,
            "application_name": "postern",
            # Statements stay prepared where the code asks for it, and nowhere else: one plan does not suit all values.
            "prepare_threshold": 1_000_000_000,
            "options": "-c random_page_cost=1.1 -c idle_in_transaction_session_timeout=120s",
            "pool": {
                "min_size": 0,
                "max_size": sum(WEB_SLOTS.values()) + ENV.session_workers + 4,
                "timeout": 5,
                "reconnect_timeout": 2,
                "max_lifetime": 300,
                "connection_class": QuorumConnection,
            },
            **address.options,
        },
    }


def _sqlite(path: Path) -> dict[str, Any]:
    return {
        "ENGINE": "config.engines.sqlite",
        "NAME": path,
        # The threads that serve calls are kept, and so are their connections: there is no server to free them for.
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;",
        },
    }


DATABASES = {
    "default": _postgresql(ENV.database) if ENV.database else _sqlite(DATA_DIR / "postern.sqlite3"),
    # Each reader has a database of its own; without any variable there is `main`, beside the product's own data.
    "reader_main": _sqlite(DATA_DIR / "reader.sqlite3"),
    **{f"reader_{name}": _postgresql(address) for name, address in ENV.readers.items()},
}
DATABASE_ROUTERS = ["processes.coordination.schema.routing.ReaderRouter"]

AMQP_URL = ENV.amqp_url
REDIS_URL = ENV.redis_url
CLICKHOUSE_URL = ENV.clickhouse_url
# How the SMS gateway is called: {to} and {text} of the URL and the body are filled in, encoded for where they stand.
SMS_URL = ENV.sms_url
SMS_METHOD = ENV.sms_method
SMS_HEADERS = ENV.sms_headers
SMS_BODY = ENV.sms_body
# Who is told of alerts beside the superusers, and alone when the database is away.
ADMIN_EMAIL = ENV.admin_email
ADMIN_PHONE = ENV.admin_phone

if ENV.email_url:
    EMAIL_BACKEND = "notifications.sending.smtp.EmailBackend"
    EMAIL_HOST = ENV.email_url.hostname
    EMAIL_PORT = ENV.email_url.port or {"smtp": 25, "smtps": 465, "smtp+tls": 587}[ENV.email_url.scheme]
    EMAIL_HOST_USER = unquote(ENV.email_url.username or "")
    EMAIL_HOST_PASSWORD = unquote(ENV.email_url.password or "")
    EMAIL_USE_SSL = ENV.email_url.scheme == "smtps"
    EMAIL_USE_TLS = ENV.email_url.scheme == "smtp+tls"
else:
    EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = ENV.email_from or f"postern@{ENV.public_url.hostname}"

# --- security --------------------------------------------------------------------------------------------

PUBLIC_URL = ENV.public_url
_https = PUBLIC_URL.scheme == "https"
ALLOWED_HOSTS = sorted({PUBLIC_URL.hostname or "", "127.0.0.1", "localhost", "[::1]"})
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL.geturl().rstrip("/")]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = _https
# A name with this prefix is taken from https alone, for the whole host and no other: no neighbour can plant one.
_host = "__Host-" if _https else ""
SESSION_COOKIE_NAME = f"{_host}sessionid"
CSRF_COOKIE_NAME = f"{_host}csrftoken"
LANGUAGE_COOKIE_NAME = f"{_host}django_language"
KNOWN_BROWSER_COOKIE_NAME = f"{_host}known_browser"
SESSION_ENGINE = "config.access.sessions"
SESSION_COOKIE_AGE = 14 * 86_400
SESSION_IDLE_SECONDS = ENV.session_idle_minutes * 60
SESSION_COOKIE_HTTPONLY = LANGUAGE_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = LANGUAGE_COOKIE_SAMESITE = "Lax"
SECURE_SSL_REDIRECT = _https
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$", r"^hearing$"]
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = _https
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
PASSWORD_HASHERS = ["config.access.passwords.Argon2Hasher", "config.access.passwords.OlderHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "config.access.accounts.RecordedPasswordValidator"},
]
LOGIN_URL = reverse_lazy("admin:login")
LOGIN_REDIRECT_URL = reverse_lazy("admin:index")
METRICS_ALLOWED_NETWORKS = ENV.metrics_networks
# The proxies whose X-Forwarded-For and X-Forwarded-Proto are believed; from anybody else they are ignored.
FORWARDED_ALLOW_IPS = ENV.forwarded_networks
# Private networks that webhooks may reach; metadata services stay closed even then.
WEBHOOK_ALLOWED_NETWORKS = ENV.webhook_networks

# --- limits ----------------------------------------------------------------------------------------------

MB = 1_048_576
MESSAGE_MAX_MB = ENV.message_max_mb
EXCHANGE_MAX_MB = ENV.exchange_max_mb
EXCHANGE_MAX_FILES = ENV.exchange_max_files
# How long, in seconds, a process may wait for API_3, and then for API_4.
EXCHANGE_STARTED_TIMEOUT = ENV.exchange_started_timeout
EXCHANGE_READY_TIMEOUT = ENV.exchange_ready_timeout
EVENT_DAYS = ENV.event_days
REJECTED_DAYS = ENV.rejected_days
RETENTION_DAYS = ENV.retention_days
CHANGE_DAYS = ENV.change_days
DELIVERY_BASE_SECONDS = ENV.delivery_base_seconds
DELIVERY_ATTEMPTS = ENV.delivery_attempts
DELIVERY_SLOTS = ENV.delivery_slots
DELIVERY_SLOTS_PER_CLIENT = ENV.delivery_slots_per_client
ATTEMPT_DAYS = ENV.attempt_days
DELIVERY_DAYS = ENV.delivery_days
SESSION_WORKERS = ENV.session_workers
HISTORY_BATCH = ENV.history_batch
HISTORY_SECONDS = ENV.history_seconds
HISTORY_SPOOL_GB = ENV.history_spool_gb
HISTORY_RETENTION_MONTHS = ENV.history_retention_months
# How long finished instances of workflows are kept; 0: for ever.
FINISHED_INSTANCE_DAYS = ENV.finished_instance_days
# How long, in seconds, readers may take over an event, and how many events may be under way at once.
COORDINATION_DEADLINE = ENV.coordination_deadline
COORDINATION_PARALLEL = ENV.coordination_parallel
# A batch of signals is committed when it is this large or this old.
INGEST_BATCH = ENV.ingest_batch
INGEST_SECONDS = ENV.ingest_milliseconds / 1000
# Calls in a minute: of a key, of all keys of an enterprise, and with wrong keys from one address (of each process).
KEY_RATE = ENV.key_rate
ENTERPRISE_RATE = ENV.enterprise_rate
FAILED_KEY_RATE = ENV.failed_key_rate
IMPORT_MAX_MB = 10
_import_limit = IMPORT_MAX_MB * MB + 65_536  # the file, and the form around it
# The largest body that the outermost layer lets through, by a pattern of how the path begins; the first match counts.
BODY_LIMITS = [
    ("/api/v1/sensors/import/", _import_limit),
    ("/admin/sensors/sensor/import/", _import_limit),
    (r"/api/v1/messages/\Z", (MESSAGE_MAX_MB + 1) * MB),
    (r"/api/v1/exchange/processes/[^/]+/prepare/\Z", (EXCHANGE_MAX_MB + 1) * MB),
    ("/", MB),
]
# The outermost layer decides first.
DATA_UPLOAD_MAX_MEMORY_SIZE = (max(MESSAGE_MAX_MB, EXCHANGE_MAX_MB, IMPORT_MAX_MB) + 1) * MB

# --- REST ------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "config.access.authentication.KeyAuthentication",
        "config.access.authentication.StaffAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["config.access.permissions.ScopePermission"],
    "DEFAULT_PARSER_CLASSES": ["config.common.web.json_codec.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["config.common.web.json_codec.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "config.api.openapi.ApiSchema",
    "EXCEPTION_HANDLER": "config.common.web.json_codec.answer_exception",
    "UNAUTHENTICATED_USER": None,
    "DATETIME_FORMAT": None,
}
# Kinds of key beside the service keys: a function that finds the subject of a key by its id, named here so that
# no app needs to import another one's keys.
KEY_SUBJECTS = {
    "client": "sensors.selectors.find_client",
    "device": "messaging.selectors.find_device",
    "database": "messaging.selectors.find_database",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Postern",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",  # the first that has webhooks
    "DESCRIPTION": "Sensors, notifications, messaging, workflows and coordination. "
    "[The first call in five minutes](/api/v1/docs/first-call/) begins with a key.",
    "TAGS": [{"name": name, "description": words} for name, words in TAGS.items()],
    "WEBHOOKS": [
        "sensors.api.webhooks.STATE_CHANGED",
        "sensors.api.webhooks.CONNECTION_LOST",
        "sensors.api.webhooks.CONNECTION_RESTORED",
        "sensors.api.webhooks.LOSS_WITHDRAWN",
        "sensors.api.webhooks.LEFT_OPEN",
        "sensors.api.webhooks.MANY_LOST",
        "sensors.api.webhooks.MANY_RESTORED",
        "sensors.api.webhooks.PING",
        "notifications.api.webhooks.REPEAT",
        "processes.workflows.api.webhooks.MESSAGE",
    ],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "Bit": [(0, 0), (1, 1)],
        "MessageStatus": "messaging.models.Message.Status",
        "MessageResult": "processes.exchange.models.ProcessMessage.Result",
        "SessionStatus": "notifications.models.RepeatSession.Status",
        "WorkflowKind": [("bpmn", "bpmn"), ("cmmn", "cmmn"), ("dmn", "dmn")],
        "WorkflowStatus": "processes.workflows.models.instance.Status",
        "BatchStatus": "processes.workflows.models.WorkflowBatch.Status",
        "BatchItemStatus": "processes.workflows.models.BatchItem.Status",
        "BatchOperation": "processes.workflows.models.WorkflowBatch.Operation",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "config.api.openapi.describe_common_parts",
    ],
}

# --- language, time, files, logs ---------------------------------------------------------------------------

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("ru", "Русский")]
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = "config.formats"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
MODELER_ASSETS = BASE_DIR / "processes" / "workflows" / "modeler" / "assets"
"""Brought by `make assets`; without them workflows are drawn elsewhere and uploaded."""
STATICFILES_DIRS = [
    BASE_DIR / "config" / "dashboard" / "assets",
    *([MODELER_ASSETS] if MODELER_ASSETS.is_dir() else []),
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"},
}

LOGGING_CONFIG = None
logging_config(ENV.log_level)

"""The product's settings for the suite: PostgreSQL where `TEST_DATABASE_URL` names one, else the embedded profile.

RabbitMQ, Redis and ClickHouse stay unset here; a test that is about one of them takes its URL from the `servers`
fixture. `TEST_PROFILE=embedded` forces SQLite.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_PRODUCT_VARIABLES = (
    "DATABASE_URL",
    "READER_DATABASE_URL",
    "AMQP_URL",
    "REDIS_URL",
    "CLICKHOUSE_URL",
    "EMAIL_URL",
    "SMS_URL",
    "PUBLIC_URL",
)
MIGRATED = "migrated"
# In memory where there is room: the tests of this process sync files and SQLite's log some hundred thousand times, and
# what they write need not outlive the machine. Drills start products of their own, which write to the disk.
_MEMORY = Path("/dev/shm")
_ROOM = 2 * 1024**3
_has_room = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM
_folder = tempfile.mkdtemp(prefix="postern-tests-", dir=_MEMORY if _has_room else None)
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
# The workers of a run inherit the variable: what all of them need lies in the folder of the process that starts them.
SHARED = Path(os.environ.setdefault("TEST_SHARED_FOLDER", _folder))

for _name in _PRODUCT_VARIABLES:
    os.environ.pop(_name, None)
os.environ["DATA_DIR"] = _folder
os.environ.setdefault("LOG_LEVEL", "WARNING")
if os.environ.get("TEST_PROFILE") != "embedded" and "TEST_DATABASE_URL" in os.environ:
    os.environ["DATABASE_URL"] = os.environ["READER_DATABASE_URL"] = os.environ["TEST_DATABASE_URL"]

from config.settings import *  # noqa: E402, F403
from config.settings import DATA_DIR, DATABASES, STORAGES  # noqa: E402

# The product makes files for its own user alone; PostgreSQL, which the suite starts, runs as another one.
os.umask(0o022)
if DATABASES["default"]["ENGINE"] == "config.engines.sqlite":
    # In memory, threads would share one connection's cache and its table locks: nothing like the product.
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}
    DATABASES["reader_main"]["TEST"] = {"NAME": str(DATA_DIR / "test_reader.sqlite3"), "MIGRATE": False}
else:
    # Two runs may share a server. Every worker copies one database; what the copy lacks is migrated.
    DATABASES["default"]["TEST"] = {"NAME": f"test_postern_{os.getpid()}", "TEMPLATE": MIGRATED}
    DATABASES["reader_main"]["TEST"] = {"NAME": f"test_reader_{os.getpid()}", "MIGRATE": False}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# The hashed names need `collectstatic`; the browser tests run it and serve by them.
STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}

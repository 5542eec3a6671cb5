"""Static files, collected when they may have changed."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.management import call_command


def collect_static() -> bool:
    """Collect the static files under their hashed names unless nothing has changed; return whether it did."""
    mark, stamp = settings.DATA_DIR / "static.stamp", _stamp()
    manifest = settings.STATIC_ROOT / "staticfiles.json"
    if manifest.exists() and mark.exists() and mark.read_text() == stamp:
        return False
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    mark.write_text(stamp)
    return True


def _stamp() -> str:
    """Sum up what the static files are made of: the pinned packages, and the product's own files."""
    digest = hashlib.sha256((settings.BASE_DIR / "requirements.txt").read_bytes())
    digest.update(repr((settings.STATIC_URL, settings.STORAGES["staticfiles"])).encode())
    for path in _own_files():
        status = path.stat()
        digest.update(f"{path.relative_to(settings.BASE_DIR)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _own_files() -> Iterator[Path]:
    folders = [Path(folder) for folder in settings.STATICFILES_DIRS]
    folders += [Path(app.path) / "static" for app in apps.get_app_configs()]
    for folder in folders:
        if folder.is_relative_to(settings.BASE_DIR) and ".venv" not in folder.parts:
            yield from sorted(path for path in folder.rglob("*") if path.is_file())

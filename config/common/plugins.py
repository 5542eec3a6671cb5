"""Plugins: packages beside the product that add to it without touching it.

`PLUGINS` names the packages. Each is an app of Django's, and its module `plugin` declares what it adds by lists and
tables of well-known names (see `docs/plugins.md`).
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from django.conf import settings

MODULE = "plugin"


def find_declared(name: str) -> Iterator[tuple[str, Any]]:
    """Return the app label of every plugin that declares something under this name, and what it declares."""
    for package in settings.PLUGINS:
        declared = getattr(import_module(f"{package}.{MODULE}"), name, None)
        if declared is not None:
            yield label_of(package), declared


def label_of(package: str) -> str:
    """Return the label that Django gives to the app of a package."""
    return package.rpartition(".")[2]

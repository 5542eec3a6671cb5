"""The functions that a page of the documentation names, as `path.py` `name`."""

import re
from importlib import import_module
from operator import attrgetter

from tests.faults.product import ROOT

_NAMED = re.compile(r"`([\w/]+)\.py` `([\w.]+)`")


def find_missing_functions(page: str, package: str) -> list[str]:
    """Return the functions that a page names and the package does not have."""
    missing = []
    for path, name in _NAMED.findall(read_page(page)):
        try:
            attrgetter(name)(import_module(f"{package}.{path.replace('/', '.')}"))
        except (ImportError, AttributeError):
            missing.append(f"{path}.py {name}")
    return missing


def read_page(page: str) -> str:
    return (ROOT / "docs" / page).read_text()

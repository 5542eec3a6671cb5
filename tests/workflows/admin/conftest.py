import pytest
from django.test import Client

from tests.staff import signed_in
from tests.workflows.store.conftest import _nothing_compiled, scene

__all__ = ["_nothing_compiled", "scene"]


@pytest.fixture
def operator() -> Client:
    return signed_in("operator")


@pytest.fixture
def viewer() -> Client:
    return signed_in("viewer", "vera")

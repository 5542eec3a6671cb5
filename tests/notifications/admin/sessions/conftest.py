import pytest
from django.test import Client

from tests.staff import signed_in


@pytest.fixture
def operator() -> Client:
    return signed_in("operator")

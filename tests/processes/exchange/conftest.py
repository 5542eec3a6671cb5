import shutil
from collections.abc import Iterator

import pytest
from django.conf import settings

from messaging.services.send import check_addressee
from tests.processes.exchange.scene import Scene


@pytest.fixture
def scene(db: None, _own_folders: None) -> Scene:
    return Scene()


@pytest.fixture
def _own_folders() -> Iterator[None]:
    """Files do not roll back with the test's transaction."""
    yield
    check_addressee.cache_clear()  # the databases of one test are not those of the next
    shutil.rmtree(settings.DATA_DIR / "messages", ignore_errors=True)

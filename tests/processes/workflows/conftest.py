import shutil
from collections.abc import Iterator

import pytest
from django.conf import settings

from tests.processes.workflows.scene import Scene


@pytest.fixture(autouse=True)
def _no_files(request: pytest.FixtureRequest) -> Iterator[None]:
    """Messages are undone with the test, and so are their files."""
    yield
    if request.node.get_closest_marker("django_db"):
        shutil.rmtree(settings.DATA_DIR / "messages", ignore_errors=True)


@pytest.fixture
def scene(db: None) -> Scene:
    return Scene()

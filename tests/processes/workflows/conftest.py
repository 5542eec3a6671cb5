import shutil
from collections.abc import Iterator

import pytest
from django.conf import settings

from messaging.services.send import check_addressee
from processes.workflows.services.heads import facts_of_revision
from processes.workflows.services.library import COMPILED
from processes.workflows.services.recent import forget_heads
from tests.processes.workflows.store.scene import Scene


@pytest.fixture(autouse=True)
def _nothing_compiled(request: pytest.FixtureRequest) -> Iterator[None]:
    """Revisions are undone with the test, so their numbers mean others in the next."""
    yield
    if request.node.get_closest_marker("django_db"):
        for remembers in (facts_of_revision, check_addressee):
            remembers.cache_clear()
        COMPILED.clear()
        forget_heads()
        shutil.rmtree(settings.DATA_DIR / "messages", ignore_errors=True)


@pytest.fixture
def scene(db: None) -> Scene:
    return Scene()

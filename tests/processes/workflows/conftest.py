import shutil
from collections.abc import Iterator

import pytest
from django.conf import settings

from messaging.services.send import check_addressee
from processes.workflows.heads import clear_head_cache, get_revision_facts
from processes.workflows.services.library import COMPILED
from tests.processes.workflows.scene import Scene


@pytest.fixture(autouse=True)
def _nothing_compiled(request: pytest.FixtureRequest) -> Iterator[None]:
    """Revisions are undone with the test, so their numbers mean others in the next."""
    yield
    if request.node.get_closest_marker("django_db"):
        for remembers in (get_revision_facts, check_addressee):
            remembers.cache_clear()
        COMPILED.clear()
        clear_head_cache()
        shutil.rmtree(settings.DATA_DIR / "messages", ignore_errors=True)


@pytest.fixture
def scene(db: None) -> Scene:
    return Scene()

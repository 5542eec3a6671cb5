import pytest
from django.utils import timezone

from config.runtime.demo.fixtures import LEFT_OPEN_SECONDS, create_fixtures
from config.runtime.demo.workflow_scenes import LOST, play
from processes.workflows.models import WorkflowShadow
from sensors.models import Sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def make() -> None:
    create_fixtures("http://127.0.0.1:9")


class TestCreateFixtures:
    def test_two_doors_have_a_limit_and_one_is_muted_however_often_it_is_started(self) -> None:
        for _ in range(2):
            make()
            assert Sensor.objects.filter(open_limit=LEFT_OPEN_SECONDS).count() == 2
            assert Sensor.objects.filter(muted_until__gt=timezone.now()).count() == 1


class TestPlay:
    def test_a_revision_is_on_trial_until_somebody_decides(self) -> None:
        make()
        play()
        assert WorkflowShadow.objects.get().definition_id == LOST
        WorkflowShadow.objects.all().delete()
        play()
        assert not WorkflowShadow.objects.exists()

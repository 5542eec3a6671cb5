import pytest

from config.admin_base.confirm_many import apply_to_each
from config.common.errors import Conflict
from sensors.models import Sensor
from tests.sensors.registry import make_sensor
from tests.staff import signed_in

LIST = "/admin/sensors/sensor/"


class TestApplyToEach:
    def test_counts_what_was_done_and_what_was_refused(self) -> None:
        def act(key: int) -> bool | None:
            if key == 3:
                raise Conflict
            return None if key == 1 else key == 2

        assert apply_to_each([1, 2, 3, 4], act) == (2, 1)


@pytest.mark.embedded
@pytest.mark.django_db
class TestConfirmMany:
    @pytest.fixture(autouse=True)
    def sensors(self) -> None:
        for number in range(12):
            make_sensor(f"s{number:02}")

    def ask(self, **answers: str) -> str:
        chosen = {"action": "deactivate", "_selected_action": [f"s{number:02}" for number in range(12)]}
        page: str = signed_in("registrar").post(f"{LIST}?active=1", {**chosen, **answers}, follow=True).content.decode()
        return page

    def test_names_the_first_and_counts_all(self) -> None:
        page = self.ask()
        assert "12 sensors:" in page
        assert page.count("<code>s") == 10
        assert "and 2 more" in page
        assert Sensor.objects.filter(active=True).count() == 12

    def test_cancel_leads_back_to_the_list_as_it_was_and_does_nothing(self) -> None:
        assert f'<a href="{LIST}?active=1"' in self.ask()

    def test_acts_once_it_is_confirmed(self) -> None:
        assert "12 sensors were deactivated." in self.ask(confirmed="yes")
        assert not Sensor.objects.filter(active=True).exists()

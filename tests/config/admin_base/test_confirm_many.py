import pytest

from config.admin_base import confirm_many
from config.admin_base.confirm_many import apply_to_each
from config.common.errors import Conflict
from sensors.models import Sensor
from tests.sensors.registry import make_client, make_sensor
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
        assert "12 sensors deactivated." in self.ask(confirmed="yes")
        assert not Sensor.objects.filter(active=True).exists()

    def test_acts_batch_by_batch_for_a_script_that_shows_how_far_it_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(confirm_many, "BATCH", 5)
        browser = signed_in("registrar")
        chosen = {"action": "deactivate", "_selected_action": ["s00"], "select_across": "1", "confirmed": "yes"}
        progress: dict[str, str] = {}
        seen = []
        while progress.get("is_over") != "True":
            # The filter no longer finds what the batches before have deactivated.
            answer = browser.post(f"{LIST}?active=1", {**chosen, **progress}, headers={"accept": "application/json"})
            progress = {name: str(value) for name, value in answer.json().items()}
            seen.append((progress["seen"], Sensor.objects.filter(active=False).count()))
        assert seen == [("5", 5), ("10", 10), ("12", 12)]
        assert "12 sensors deactivated." in browser.get(LIST).content.decode()

    @pytest.mark.parametrize("wrong", [{"seen": "-1"}, {"done": "x"}, {"after": "x" * 65}])
    def test_a_batch_without_its_place_does_nothing(self, wrong: dict[str, str]) -> None:
        chosen = {"action": "deactivate", "_selected_action": ["s00"], "confirmed": "yes"}
        answer = signed_in("registrar").post(LIST, {**chosen, **wrong}, headers={"accept": "application/json"})
        assert answer.status_code == 400
        assert Sensor.objects.filter(active=True).count() == 12

    def test_behind_the_last_row_that_may_be_chosen_nothing_is_done(self) -> None:
        chosen = {"action": "deactivate", "_selected_action": ["s00"], "confirmed": "yes", "seen": "1000000"}
        answer = signed_in("registrar").post(LIST, chosen, headers={"accept": "application/json"})
        assert (answer.status_code, answer.json()["is_over"]) == (200, True)
        assert Sensor.objects.filter(active=True).count() == 12

    def test_a_place_that_is_no_key_does_nothing(self) -> None:
        client = make_client("Acme")
        chosen = {"action": "mute", "_selected_action": [client.pk], "confirmed": "yes", "length": "1h", "after": "x"}
        answer = signed_in("registrar").post("/admin/sensors/client/", chosen, headers={"accept": "application/json"})
        client.refresh_from_db()
        assert (answer.status_code, client.muted_until) == (400, None)

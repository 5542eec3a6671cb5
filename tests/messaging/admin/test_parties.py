import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client as Browser
from django.utils import timezone

from config.common.key_text import is_key_of
from config.common.times import format_time
from config.records.models import AccessKey, ChangeRecord
from messaging.models import Device, Enterprise, ExchangeDatabase, LastRequest, Subsystem
from tests.messaging.parties import key_of, make_database, make_device, make_enterprise, make_subsystem
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

ROOT = "/admin/messaging"
PAGES = {"enterprise": "acme", "subsystem": "stock", "device": "phone", "exchangedatabase": "erp"}
FILLED = {
    "enterprise": {"id": "globex", "name": "Globex"},
    "subsystem": {"id": "sales", "enterprise": "acme", "name": "Sales"},
    "device": {"id": "tablet", "subsystem": "stock", "name": "Tablet"},
    "exchangedatabase": {"id": "crm", "enterprise": "acme", "name": "CRM"},
}
MODELS: dict[str, Any] = {
    "enterprise": Enterprise,
    "subsystem": Subsystem,
    "device": Device,
    "exchangedatabase": ExchangeDatabase,
}
KEYED = ("device", "exchangedatabase")


@pytest.fixture(autouse=True)
def _parties() -> None:
    make_device()
    make_database()


@pytest.fixture
def browser() -> Browser:
    return signed_in("registrar")


def form(page: str, **values: Any) -> dict[str, Any]:
    return {**FILLED[page], "form_id": uuid.uuid4(), **values}


def errors_of(answer: Any) -> list[str]:
    return list(answer.context["adminform"].form.errors)


class TestAdd:
    @pytest.mark.parametrize("page", PAGES)
    def test_registers_by_the_service(self, browser: Browser, page: str) -> None:
        browser.post(f"{ROOT}/{page}/add/", form(page))
        made = MODELS[page].objects.get(pk=FILLED[page]["id"])
        change = ChangeRecord.objects.exclude(kind="key").get()
        assert (made.name, change.object_id, change.actor) == (FILLED[page]["name"], made.pk, "staff:olga")

    @pytest.mark.parametrize("page", PAGES)
    def test_makes_an_id_where_none_is_given(self, browser: Browser, page: str) -> None:
        browser.post(f"{ROOT}/{page}/add/", form(page, id=""))
        assert len(MODELS[page].objects.exclude(pk=PAGES[page]).get().pk) == 36

    @pytest.mark.parametrize("page", KEYED)
    def test_shows_the_key_once(self, browser: Browser, page: str) -> None:
        answer = browser.post(f"{ROOT}/{page}/add/", form(page))
        shown = re.search(r'<code id="new-key">([^<]+)</code>', answer.content.decode())
        assert shown
        assert is_key_of(shown[1], bytes(AccessKey.objects.get().digest))
        back = f"{ROOT}/{page}/{FILLED[page]['id']}/change/"
        assert (back in answer.content.decode(), shown[1] in browser.get(back).content.decode()) == (True, False)
        assert "no-store" in answer["Cache-Control"]

    @pytest.mark.parametrize("page", PAGES)
    def test_sent_twice_makes_one(self, browser: Browser, page: str) -> None:
        once = form(page, id="")
        browser.post(f"{ROOT}/{page}/add/", once)
        assert browser.post(f"{ROOT}/{page}/add/", once).status_code == 409
        assert MODELS[page].objects.count() == 2

    @pytest.mark.parametrize("page", PAGES)
    @pytest.mark.parametrize(
        ("field", "values"), [("id", {"id": "a_b"}), ("name", {"name": " "}), ("name", {"name": "x" * 201})]
    )
    def test_names_the_rule_at_its_field(self, browser: Browser, page: str, field: str, values: dict[str, str]) -> None:
        assert errors_of(browser.post(f"{ROOT}/{page}/add/", form(page, **values))) == [field]
        assert MODELS[page].objects.count() == 1

    @pytest.mark.parametrize(("page", "taken"), [*PAGES.items(), ("device", "erp"), ("exchangedatabase", "phone")])
    def test_an_id_in_use_is_told_at_its_field(self, browser: Browser, page: str, taken: str) -> None:
        assert errors_of(browser.post(f"{ROOT}/{page}/add/", form(page, id=taken))) == ["id"]

    def test_tells_subsystems_of_the_same_name_apart(self, browser: Browser) -> None:
        make_subsystem("theirs", enterprise="rival", name="Stock")
        query = {"app_label": "messaging", "model_name": "device", "field_name": "subsystem", "term": "stock"}
        found = browser.get(f"{ROOT}/subsystem/choices/", query).json()["results"]
        assert found == [{"id": "stock", "text": "Stock · Acme"}, {"id": "theirs", "text": "Stock · Rival"}]

    @pytest.mark.parametrize("page", PAGES)
    def test_is_not_for_viewers(self, page: str) -> None:
        assert signed_in("viewer").post(f"{ROOT}/{page}/add/", form(page)).status_code == 403


class TestChange:
    @pytest.mark.parametrize("page", PAGES)
    def test_is_written_by_the_service(self, browser: Browser, page: str) -> None:
        browser.post(f"{ROOT}/{page}/{PAGES[page]}/change/", form(page, subsystem="stock", name="New"))
        change = ChangeRecord.objects.get()
        assert [name for name in change.after if change.after[name] != change.before[name]] == ["name"]

    @pytest.mark.parametrize("page", PAGES)
    def test_the_id_and_the_enterprise_stay(self, browser: Browser, page: str) -> None:
        make_enterprise("rival")
        browser.post(f"{ROOT}/{page}/{PAGES[page]}/change/", form(page, enterprise="rival", subsystem="stock"))
        party = MODELS[page].objects.get(pk=PAGES[page])
        assert getattr(party, "enterprise_id", "acme") == "acme"

    def test_a_device_moves_within_its_enterprise(self, browser: Browser) -> None:
        make_subsystem("sales")
        browser.post(f"{ROOT}/device/phone/change/", form("device", subsystem="sales"))
        assert Device.objects.get().subsystem_id == "sales"

    def test_a_device_does_not_move_to_another(self, browser: Browser) -> None:
        make_subsystem("theirs", enterprise="rival")
        answer = browser.post(f"{ROOT}/device/phone/change/", form("device", subsystem="theirs"))
        assert (errors_of(answer), Device.objects.get().subsystem_id) == (["subsystem"], "stock")


class TestPage:
    @pytest.mark.parametrize("group", ["viewer", "registrar", "administrator"])
    @pytest.mark.parametrize("page", PAGES)
    def test_shows_the_id_to_copy_and_what_it_belongs_to(self, group: str, page: str) -> None:
        text = signed_in(group).get(f"{ROOT}/{page}/{PAGES[page]}/change/").content.decode()
        assert f'<span id="party-id">{PAGES[page]}</span>' in text
        assert 'data-copy="party-id"' in text
        assert "Acme" in text

    def test_counts_what_an_enterprise_has_and_leads_there(self, browser: Browser) -> None:
        make_device("tablet", subsystem="sales")
        make_device("foreign", subsystem="theirs", enterprise="rival")
        facts = {fact.label: fact for fact in browser.get(f"{ROOT}/enterprise/acme/change/").context["page"].facts}
        numbers = {label: fact.value for label, fact in facts.items() if label != "State"}
        assert numbers == {"Subsystems": 2, "Devices": 2, "Databases": 1}
        listed = browser.get(facts["Devices"].link).context["cl"].queryset
        assert sorted(device.pk for device in listed) == ["phone", "tablet"]

    def test_tells_who_changed_it(self, browser: Browser) -> None:
        browser.post(f"{ROOT}/device/phone/change/", form("device"))
        text = browser.get(f"{ROOT}/device/phone/change/").content.decode()
        assert "olga, <time" in text
        assert "/revert/" in text

    def test_says_how_many_keys_work(self, browser: Browser) -> None:
        key_of(Device.objects.get())
        key_of(Device.objects.get())
        browser.post(f"{ROOT}/device/phone/rotate/", {"form_id": uuid.uuid4()})
        facts = browser.get(f"{ROOT}/device/phone/change/").context["page"].facts
        assert [(fact.value, fact.link) for fact in facts if fact.label == "Active keys"] == [(1, "")]

    @pytest.mark.parametrize("page", PAGES)
    def test_of_nobody_leads_to_the_list(self, browser: Browser, page: str) -> None:
        assert browser.get(f"{ROOT}/{page}/nobody/change/").status_code == 302


class TestList:
    @pytest.mark.parametrize(
        ("query", "ids"),
        [
            ("", ["asleep", "orphan", "phone", "tablet"]),
            ("q=tab", ["tablet"]),
            ("q=Phone", ["phone"]),
            ("subsystem__enterprise__id__exact=acme", ["asleep", "phone", "tablet"]),
            ("subsystem__id__exact=sales", ["tablet"]),
            ("active=1", ["phone", "tablet"]),
            ("active=0", ["asleep", "orphan"]),
        ],
    )
    def test_of_devices_is_narrowed(self, browser: Browser, query: str, ids: list[str]) -> None:
        make_device("tablet", subsystem="sales")
        make_device("asleep", active=False)
        make_device("orphan", subsystem="theirs", enterprise="closed")
        Enterprise.objects.filter(pk="closed").update(active=False)
        answer = browser.get(f"{ROOT}/device/?{query}")
        assert [device.pk for device in answer.context["cl"].result_list] == ids

    def test_says_whose_enterprise_is_inactive(self, browser: Browser) -> None:
        Enterprise.objects.update(active=False)
        for page in KEYED:
            assert "enterprise inactive" in browser.get(f"{ROOT}/{page}/").content.decode()

    @pytest.mark.parametrize("page", PAGES)
    def test_costs_the_same_however_long(self, browser: Browser, page: str, django_assert_max_num_queries: Any) -> None:
        for n in range(30):
            make_device(f"d{n}", subsystem=f"s{n}", enterprise=f"e{n}")
            make_database(f"b{n}", enterprise=f"e{n}")
        with django_assert_max_num_queries(12):
            assert browser.get(f"{ROOT}/{page}/").status_code == 200

    def test_counts_are_right_beside_each_other(self, browser: Browser) -> None:
        for n in range(3):
            make_subsystem(f"s{n}")
            make_database(f"b{n}")
        found = browser.get(f"{ROOT}/enterprise/").context["cl"].result_list[0]
        assert (found.number_of_subsystems, found.number_of_databases) == (4, 4)


class TestActions:
    @pytest.mark.parametrize("page", ["enterprise", "device", "exchangedatabase"])
    def test_deactivate_and_activate_ask_and_act(self, browser: Browser, page: str) -> None:
        party, address = MODELS[page].objects.get(), f"{ROOT}/{page}/{PAGES[page]}"
        assert browser.get(f"{address}/deactivate/").status_code == 200
        browser.post(f"{address}/deactivate/")
        party.refresh_from_db()
        assert not party.active
        browser.post(f"{address}/activate/")
        party.refresh_from_db()
        assert party.active

    def test_only_what_makes_sense_is_offered(self, browser: Browser) -> None:
        text = browser.get(f"{ROOT}/device/phone/change/").content.decode()
        assert ("phone/deactivate/" in text, "phone/activate/" in text) == (True, False)

    @pytest.mark.parametrize("page", KEYED)
    def test_rotation_shows_the_new_key_and_counts_once(self, browser: Browser, page: str) -> None:
        key_of(MODELS[page].objects.get())
        address, once = f"{ROOT}/{page}/{PAGES[page]}/rotate/", {"form_id": uuid.uuid4()}
        assert browser.get(address).status_code == 200
        answers = [browser.post(address, once) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 409]
        key = AccessKey.objects.get(ended_at=None)
        assert is_key_of(answers[0].context["text"], bytes(key.digest))
        assert AccessKey.objects.count() == 2

    def test_an_empty_subsystem_is_deleted(self, browser: Browser) -> None:
        make_subsystem("empty")
        answer = browser.post(f"{ROOT}/subsystem/empty/remove/")
        assert (answer["Location"], Subsystem.objects.count()) == (f"{ROOT}/subsystem/", 1)

    def test_one_in_use_says_what_to_do(self, browser: Browser) -> None:
        answer = browser.get(f"{ROOT}/subsystem/stock/remove/", follow=True)
        assert "Move its devices" in answer.content.decode()
        assert answer.redirect_chain[-1][0] == f"{ROOT}/subsystem/stock/change/"

    @pytest.mark.parametrize(
        "path",
        [
            "enterprise/acme/deactivate",
            "subsystem/stock/remove",
            "device/phone/rotate",
            "device/phone/deactivate",
            "exchangedatabase/erp/rotate",
        ],
    )
    def test_are_not_for_viewers(self, path: str) -> None:
        answer = signed_in("viewer").post(f"{ROOT}/{path}/", {"form_id": uuid.uuid4()})
        assert (answer.status_code, ChangeRecord.objects.count()) == (403, 0)


class TestLastRequest:
    def test_the_page_of_a_database_says_when_it_last_asked(self, browser: Browser) -> None:
        page = f"{ROOT}/exchangedatabase/erp/change/"
        assert "none recorded" in browser.get(page).content.decode()
        at = timezone.now() - timedelta(minutes=5)
        LastRequest.objects.create(database_id="erp", asked_at=at, answer=LastRequest.Answer.IDLE)
        shown = browser.get(page).content.decode()
        assert f'<time class="pst-nowrap" datetime="{format_time(at)}"' in shown
        assert "no messages waiting (IDLE)" in shown

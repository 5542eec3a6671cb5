from typing import Any

import pytest
from django.db import IntegrityError, transaction

from config.common.errors import Invalid
from config.records.models import ChangeRecord
from notifications.models import Alert, Rung
from notifications.services.ladder import delete_rung, save_rung
from tests.notifications.alerts import escalate, list_messages, make_alert, pass_time, set_ladder, two_rungs

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def rung(**values: Any) -> Rung:
    return Rung(**{"after_seconds": 0, "channel": "email", "addresses": "ops@example.org", **values})


class TestSaveRung:
    def test_keeps_who_changed_what(self) -> None:
        made = rung(addresses="a@example.org,\n b@example.org")
        save_rung(made, actor="staff:olga")
        made.after_seconds = 60
        save_rung(made, actor="staff:ivan")
        created, changed = ChangeRecord.objects.filter(kind="rung").order_by("id")
        assert (created.actor, created.after["addresses"]) == ("staff:olga", "a@example.org b@example.org")
        assert (changed.actor, changed.before["after_seconds"], changed.after["after_seconds"]) == ("staff:ivan", 0, 60)

    def test_saving_what_is_there_leaves_no_trace(self) -> None:
        made = rung()
        save_rung(made, actor="staff:olga")
        save_rung(made, actor="staff:olga")
        assert ChangeRecord.objects.filter(kind="rung").count() == 1

    @pytest.mark.parametrize(
        ("values", "field"),
        [
            ({"addresses": "nobody"}, "addresses"),
            ({"addresses": "a@example.org +375291234567"}, "addresses"),
            ({"channel": "sms", "addresses": "a@example.org"}, "addresses"),
            ({"channel": "sms", "addresses": "12"}, "addresses"),
            ({"addresses": ""}, "addresses"),
            ({"channel": "sms", "addresses": "+375291234567", "to_superusers": True}, "to_superusers"),
            ({"after_seconds": 2_592_001}, "after_seconds"),
        ],
    )
    def test_names_the_field_that_breaks_a_rule(self, values: dict[str, Any], field: str) -> None:
        before = Rung.objects.count()
        with pytest.raises(Invalid) as refused:
            save_rung(rung(**values), actor="staff:olga")
        assert list(refused.value.data["fields"]) == [field]
        assert Rung.objects.count() == before

    def test_the_database_knows_that_accounts_have_no_telephone(self) -> None:
        with pytest.raises(IntegrityError), transaction.atomic():
            rung(channel="sms", to_superusers=True).save()

    def test_a_rung_that_is_added_later_is_told_to_alerts_that_had_reached_the_top(self) -> None:
        set_ladder((0, "email", "ops@example.org"))
        make_alert()
        escalate()
        assert Alert.objects.get().due_at is None
        save_rung(rung(after_seconds=60, addresses="boss@example.org"), actor="staff:olga")
        escalate()
        assert len(list_messages()) == 1
        pass_time(61)
        escalate()
        assert list_messages()[1:] == [("alert.raised", "mailto:boss@example.org")]


class TestDeleteRung:
    def test_is_kept_as_a_change_and_told_no_more(self) -> None:
        two_rungs()
        make_alert()
        escalate()
        delete_rung(Rung.objects.get(channel="sms"), actor="staff:olga")
        pass_time(3600)
        escalate()
        assert len(list_messages()) == 1
        assert ChangeRecord.objects.get(kind="rung").action == "deleted"

    def test_an_inactive_one_is_passed(self) -> None:
        two_rungs()
        Rung.objects.filter(channel="email").update(active=False)
        make_alert()
        pass_time(3600)
        escalate()
        assert list_messages() == [("alert.raised", "sms:+375291234567")]

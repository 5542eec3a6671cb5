from typing import Any

import pytest

from tests.messaging.parties import caller_of, make_database, make_device

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestEnterpriseRate:
    def test_devices_and_databases_of_an_enterprise_share_one(
        self, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
        settings.KEY_RATE, settings.ENTERPRISE_RATE = 100, 2
        one, two, erp = caller_of(make_device("one")), caller_of(make_device("two")), caller_of(make_database())
        other = caller_of(make_device("other", subsystem="else", enterprise="else"))
        assert [each("GET", "/messages/").status_code for each in (one, two)] == [200, 200]
        refused = erp("POST", "/exchange/processes/", {"version": 1})
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
        assert other("GET", "/messages/").status_code == 200

from typing import Any

import pytest
from django.test import Client

from notifications.models import ParkedMessage
from tests.staff import signed_in
from tests.trace_button import find_trace_button

LIST = "/admin/notifications/parkedmessage/"

pytestmark = pytest.mark.embedded


@pytest.fixture
def parked(db: None) -> ParkedMessage:
    body = b'{"sensor_id": "\x00\xff", <b>'
    return ParkedMessage.objects.create(queue="signals.state", body=body, failures=5, error="KeyError: 'x'")


@pytest.fixture
def operator(db: None) -> Client:
    return signed_in("operator")


def test_shows_what_is_parked_whatever_its_bytes(operator: Client, parked: ParkedMessage) -> None:
    for address in (LIST, f"{LIST}{parked.pk}/change/"):
        page = operator.get(address).content.decode()
        assert "signals.state" in page
        assert "&lt;b&gt;" in page
        assert "KeyError" in page


@pytest.mark.parametrize(
    ("page", "column"),
    [
        (LIST, '"notifications_parkedmessage"."body", "'),
        ("/admin/notifications/event/", '"notifications_event"."payload", "'),
        ("/admin/notifications/delivery/", '"notifications_delivery"."body", "'),
    ],
)
def test_a_list_does_not_read_what_has_no_length(
    page: str, column: str, operator: Client, parked: ParkedMessage, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(40) as asked:
        assert operator.get(page).status_code == 200
    table = column.partition(".")[0]
    statements = [each["sql"] for each in asked.captured_queries if f"FROM {table}" in each["sql"]]
    assert statements
    assert not [statement for statement in statements if column in statement]


@pytest.mark.parametrize(("chain", "button"), [("call-0001", "/admin/trace/?id=call-0001"), ("<b>", "")])
def test_leads_to_the_trace_that_its_sender_has_named(
    operator: Client, parked: ParkedMessage, chain: str, button: str
) -> None:
    ParkedMessage.objects.update(properties={"correlation_id": chain})
    assert find_trace_button(operator, f"{LIST}{parked.pk}/change/") == button


def test_discards_with_a_reason(operator: Client, parked: ParkedMessage) -> None:
    operator.post(f"{LIST}{parked.pk}/discard/", {})
    assert ParkedMessage.objects.get().status == "parked", "a reason is needed"
    page = operator.post(f"{LIST}{parked.pk}/discard/", {"reason": "junk"}, follow=True).content.decode()
    assert ParkedMessage.objects.get().status == "discarded"
    assert "has been discarded" in page


def test_says_that_there_is_no_broker_to_send_to(operator: Client, parked: ParkedMessage) -> None:
    page = operator.post(f"{LIST}{parked.pk}/resend/", follow=True).content.decode()
    assert "it stays parked" in page
    assert ParkedMessage.objects.get().status == "parked"


def test_decisions_are_for_operators(parked: ParkedMessage) -> None:
    client = signed_in("viewer")
    assert client.get(LIST).status_code == 200
    assert client.post(f"{LIST}{parked.pk}/discard/", {"reason": "x"}).status_code == 403

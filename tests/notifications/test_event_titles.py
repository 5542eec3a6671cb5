from typing import Any

import pytest
from django.utils.translation import override

from notifications.event_titles import event_title, event_title_html, known_types


class TestEventTitle:
    @pytest.mark.parametrize(
        ("type", "payload", "english", "russian"),
        [
            ("sensor.state_changed", {"data": 1}, "Door opened", "Дверь открылась"),
            ("sensor.state_changed", {"data": 0}, "Door closed", "Дверь закрылась"),
            ("sensor.state_changed", {"data": "1"}, "Door opened", "Дверь открылась"),
            ("sensor.state_changed", None, "Door opened or closed", "Дверь открылась или закрылась"),
            ("sensor.state_changed", {"data": [1]}, "Door opened or closed", "Дверь открылась или закрылась"),
            ("sensor.connection_lost", {}, "Connection lost", "Связь потеряна"),
            ("delivery.attempted", {"became": "dead"}, "Message not delivered", "Сообщение не доставлено"),
            ("delivery.attempted", {"became": "late"}, "Delivery attempt", "Попытка доставки"),
            ("exchange.in_doubt", {}, "Exchange in doubt", "Обмен под вопросом"),
            ("coordination.canceled", {}, "Change set cancelled", "Набор изменений отменён"),
            ("workflow.message", {}, "Message from a workflow", "Сообщение бизнес-процесса"),
            ("custom.order.paid", {"data": 1}, "custom.order.paid", "custom.order.paid"),
        ],
    )
    def test_says_what_happened(self, type: str, payload: Any, english: str, russian: str) -> None:
        assert event_title(type, payload) == english
        with override("ru"):
            assert event_title(type, payload) == russian

    def test_the_type_is_a_hint(self) -> None:
        shown = event_title_html("sensor.connection_lost")
        assert shown == '<span title="sensor.connection_lost">Connection lost</span>'

    def test_a_hostile_type_is_text(self) -> None:
        assert "<script>" not in event_title_html("custom.<script>x</script>")


class TestKnownTypes:
    def test_are_in_the_order_of_their_words(self) -> None:
        words = [title for _, title in known_types()]
        assert words == sorted(words)
        assert ("sensor.state_changed", "Door opened or closed") in known_types()

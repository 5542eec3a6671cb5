import re

import pytest
from django.utils.translation import gettext_noop, override

from config.common.text_templates import nested_text
from notifications.presentation import say_details, say_reason
from notifications.sending.guard import AddressRefused, check_address


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("192.0.2.1", "192.0.2.1 отклонён: зарезервировано для документации (192.0.2.0/24)"),
        ("fe80::1", "fe80::1 отклонён: локальная связь (fe80::/10)"),
        ("169.254.169.254", "169.254.169.254 отклонён: там службы метаданных облака"),
        ("name", "name отклонён: это не адрес"),
    ],
)
def test_why_an_address_is_refused_is_said_in_the_language_of_the_reader(address: str, words: str) -> None:
    with pytest.raises(AddressRefused) as refused:
        check_address(address, [])
    with override("ru"):
        said = say_reason(refused.value.strerror)
    assert said.startswith(words)
    assert not re.search(r"\b(?:it|is|the|may|private)\b", said)


class TestSayDetails:
    def test_names_and_reasons_are_in_the_readers_words(self) -> None:
        inner = nested_text(gettext_noop("Row not found."), {})
        detail = {
            "receiver": "Granit",
            "reason": "no response for three days",
            "why": inner,
            "count": 3,
            "error": "a\nb",
        }
        assert say_details(detail) == {
            "receiver": "Granit",
            "reason": "no response for three days",
            "why": "Row not found.",
            "count": "3",
            "error": "a b",
        }
        with override("ru"):
            assert say_details(detail) == {
                "получатель": "Granit",
                "причина": "нет ответа три дня",
                "why": "Строка не найдена.",
                "количество": "3",
                "ошибка": "a b",
            }

    def test_a_name_that_a_workflow_has_chosen_stays(self) -> None:
        assert say_details({"odd name %(x)s": {"a": 1}}) == {"odd name %(x)s": "{'a': 1}"}

    def test_an_event_is_said_in_words_and_the_number_of_a_change_set_as_it_is(self) -> None:
        assert list(say_details({"event": "sensor.connection_lost"}).values()) == ["Connection lost"]
        assert list(say_details({"event": 12}).values()) == ["12"]

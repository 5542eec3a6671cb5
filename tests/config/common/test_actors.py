import pytest
from django.utils.translation import override

from config.common.actors import say_actor


@pytest.mark.parametrize(
    ("actor", "english", "russian"),
    [
        ("staff:olga", "olga", "olga"),
        ("key:facility (ps_1a2b)", "key facility (ps_1a2b)", "ключ facility (ps_1a2b)"),
        ("command:prepare", "manage.py prepare", "manage.py prepare"),
        ("handler:mail", "handler of mail", "обработчик mail"),
        ("session 7", "repeat session 7", "отложенный повтор 7"),
        ("timer", "timer", "таймер"),
        ("staff:", "staff:", "staff:"),
        ("of:another", "of:another", "of:another"),
        ("", "–", "–"),
    ],
)
def test_says_who_acted(actor: str, english: str, russian: str) -> None:
    assert say_actor(actor) == english
    with override("ru"):
        assert say_actor(actor) == russian

from typing import Any

import pytest
from cryptography.fernet import Fernet

from config.common.encryption import Undecipherable, decrypt, encrypt

OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()


class TestEncrypt:
    def test_hides_what_it_keeps(self) -> None:
        hidden = encrypt(b"secret")
        assert b"secret" not in hidden
        assert decrypt(hidden) == b"secret"

    def test_uses_the_first_key(self, settings: Any) -> None:
        settings.FIELD_KEYS = (NEW, OLD)
        hidden = encrypt(b"secret")
        settings.FIELD_KEYS = (NEW,)
        assert decrypt(hidden) == b"secret"


class TestDecrypt:
    def test_old_keys_still_open(self, settings: Any) -> None:
        settings.FIELD_KEYS = (OLD,)
        hidden = encrypt(b"secret")
        settings.FIELD_KEYS = (NEW, OLD)
        assert decrypt(hidden) == b"secret"

    def test_a_key_that_is_gone_is_named_as_the_cause(self, settings: Any) -> None:
        settings.FIELD_KEYS = (OLD,)
        hidden = encrypt(b"secret")
        settings.FIELD_KEYS = (NEW,)
        with pytest.raises(Undecipherable, match="FIELD_KEYS"):
            decrypt(hidden)

import base64
import hashlib
import secrets
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from notifications.sending.signing import make_secret, sign

BODY = '{"version":1,"type":"ping","at":"2026-01-01T00:00:00.000Z","address":"ул. Ленина"}'.encode()


class TestSign:
    def test_the_reference_takes_the_signature_with_a_secret_of_the_registry(self) -> None:
        secret = make_secret()
        assert Webhook(secret).verify(BODY, sign([secret], "msg_1", datetime.now(UTC), BODY))["type"] == "ping"

    def test_the_signature_is_the_one_that_the_reference_makes(self) -> None:
        secret, at = make_secret(), datetime(2026, 1, 1, 12, 0, 0, 999_000, tzinfo=UTC)
        headers = sign([secret], "msg_1", at, BODY)
        assert headers["webhook-signature"] == Webhook(secret).sign("msg_1", at, BODY.decode())
        assert (headers["webhook-id"], headers["webhook-timestamp"]) == ("msg_1", str(int(at.timestamp())))

    def test_seconds_and_moments_are_the_same(self) -> None:
        secret, at = make_secret(), datetime(2026, 1, 1, tzinfo=UTC)
        assert sign([secret], "msg_1", at, BODY) == sign([secret], "msg_1", int(at.timestamp()), BODY)

    def test_both_secrets_verify_while_one_replaces_the_other_the_newest_first(self) -> None:
        new, old, other = make_secret(), make_secret(), make_secret()
        headers = sign([new, old], "msg_1", datetime.now(UTC), BODY)
        assert headers["webhook-signature"].split(" ")[0] == Webhook(new).sign("msg_1", _at(headers), BODY.decode())
        for secret in (new, old):
            Webhook(secret).verify(BODY, headers)
        with pytest.raises(WebhookVerificationError):
            Webhook(other).verify(BODY, headers)

    @pytest.mark.parametrize("part", ["id", "timestamp", "body"])
    def test_each_part_is_signed(self, part: str) -> None:
        secret, now = make_secret(), datetime.now(UTC)
        headers, body = sign([secret], "msg_1", now, BODY), BODY
        if part == "id":
            headers["webhook-id"] = "msg_2"
        elif part == "timestamp":
            headers["webhook-timestamp"] = str(int((now - timedelta(seconds=1)).timestamp()))
        else:
            body += b" "
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(body, headers)

    @pytest.mark.parametrize("secret", ["", "whsec_", "whsec_ä", "whsec_a b=", "whsec_abc", "c2VjcmV0LXNlY3JldA=="])
    def test_a_wrong_secret_is_refused_without_being_told(self, secret: str) -> None:
        with pytest.raises(ValueError, match=r"^a webhook secret is whsec_ and base64$") as caught:
            sign([secret], "msg_1", 1, BODY)
        assert caught.value.__cause__ is None

    def test_nothing_is_sent_unsigned(self) -> None:
        with pytest.raises(ValueError, match="needs a secret"):
            sign([], "msg_1", 1, BODY)

    def test_a_long_key_signs_like_the_reference(self) -> None:
        secret = "whsec_" + base64.b64encode(secrets.token_bytes(hashlib.sha256().block_size + 1)).decode()
        Webhook(secret).verify(BODY, sign([secret], "msg_1", datetime.now(UTC), BODY))


def _at(headers: dict[str, str]) -> datetime:
    return datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)

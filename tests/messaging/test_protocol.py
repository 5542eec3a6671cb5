import pytest

from config.common.web.json_codec import DEEPEST, BadJson
from messaging.protocol import ENVELOPE_DEPTH, check_payload, read_body
from processes.exchange.services.prepare import Prepare


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


class TestReadBody:
    def test_a_payload_may_be_as_deep_as_any_json_and_the_body_stands_around_it(self) -> None:
        body = b'{"version":1,"results":[],"replies":[{"to":"a","payload":%s}]}'
        (reply,) = read_body(body % nested(DEEPEST), Prepare).replies
        check_payload(bytes(reply.payload))
        with pytest.raises(BadJson) as refused:
            read_body(body % nested(DEEPEST + 1), Prepare)
        assert refused.value.data == {"deepest": DEEPEST + ENVELOPE_DEPTH}


class TestCheckPayload:
    def test_takes_the_limit_and_not_a_level_more(self) -> None:
        check_payload(nested(DEEPEST))
        with pytest.raises(BadJson):
            check_payload(nested(DEEPEST + 1))

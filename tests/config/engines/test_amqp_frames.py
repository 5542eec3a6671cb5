import struct

import pytest
from pika import frame, spec

from config.engines.amqp_frames import UNDECODED, decode_content_header, decode_properties
from tests.faults.hostile_messages import NAMES_OF_TEXTS, PROPERTIES, encode_properties, header_table


def content_header(encoded: bytes) -> bytes:
    content = struct.pack(">HHQ", 60, 0, 7) + encoded
    return struct.pack(">BHL", spec.FRAME_HEADER, 3, len(content)) + content + b"\xce"


class TestDecodeProperties:
    def test_agrees_with_pika_where_pika_can(self) -> None:
        properties = spec.BasicProperties(
            content_type="a",
            content_encoding="b",
            headers={"c": [1, {"d": None}], "e": "f"},
            delivery_mode=2,
            priority=4,
            correlation_id="g",
            reply_to="h",
            expiration="5",
            message_id="i",
            timestamp=6,
            type="j",
            user_id="k",
            app_id="l",
            cluster_id="m",
        )
        encoded = b"".join(properties.encode())
        assert decode_properties(encoded) == properties == spec.BasicProperties().decode(encoded)

    @pytest.mark.parametrize("table", [header_table(b"T", b"\xff" * 8), header_table(b"?", b""), b"\x00\x00\x00\x02xx"])
    def test_leaves_out_headers_that_pika_cannot_decode_and_keeps_the_rest(self, table: bytes) -> None:
        encoded = encode_properties(headers=table, message_id=b"m1", timestamp=5, app_id=b"app")
        with pytest.raises(Exception):  # noqa: B017, PT011  (each fails in its own way: that is the reason for all this)
            spec.BasicProperties().decode(encoded)
        properties = decode_properties(encoded)
        assert (properties.message_id, properties.timestamp, properties.app_id) == ("m1", 5, "app")
        assert list(properties.headers) == [UNDECODED]

    @pytest.mark.parametrize("name", PROPERTIES)
    def test_survives_any_cut(self, name: str) -> None:
        encoded = PROPERTIES[name]
        for length in range(min(len(encoded), 64)):
            assert isinstance(decode_properties(encoded[:length]), spec.BasicProperties)

    def test_knows_every_property_of_text(self) -> None:
        for name in NAMES_OF_TEXTS:
            assert getattr(decode_properties(encode_properties(**{name: b"x"})), name) == "x"


class TestDecodeContentHeader:
    def test_returns_the_frame_and_what_it_used(self) -> None:
        encoded = content_header(encode_properties(headers=header_table(b"T", b"\xff" * 8)))
        used, header = decode_content_header(encoded + b"more")
        assert isinstance(header, frame.Header)
        assert (used, header.channel_number, header.body_size) == (len(encoded), 3, 7)

    def test_leaves_other_frames_and_halves_alone(self) -> None:
        whole = content_header(encode_properties(message_id=b"m"))
        assert decode_content_header(whole[:-1]) == (0, None)
        assert decode_content_header(b"\x01" + whole[1:]) == (0, None)
        assert decode_content_header(b"") == (0, None)
